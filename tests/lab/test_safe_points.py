"""Safe points: damage is noticed, and a run that is killed at any file operation ends with the same bits."""

import os
import sys
import threading

import pytest
import torch
from toy import Toy

from prunefield.lab.execution import Pace, obtain
from prunefield.lab.folder import FILES, SAFE_POINTS
from prunefield.lab.packing import dump_values, pack_tensors
from prunefield.lab.store import Store
from prunefield.runs import Record, State

RUN = Toy(steps=20)


class Killed(BaseException):
    """As if the process had died: nothing in prunefield may catch it."""


@pytest.fixture
def expected(tmp_path):
    return obtain(Store(tmp_path / "whole"), RUN).digest


@pytest.fixture
def each_yield(monkeypatch):
    """A safe point is written at every yield."""
    monkeypatch.setattr(Pace, "is_due", lambda self, now: True)


def interrupt(store, run, after):
    """Executes a run until it has written a number of safe points."""
    state, records = State(), []
    folder = store.folder(run)
    folder.begin(run)
    for written, record in enumerate(run(state), 1):
        records += [record] if record else []
        folder.save(state, records)
        if written == after:
            return folder
    raise AssertionError("it ended before")


def test_two_safe_points_are_kept(store):
    folder = interrupt(store, RUN, 7)
    assert folder.saved().values["step"] == 7
    (folder.path / SAFE_POINTS[0]).unlink()
    assert folder.saved().values["step"] == 6


def flip(path, byte, bit=0):
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("place", [0, 5, 20, 0.3, 0.6, -1])
@pytest.mark.parametrize("damaged", [1, 2])
def test_a_damaged_safe_point_is_set_aside_and_the_one_before_it_counts(store, expected, place, damaged):
    folder = interrupt(store, RUN, 13)
    for name in SAFE_POINTS[:damaged]:
        path = folder.path / name
        flip(path, int(place * path.stat().st_size) if isinstance(place, float) else place)
    with pytest.warns(UserWarning, match="a damaged safe point was set aside") as caught:
        assert obtain(store, RUN).digest == expected
    assert len(caught) == damaged
    aside = [f"damaged-{name}" for name in SAFE_POINTS[:damaged]]
    assert folder.table("made")["set_aside"] == aside
    assert sorted(os.listdir(folder.path)) == sorted([*FILES, "done.json", *aside])
    assert folder.problems() == []


def test_the_run_continues_from_the_safe_point_before(store):
    folder = interrupt(store, RUN, 13)
    flip(folder.path / SAFE_POINTS[0], 100)
    assert folder.saved().values["step"] == 12


@pytest.mark.parametrize("content", [b"", b"x", b"\x08\0\0\0\0\0\0\0nonsense"])
def test_what_is_not_a_safe_point_is_set_aside(store, expected, content):
    folder = interrupt(store, RUN, 1)
    (folder.path / SAFE_POINTS[0]).write_bytes(content)
    with pytest.warns(UserWarning, match="damaged"):
        assert obtain(store, RUN).digest == expected


def test_a_safe_point_without_a_checksum_is_not_trusted(store, expected):
    """As older versions wrote them."""
    folder = interrupt(store, RUN, 5)
    values, tensors, _ = folder.saved()
    state = {f"state/{name}": tensor for name, tensor in tensors.items()}
    data = pack_tensors(
        state, {"values": dump_values({"run": folder.name, "state": values | {"step": 7}, "records": []})}
    )
    (folder.path / SAFE_POINTS[0]).write_bytes(data)
    with pytest.warns(UserWarning, match="damaged"):
        assert obtain(store, RUN).digest == expected


def test_the_safe_point_of_another_run_is_set_aside(store, expected):
    """Two unfinished folders were exchanged."""
    other = interrupt(store, Toy(seed=1), 5)
    folder = interrupt(store, RUN, 5)
    (other.path / SAFE_POINTS[0]).rename(folder.path / SAFE_POINTS[0])
    with pytest.warns(UserWarning, match="damaged"):
        assert obtain(store, RUN).digest == expected


def test_the_command_line_reports_it(store, tmp_path, capfd):
    from prunefield.cli import main

    folder = interrupt(store, RUN, 5)
    flip(folder.path / SAFE_POINTS[0], 100)
    (tmp_path / "study.toml").write_text('kind = "toy"\nsteps = 20\n')
    assert main(["run", str(tmp_path / "study.toml"), "--store", str(store.root), "--jobs", "1", "--json"]) == 0
    assert f"prunefield: {folder.name}: a damaged safe point was set aside" in capfd.readouterr().err


def test_values_that_look_like_a_seal_harm_nothing(store):
    folder = store.folder(RUN)
    folder.begin(RUN)
    state = State({"text": '"seal":"' + "0" * 64 + '"'})
    folder.save(state, [Record({"a": 1}, {"seal": torch.ones(1)})])
    assert folder.saved().values == state.values


# -- killed at every file operation ---------------------------------------------------------------------------------

EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.listdir", "os.scandir", "shutil.rmtree"}
fault = threading.local()  # the hook cannot be taken away again; it does nothing unless a test says so


def count_operation(event, args):
    root = getattr(fault, "root", None)
    if root is None or event not in EVENTS or not str(args[0]).startswith(root):
        return
    fault.count += 1
    if fault.count == fault.at:
        raise Killed


sys.addaudithook(count_operation)


def kill_at(number, root, work):
    """Does the work, but dies before its file operation of this number; whether it died."""
    fault.root, fault.count, fault.at = str(root), 0, number
    try:
        work()
        return False
    except Killed:
        return True
    finally:
        fault.root = None


def test_a_run_killed_at_every_file_operation_ends_with_the_same_bits_and_leaves_nothing(tmp_path, each_yield):
    run = Toy(steps=2)
    expected = obtain(Store(tmp_path / "whole"), run).digest
    number = 0
    while True:
        number += 1
        store = Store(tmp_path / str(number))
        if not kill_at(number, store.root, lambda store=store: obtain(store, run)):
            break
        assert obtain(store, run).digest == expected
        folder = store.folder(run)
        assert sorted(os.listdir(folder.path)) == sorted([*FILES, "done.json"]), number
        assert folder.problems() == []
    assert number > 30


def test_a_run_killed_at_every_operation_again_and_again_comes_to_its_end(tmp_path, each_yield):
    """Never two lives without a step forward: each one gets a little further than the last before it dies."""
    run = Toy(steps=3)
    expected = obtain(Store(tmp_path / "whole"), run).digest
    store, number = Store(tmp_path / "killed"), 1
    while kill_at(number, store.root, lambda: obtain(store, run)):
        number += 1
    assert obtain(store, run).digest == expected
    assert sorted(os.listdir(store.folder(run).path)) == sorted([*FILES, "done.json"])


def test_a_removal_killed_at_every_file_operation_never_leaves_half_a_result(tmp_path):
    run = Toy(steps=10)
    number, died = 0, True
    while died:
        number += 1
        store = Store(tmp_path / str(number))
        expected = obtain(store, run).digest
        died = kill_at(number, store.root, store.folder(run).remove)
        assert not store.folder(run).is_done or not store.folder(run).problems()
        assert obtain(store, run).digest == expected
    assert number > 5


def test_a_power_cut_never_leaves_a_mark_without_its_files(store, monkeypatch):
    """A file is synced before it gets its name, and its folder afterwards; the mark comes when all others are safe."""
    steps = []
    sync, rename = os.fsync, os.replace

    def record_sync(descriptor):
        steps.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
        sync(descriptor)

    def record_rename(source, target):
        steps.append(("rename", str(target), str(source)))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_rename)
    monkeypatch.setattr(Pace, "is_due", lambda self, now: True)
    obtain(store, Toy(steps=3))
    folder = str(store.folder(Toy(steps=3)).path)
    synced = [index for index, step in enumerate(steps) if step == ("sync", folder)]
    above = steps.index(("sync", os.path.dirname(folder)))  # where the run's folder was made
    named = {}
    for index, (what, path, *source) in enumerate(steps):
        name = os.path.basename(path)
        if what == "rename" and name in (*FILES, "done.json", SAFE_POINTS[0]) and index > 0:
            if (name, named) != ("settings.json", {}):  # `begin` writes it for people; `finish` writes it again
                assert ("sync", source[0]) in steps[:index]
                assert any(index < later for later in synced)
            named[name] = index
    assert named.keys() == {*FILES, "done.json", SAFE_POINTS[0]}
    last = max(named[name] for name in FILES)
    assert any(last < index < named["done.json"] for index in synced)
    assert above < named["done.json"]
    first = next(index for index, step in enumerate(steps) if step[1].endswith(SAFE_POINTS[0]) and step[0] == "rename")
    assert steps[first + 1] == ("sync", folder)
    assert steps[first + 2] == ("sync", os.path.dirname(folder))
