"""Execution: resumes with the same bits, orders what is needed, reports what failed."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy import Toy

from prunefield.core.errors import RunError
from prunefield.engines import KEPT_MEMORY, ONE_THREAD, Outcome, make_environment
from prunefield.engines.local import Local
from prunefield.lab.bars import Progress, show_bar
from prunefield.lab.execution import Pace, carry_out, obtain, order_by_length, order_runs
from prunefield.lab.store import Store
from prunefield.runs import Record, Run, State

pytestmark = pytest.mark.usefixtures("workers")

SLOW = Toy(steps=150, pause=0.01)
CHILD = "import sys; from toy import Toy; from prunefield import Store, obtain; \
obtain(Store(sys.argv[1]), Toy(steps=150, pause=0.01))"


@pytest.mark.long
def test_a_run_killed_ten_times_ends_with_the_same_bits(tmp_path):
    """SIGKILL at random moments, then the same command again."""
    expected = obtain(Store(tmp_path / "whole"), SLOW).digest
    store = Store(tmp_path / "killed")
    moments = random.Random(0)
    killed, resumed = 0, False
    while killed < 10:
        process = subprocess.Popen([sys.executable, "-c", CHILD, str(store.root)])
        while not (store.folder(SLOW).path / "settings.json").exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 1.2))
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += alive
        resumed |= (store.folder(SLOW).path / "checkpoint.safetensors").exists()
        if not alive:
            store.folder(SLOW).remove()
    assert resumed
    assert obtain(store, SLOW).digest == expected
    assert not [path for path in store.root.rglob("*.part") if store.folder(SLOW).status != "done"]


@given(st.integers(0, 49))
def test_every_yield_is_a_safe_point(stop):
    """Whatever the moment, state and records together are enough to go on."""
    run = Toy()
    whole = [record for record in run(State()) if record]
    state, kept = State(), []
    for count, record in enumerate(run(state)):
        kept += [record] if record else []
        if count == stop:
            break
    saved = State(dict(state.values), {key: tensor.clone() for key, tensor in state.snapshot().items()})
    kept += [record for record in run(saved) if record]
    assert [record.values for record in kept] == [record.values for record in whole]
    assert all((a.tensors["walk"] == b.tensors["walk"]).all() for a, b in zip(kept, whole, strict=True))


def test_needs_come_first(store):
    deep = Toy(of=Toy(seed=1, of=Toy(seed=2)))
    assert order_runs([deep, Toy(seed=2)]) == [Toy(seed=2), Toy(seed=1, of=Toy(seed=2)), deep]
    assert obtain(store, deep).records[-1]["mean"] != obtain(store, Toy()).records[-1]["mean"]
    assert len(list(store)) == 4


def test_the_longest_come_first_and_those_of_about_the_same_length_as_planned():
    """As at night scale, where the runs that the primary comparison needs are planned first."""
    a, b, c, d, e = runs = [Toy(steps=steps) for steps in range(1, 6)]
    seconds = dict(zip(runs, (5.0, 60.0, 99.0, 100.0, 0.0), strict=True))
    assert order_by_length(runs, dict.fromkeys(runs, 0), seconds) == [b, c, d, a, e]
    assert order_by_length(runs, {**dict.fromkeys(runs, 1), e: 0}, seconds) == [e, b, c, d, a]
    assert order_by_length([], {}, {}) == []


def test_a_failure_is_told_and_stops_only_what_needs_it(store):
    bad = Toy(fail_at=20)
    failures = carry_out(store, [bad, Toy(of=bad), Toy(seed=5)], Local(jobs=2))
    assert set(failures) == {bad, Toy(of=bad)}
    assert failures[bad] == "the walk broke at step 20"
    assert store.folder(bad).status == "failed"
    assert [record["step"] for record in store.folder(bad).table("failure")["records"]] == [9, 19]
    assert (store.folder(bad).path / "failure.safetensors").exists()
    assert store.folder(Toy(seed=5)).status == "done"


def test_a_record_that_is_no_number_fails_the_run(store):
    with pytest.raises(RunError, match="runs show toy-"):
        obtain(store, Toy(scale=1e300))
    folder = store.folder(Toy(scale=1e300))
    assert folder.status == "failed"
    assert folder.table("failure")["records"][0] == {"step": 9, "mean": None}


def test_progress_reaches_the_end(store):
    seen = []
    carry_out(store, [Toy(pause=0.01), Toy(seed=1, pause=0.01)], Local(jobs=2), tell=seen.append)
    assert seen[-1].seconds == pytest.approx(seen[-1].all_seconds)
    assert (seen[-1].runs, seen[-1].all_runs) == (2, 2)
    assert [standing.seconds for standing in seen] == sorted(standing.seconds for standing in seen)


class Scripted(Local):
    """Not an engine of anybody: what its runs leave in their folders is written between two looks at them."""

    takes_deferred = False  # it works in this process

    def map(self, work, items, hints=None):
        root, settings, *_ = items[0]
        folder = Store(root).folder(Run.parse(settings))
        folder.begin(Run.parse(settings))
        for text in ("0.3", "0.7", "nan", "", "0.1", "0.7"):
            (folder.path / "progress").write_text(text)
            yield None
        work(items[0])  # finished, and its progress is gone, but the engine does not know yet
        yield None
        yield Outcome(0, None)


def test_progress_never_goes_back(store, monkeypatch):
    monkeypatch.setattr(Pace, "is_due", lambda self, now: True)
    seen = []
    carry_out(store, [Toy(steps=10, pause=0.01)], Scripted(), tell=lambda progress: seen.append(progress.seconds))
    assert seen == pytest.approx([0.03, 0.07, 0.07, 0.07, 0.07, 0.07, 0.1, 0.1])


def test_safe_points_take_a_small_share():
    pace = Pace(share=0.02, first=0)
    pace.spent(begin=100.0, end=100.5)
    assert not pace.is_due(100.5 + 24.9)
    assert pace.is_due(100.5 + 25.1)


def test_one_thread_in_every_worker(monkeypatch):
    """Numerical libraries are told before they are loaded, whatever the environment of the command says."""
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "7")
    seen = [outcome.value for outcome in Local(jobs=1).map(os.getenv, list(ONE_THREAD)) if outcome]
    assert seen == ["1"] * len(ONE_THREAD)
    assert [os.environ[name] for name in ONE_THREAD] == ["7"] * len(ONE_THREAD)


def test_every_worker_keeps_memory_as_the_user_says_or_as_we_do(monkeypatch):
    ours, theirs = KEPT_MEMORY
    monkeypatch.delenv(ours, raising=False)
    monkeypatch.setenv(theirs, "4096")
    found = make_environment()
    assert (found[ours], found[theirs]) == (KEPT_MEMORY[ours], "4096")
    assert ours not in os.environ


@pytest.mark.parametrize(
    "record",
    [
        Record({"x": 1}, {"w": torch.eye(2).to_sparse()}),
        Record({"x": torch.ones(2)}),  # pyright: ignore[reportArgumentType]
        Record({"x": "\ud800"}),
    ],
)
def test_a_record_that_cannot_be_stored_fails_the_run_and_is_told(store, monkeypatch, record):
    monkeypatch.setattr(Toy, "__call__", lambda run, state: iter([record]))
    with pytest.raises(RunError, match="runs show"):
        obtain(store, Toy())
    assert store.folder(Toy()).status == "failed"
    assert "Error" in store.folder(Toy()).table("failure")["message"]


def test_a_failure_is_told_whatever_it_says(store, monkeypatch):
    """Names of files need not be Unicode."""
    monkeypatch.setattr(Toy, "__call__", lambda run, state: (_ for _ in ()).throw(OSError("no file \udcff")))
    with pytest.raises(RunError, match="no file"):
        obtain(store, Toy())
    assert store.folder(Toy()).status == "failed"


def test_bfloat16_is_stored(store, monkeypatch):
    """NumPy does not know it, and networks that people have are in it."""
    weights = torch.arange(3, dtype=torch.bfloat16)
    monkeypatch.setattr(Toy, "__call__", lambda run, state: iter([Record({}, {"a": weights, "b": weights})]))
    tensors = obtain(store, Toy()).records[0].tensors
    assert all(torch.equal(tensor, weights) and tensor.dtype == torch.bfloat16 for tensor in tensors.values())


def test_each_need_is_read_once(store, monkeypatch):
    from prunefield.lab.folder import RunFolder

    read, whole = [], RunFolder.read
    monkeypatch.setattr(RunFolder, "read", lambda folder: (read.append(folder.name), whole(folder))[1])
    need, run = Toy(seed=2), Toy(seed=1, of=Toy(seed=2))
    obtain(store, run)
    assert read == [need.folder, run.folder]
    store.folder(need).remove()
    obtain(store, run)  # stored: what it needed is not computed again
    assert not store.folder(need).is_done


FORK = """
import os, sys, torch
from prunefield import Store, obtain
from toy import Toy
import prunefield.runs
big = prunefield.runs.Record({}, {"w": torch.ones(1_000_000)})
Toy.__call__ = lambda run, state: iter([big])
store = Store(sys.argv[1])
obtain(store, Toy())
torch.set_num_threads(4)
torch.ones(4_000_000).clone()  # the threads are there
child = os.fork()
if child == 0:
    os._exit(0 if obtain(store, Toy()).records[0].tensors["w"].numpy().sum() == 1_000_000 else 1)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_forked_process_reads_results_of_a_parent_with_threads(tmp_path):
    """Torch's threads do not survive a fork, and whoever waits for them waits for ever."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)], check=True, timeout=600)


def test_a_run_that_fails_is_named_at_once_while_others_go_on(capsys):
    """Once, by its name and with its reason; the last one is named by whoever prints the end."""
    first, last = Toy(seed=0), Toy(seed=1)
    with show_bar("sweep") as tell:
        for _ in range(2):
            tell(Progress(1.0, 3.0, 1, 3, last, {first: "it broke"}))
        assert capsys.readouterr().err == f"prunefield: {first.folder} failed: it broke\n"
        tell(Progress(3.0, 3.0, 3, 3, None, {first: "it broke", last: "so did this"}))
    with show_bar("quiet", shown=False) as tell:
        tell(Progress(1.0, 3.0, 1, 3, last, {first: "it broke"}))
    assert capsys.readouterr().err == ""
