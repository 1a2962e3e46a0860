"""How much a process is given at a time: measured, bounded, and nothing is lost when it dies."""

import math
import os
import time
from collections import Counter
from threading import Lock, Timer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunefield.engines import Deferred, Hints, Notice, Outcome
from prunefield.engines._batches import MOST, Supply
from prunefield.engines._workers import Worker
from prunefield.engines.local import Local, keep_workers
from prunefield.engines.ray import attempt_batch


def test_before_anything_is_measured_pieces_are_given_one_by_one():
    supply = Supply(10, [0.01] * 10)
    assert supply.predict(0) == math.inf
    assert supply.take(1.0, 1) == []
    assert supply.take(1.0, 1, least=1) == [0]


def test_estimates_are_corrected_by_what_is_measured():
    supply = Supply(100, [0.2] * 100)
    for index in range(10):
        supply.learn(index, 0.01)
    assert supply.predict(50) == pytest.approx(0.01)
    assert len(supply.take(0.1001, 1)) == 10
    assert len(supply.take(9, 50)) == 2  # a share of what is left
    supply.learn(50, 100.0)
    assert supply.take(1.0, 1) == []


def test_a_first_piece_that_loads_and_compiles_is_soon_forgotten():
    supply = Supply(100)
    supply.learn(0, 5.0)
    for index in range(1, 40):
        supply.learn(index, 0.01)
    assert supply.predict(50) < 0.012


@given(st.lists(st.floats(0, 10), max_size=40), st.floats(0, 5), st.integers(1, 8), st.booleans())
def test_everything_is_given_once_and_in_order(seconds, room, slots, learnt):
    supply = Supply(len(seconds), seconds)
    if learnt and seconds:
        supply.learn(0, 0.5)
    batches = []
    while supply.waiting:
        batches.append(supply.take(room, slots, least=1))
        assert 1 <= len(batches[-1]) <= MOST
    assert [index for batch in batches for index in batch] == list(range(len(seconds)))


def test_pieces_that_come_back_are_next_and_alone_if_nobody_knows_which_of_them_killed_a_process():
    supply = Supply(6)
    supply.learn(0, 0.01)
    first = supply.take(1.0, 2)
    supply.give_back(first, alone=True)
    assert [supply.take(1.0, 1, least=1) for _ in range(3)] == [[0], [1], [2]]
    assert supply.take(1.0, 1) == [3, 4, 5]


# -- on real processes ----------------------------------------------------------------------------------------------


def nap(seconds):
    time.sleep(seconds)
    return os.getpid()


def test_a_slow_piece_gives_back_what_was_given_with_it():
    """Estimates and the first pieces say milliseconds; then one takes long, and the other process does the rest."""
    items = [0.001] * 40 + [3.0] + [0.05] * 40
    outcomes = [said for said in Local(jobs=2).map(nap, items, Hints(seconds=[0.001] * 81)) if said]
    assert sorted(outcome.index for outcome in outcomes) == list(range(81))
    assert all(outcome.error is None for outcome in outcomes)


def die_sometimes(number):
    if number == 30:
        os._exit(9)
    time.sleep(0.002)
    return number


def test_short_pieces_of_a_process_that_died_are_repeated_one_by_one_and_only_the_culprit_fails():
    said = [said for said in Local(jobs=2).map(die_sometimes, range(60)) if said is not None]
    outcomes = {one.index: one for one in said if isinstance(one, Outcome)}
    assert [index for index, one in outcomes.items() if one.error] == [30]
    assert "its process died (exit status 9)" in (outcomes[30].error or "")
    assert {one.value for one in outcomes.values()} == {None, *range(60)} - {30}
    assert max(Counter(one.index for one in said if isinstance(one, Outcome)).values()) == 1
    assert all("each is repeated by itself" in one.text for one in said if isinstance(one, Notice))


class Later(Deferred):
    def hurry(self):
        Timer(0, lambda: self.set_result("hurried")).start()


def defer(number):
    if number % 3 == 0:
        return number
    found = Later()
    if number % 3 == 1:
        Timer(0.02, lambda: found.set_exception(ValueError("late\nerror"))).start()
        found.hurry = lambda: None
    else:
        Timer(0.05, lambda: None if found.done() else found.set_result("late")).start()
        found.hurry = lambda: None
    return found


@pytest.mark.parametrize("engine", ["local", "batch"])
def test_work_that_ends_later_is_reported_when_it_ends(engine):
    if engine == "local":
        with keep_workers():
            outcomes = [said for said in Local(jobs=1).map(defer, range(9)) if said is not None]
    else:
        outcomes = [outcome for outcome, _ in attempt_batch(defer, list(enumerate(range(9))), 60)]
    found = {outcome.index: (outcome.value, outcome.error) for outcome in outcomes}
    assert found == {
        number: [(number, None), (None, "ValueError: late"), ("late", None)][number % 3] for number in range(9)
    }


def test_a_process_that_has_nothing_else_to_do_is_hurried():
    assert [outcome.value for outcome, _ in attempt_batch(lambda item: Later(), [(0, 0)], 60)] == ["hurried"]


ENDING = Lock()  # on a busy machine two groups may end in one moment


def defer_in_fours(number, group=[]):  # noqa: B006  (of one process)
    """Four end in one moment, all but the last with `more`."""
    found = Deferred()
    group.append(found)
    if len(group) == 4:
        every = list(group)
        group.clear()
        Timer(0.05, lambda: end_all(every)).start()
    return found


def end_all(group):
    with ENDING:
        for place, deferred in enumerate(group, start=1):
            deferred.more = place < len(group)
            deferred.set_result("ended")


def test_outcomes_that_come_in_one_moment_are_one_message():
    worker = Worker(defer_in_fours)
    try:
        worker.give(abs, [(0, -1)])
        worker.receive()  # it has loaded what takes longer than `LATE`
        worker.give(defer_in_fours, [(index, index) for index in range(8)])
        answers = [worker.receive(), worker.receive()]
        assert worker.given == set()
    finally:
        worker.end()
    groups = sorted([outcome.index for outcome, _ in outcomes] for outcomes, _ in answers)  # in any order
    assert groups == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert {(outcome.value, *back) for outcomes, back in answers for outcome, _ in outcomes} == {("ended",)}


@pytest.mark.parametrize("size", [1_000, 30_000])
def test_short_pieces_that_are_many_bytes_are_sent_in_several_messages(size):
    """As many as are short enough would not fit into one."""
    items = ["x" * size] * 300
    assert sorted(said.index for said in Local(jobs=2).map(len, items) if said) == list(range(300))


def test_items_too_large_for_a_pipe_that_nobody_reads_do_not_stop_the_others():
    items = ["x" * 300_000] * 6
    assert sorted(said.index for said in Local(jobs=2).map(len, items) if said) == [0, 1, 2, 3, 4, 5]
