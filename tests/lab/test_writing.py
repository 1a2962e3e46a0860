"""Results that are written while the next run computes: the same bits, and finished only when they are safe."""

import errno
import json
import math
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import Toy

from prunefield.core import commits
from prunefield.core.errors import Error, RunError, StoreError
from prunefield.engines import await_value
from prunefield.engines.local import Local
from prunefield.lab import execution, writing
from prunefield.lab.examination import FILES, MARK
from prunefield.lab.execution import carry_out, execute_run, obtain
from prunefield.lab.findings import Finished
from prunefield.lab.folder import RunFolder
from prunefield.lab.json_files import encode_table
from prunefield.lab.store import Store
from prunefield.lab.writing import BeingWritten


def begin(store, run):
    return execute_run((str(store.root), run.settings(), "cpu", None))


@pytest.fixture(autouse=True)
def all_runs_are_short(monkeypatch):
    """However slow the machine is; and this process also does other things than runs."""
    monkeypatch.setattr(execution, "SHORT", math.inf)
    monkeypatch.setattr(execution, "keep_conditions", lambda: None)


@pytest.fixture
def gate(monkeypatch):
    """Nothing is synced before it is open."""
    opened = threading.Event()
    sync = commits.sync_file_system
    monkeypatch.setattr(commits, "sync_file_system", lambda descriptor: (opened.wait(60), sync(descriptor)))
    yield opened
    opened.set()


def test_a_run_is_finished_and_unlocked_only_when_it_is_written(store, gate, tmp_path):
    run = Toy(steps=3)
    found = begin(store, run)
    assert isinstance(found, BeingWritten)
    found.hurry()
    folder = store.folder(run)
    assert (found.done(), folder.is_done, folder.status) == (False, False, "running")
    gate.set()
    assert found.result(60) == []
    assert (folder.status, folder.problems()) == ("done", [])
    assert sorted(os.listdir(folder.path)) == sorted([*FILES, MARK])
    assert folder.read().digest == obtain(tmp_path / "other", run).digest


def test_another_run_is_computed_meanwhile_and_both_are_written_together(store, gate, monkeypatch):
    groups, write = [], writing.write_folders
    monkeypatch.setattr(writing, "write_folders", lambda group, mark: (groups.append(len(group)), write(group, mark)))
    first = begin(store, Toy(seed=0))
    first.hurry()
    others = [begin(store, Toy(seed=seed)) for seed in (1, 2)]
    gate.set()
    others[-1].hurry()
    assert [await_value(found) for found in (first, *others)] == [[], [], []]
    assert sum(groups) == 3
    assert len(groups) == 2 or groups == [3]


def test_a_run_that_needs_one_that_is_being_written_sees_it(store, gate, tmp_path):
    need, run = Toy(seed=1), Toy(of=Toy(seed=1))
    begin(store, need)
    threading.Timer(0.2, gate.set).start()
    await_value(begin(store, run))
    assert store.folder(run).read().digest == obtain(tmp_path / "other", run).digest


def test_a_long_run_is_written_at_once(store, monkeypatch):
    monkeypatch.setattr(execution, "SHORT", 0)
    assert begin(store, Toy()) == []
    assert store.folder(Toy()).is_done


def test_a_system_that_cannot_sync_at_once(store, monkeypatch):
    monkeypatch.setattr(writing, "can_sync_at_once", lambda: False)
    monkeypatch.setattr(writing, "write_folders", None)
    assert await_value(begin(store, Toy())) == []
    assert store.folder(Toy()).problems() == []


def refuse(*args):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_cannot_be_written_together_is_written_one_by_one(store, monkeypatch):
    monkeypatch.setattr(commits, "sync_file_system", refuse)
    runs = [Toy(seed=seed) for seed in range(3)]
    assert [await_value(found) for found in [begin(store, run) for run in runs]] == [[], [], []]
    assert [store.folder(run).problems() for run in runs] == [[], [], []]
    assert not list(store.root.rglob("*.part"))


def test_a_disk_that_is_full_for_one_run_fails_this_run_with_its_reason(store, monkeypatch):
    monkeypatch.setattr(commits, "sync_file_system", refuse)
    write, bad = RunFolder.write_finished, store.folder(Toy(seed=1))

    def write_some(folder, contents):
        if folder.name == bad.name:
            raise StoreError("cannot write done.json: no space left on device")
        write(folder, contents)

    monkeypatch.setattr(RunFolder, "write_finished", write_some)
    first, second, third = [begin(store, Toy(seed=seed)) for seed in range(3)]
    assert await_value(first) == await_value(third) == []
    with pytest.raises(Error, match="no space left"):
        await_value(second)
    assert bad.status == "failed"
    assert "no space left" in bad.table("failure")["message"]
    assert bad.table("failure")["records"]
    monkeypatch.undo()
    assert obtain(store, Toy(seed=1)).digest  # the same again
    assert bad.status == "done"


def test_a_result_that_cannot_be_stored_fails_its_run_and_no_other(store, gate):
    runs = [Toy(seed=0), Toy(seed=1, scale=1e308), Toy(seed=2)]  # the second records a number that is not finite
    first, bad, last = [begin(store, run) for run in runs]
    gate.set()
    assert await_value(last) == await_value(first) == []
    with pytest.raises(RunError, match=r"not JSON compliant.*runs show"):
        await_value(bad)
    folder = store.folder(runs[1])
    assert folder.status == "failed"
    assert "Traceback" in folder.table("failure")["traceback"]
    assert [store.folder(run).problems() for run in (runs[0], runs[2])] == [[], []]
    with folder.hold(timeout=0):
        pass  # it is unlocked


def test_what_waits_has_tensors_of_its_own(store, gate, monkeypatch, tmp_path):
    """A run may give away memory that the next one uses again."""
    computed, copy = [], Finished.copy
    monkeypatch.setattr(Finished, "copy", lambda finished: (computed.append(finished), copy(finished))[1])
    found = begin(store, Toy())
    for tensors in (computed[0].found.tensors, *(record.tensors for record in computed[0].found.records)):
        for tensor in tensors.values():
            tensor.zero_()
    gate.set()
    await_value(found)
    assert store.folder(Toy()).read().digest == obtain(tmp_path / "other", Toy()).digest


def test_more_results_than_may_wait_make_the_computation_wait(store, monkeypatch):
    monkeypatch.setattr(writing, "RUNS", 2)
    found = [begin(store, Toy(seed=seed, steps=1)) for seed in range(5)]
    assert [await_value(one) for one in found] == [[]] * 5


def test_a_sweep_of_short_runs_has_the_bits_of_single_ones(tmp_path):
    store, runs = Store(tmp_path / "sweep"), [Toy(seed=seed, steps=5, of=Toy(seed=99)) for seed in range(60)]
    assert carry_out(store, runs, Local(jobs=2)) == {}
    assert all(store.folder(run).problems() == [] for run in runs)
    for run in runs[::20]:
        assert store.folder(run).read().digest == obtain(tmp_path / "one", run).digest


values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.recursive(values, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner)))
def test_tables_have_the_bytes_of_the_json_library(value):
    assert encode_table(value) == (json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1) + "\n").encode()


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {1}}, {"a": {(1, 2): 3}}])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises((ValueError, TypeError)):
        encode_table(value)
