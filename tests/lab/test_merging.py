"""Stores that meet: nothing is lost, equal runs are one, different results are both kept, and sources are only read."""

import json
import multiprocessing
import os
import shutil
import signal
import time

import pytest
from test_packs import rewrite_digest
from toy import Toy

from prunefield.cli import main
from prunefield.core.errors import StoreError, UsageError
from prunefield.lab.execution import obtain
from prunefield.lab.folder import SAFE_POINTS
from prunefield.lab.joining import merge_stores
from prunefield.lab.packing import measure_safe_point
from prunefield.lab.store import Store
from prunefield.runs import Record, State


@pytest.fixture
def stores(tmp_path):
    """Two stores with one run in common, and a place for a third."""
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    for store, seeds in ((one, (0, 1)), (two, (1, 2))):
        for seed in seeds:
            obtain(store, Toy(seed=seed))
    return one, two, tmp_path / "all"


def list_files(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def save_point(store, run, step, records=()):
    """An unfinished run that is at a step."""
    folder, state = store.folder(run), State()
    folder.begin(run)
    state.values["step"], state.done = step, step / 50
    folder.save(state, list(records))
    return folder


def test_two_stores_become_one(stores):
    one, two, place = stores
    joined = merge_stores(place, [one, two])
    assert (len(joined.added), len(joined.same), joined.problems) == (3, 1, [])
    for seed, store in ((0, one), (1, one), (1, two), (2, two)):
        assert Store(place).folder(Toy(seed=seed)).read().digest == store.folder(Toy(seed=seed)).read().digest
    again = merge_stores(place, [one, two])
    assert (len(again.added), len(again.same)) == (0, 4)


def test_sources_may_be_read_only(stores):
    one, two, place = stores
    before = [list_files(store.root) for store in (one, two)]
    folders = [path for store in (one, two) for path in (store.root, *store.root.rglob("*")) if path.is_dir()]
    for path in folders:
        path.chmod(0o555)
    try:
        merge_stores(place, [one, two])
    finally:
        for path in folders:
            path.chmod(0o755)
    assert [list_files(store.root) for store in (one, two)] == before


def test_two_results_of_one_run_are_both_kept_and_reported(stores, capsys):
    one, two, place = stores
    rewrite_digest(two, Toy(seed=1))
    digests = [store.folder(Toy(seed=1)).read().digest for store in (one, two)]
    command = ["runs", "merge", str(one.root), str(two.root), "--store", str(place)]
    for _ in range(2):  # the second time nothing new is written, and it is said again
        assert main(command) == 1
        shown = capsys.readouterr()
        assert digests[0][:16] in shown.err
        assert digests[1][:16] in shown.err
        assert str(place / "differing-1") in shown.err
    assert Store(place).folder(Toy(seed=1)).read().digest == digests[0]
    assert Store(place / "differing-1").folder(Toy(seed=1)).read().digest == digests[1]
    assert Store(place / "differing-1").names() == [Toy(seed=1).folder]
    rewrite_digest(two, Toy(seed=1))  # a third result
    assert main(command) == 1
    third = Store(place / "differing-2").folder(Toy(seed=1)).read().digest
    assert third == two.folder(Toy(seed=1)).read().digest not in digests
    assert not (place / "differing-3").exists()


def test_damage_is_not_taken_and_does_not_stop_the_others(stores, capsys):
    one, two, place = stores
    (one.folder(Toy(seed=0)).path / "tensors.safetensors").write_bytes(b"x")
    assert main(["runs", "merge", str(one.root), str(two.root), "--store", str(place), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found["refused"]) == [Toy(seed=0).folder]
    assert "was truncated or edited" in found["refused"][Toy(seed=0).folder]
    assert sorted(found["added"]) == sorted(Toy(seed=seed).folder for seed in (1, 2))
    assert not Store(place).folder(Toy(seed=0)).path.exists()


def test_a_file_is_not_a_store(tmp_path, capsys):
    (tmp_path / "runs.zip").touch()
    assert main(["runs", "merge", str(tmp_path / "runs.zip"), "--store", str(tmp_path / "all")]) == 2
    assert f"prunefield runs unpack {tmp_path / 'runs.zip'}" in capsys.readouterr().err
    assert not (tmp_path / "all").exists()


def test_the_further_safe_point_is_taken(tmp_path):
    near, far, run = Store(tmp_path / "near"), Store(tmp_path / "far"), Toy()
    save_point(near, run, 10, [Record({"step": 9})])
    save_point(far, run, 30, [Record({"step": 9}), Record({"step": 19}), Record({"step": 29})])
    for place, order in ((tmp_path / "a", (near, far)), (tmp_path / "b", (far, near))):
        joined = merge_stores(place, order)
        folder = Store(place).folder(run)
        assert measure_safe_point(folder.name, (folder.path / SAFE_POINTS[0]).read_bytes()) == (0.6, 3)
        assert folder.saved().values == {"step": 30}
        assert joined.resumed.count(folder.name) + joined.behind.count(folder.name) == 2
    (far.folder(run).path / SAFE_POINTS[0]).write_bytes(b"damaged")
    assert merge_stores(tmp_path / "c", [far]).behind == [run.folder]
    assert (far.folder(run).path / SAFE_POINTS[0]).read_bytes() == b"damaged"  # a source is not touched


def test_a_finished_run_replaces_an_unfinished_one_and_not_the_reverse(stores, tmp_path):
    one, _, place = stores
    begun = Store(tmp_path / "begun")
    save_point(begun, Toy(seed=0), 10)
    merge_stores(place, [begun, one, begun])
    folder = Store(place).folder(Toy(seed=0))
    assert folder.read().digest == one.folder(Toy(seed=0)).read().digest
    assert sorted(path.name for path in folder.path.iterdir()) == sorted(
        path.name for path in one.folder(Toy(seed=0)).path.iterdir()
    )


def test_an_interrupted_run_ends_with_the_same_digest_in_the_merged_store(tmp_path):
    run = Toy(steps=60, pause=0.02)
    whole = obtain(Store(tmp_path / "whole"), run).digest
    process = multiprocessing.get_context("spawn").Process(target=obtain, args=(str(tmp_path / "cut"), run))
    process.start()
    point = tmp_path / "cut" / "runs" / run.folder / SAFE_POINTS[0]
    while not point.exists():
        time.sleep(0.02)
    process.kill()
    process.join()
    assert merge_stores(tmp_path / "all", [tmp_path / "cut"]).resumed == [run.folder]
    assert obtain(Store(tmp_path / "all"), run).digest == whole


def merge(place, sources):
    merge_stores(place, sources)


def test_a_killed_merge_is_continued(stores):
    """Killed in the middle of its writing, again and again, at another place each time."""
    one, two, place = stores
    context = multiprocessing.get_context("fork")
    for moment in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05):
        process = context.Process(target=merge, args=(place, [one, two]))
        process.start()
        time.sleep(moment)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        for folder in Store(place):
            assert not folder.is_done or folder.problems() == []
    merge_stores(place, [one, two])
    assert Store(place).names() == sorted(Toy(seed=seed).folder for seed in (0, 1, 2))
    assert all(folder.problems() == [] for folder in Store(place))
    assert not list((place / "runs").rglob("*.part"))


def test_four_equal_merges_at_once(stores):
    one, two, place = stores
    context = multiprocessing.get_context("fork")
    every = [context.Process(target=merge, args=(place, [one, two])) for _ in range(4)]
    for process in every:
        process.start()
    for process in every:
        process.join()
    assert [process.exitcode for process in every] == [0] * 4
    merge_stores(place, [one, two])  # what was locked by another one was left to it
    assert len(Store(place).names()) == 3
    assert all(folder.problems() == [] for folder in Store(place))


def test_a_run_that_is_being_executed_is_left_alone(stores):
    one, _, place = stores
    target = Store(place)
    with target.folder(Toy(seed=0)).hold():
        joined = merge_stores(Store(place), [one])
    assert list(joined.refused) == [Toy(seed=0).folder]
    assert joined.added == [Toy(seed=1).folder]


def test_a_store_is_not_merged_into_itself_or_from_nothing(stores, tmp_path):
    one, _, _ = stores
    with pytest.raises(UsageError, match="into itself"):
        merge_stores(one, [one.root])
    with pytest.raises(UsageError, match="no store in"):
        merge_stores(one, [tmp_path / "nothing"])
    assert main(["runs", "merge", "--store", str(one.root)]) == 2


def test_old_safe_points_have_no_fraction(tmp_path, monkeypatch):
    """Those of earlier versions are compared by their records."""
    from prunefield.lab import packing

    store, dump = Store(tmp_path / "old"), packing.dump_values
    monkeypatch.setattr(packing, "dump_values", lambda value: dump({k: v for k, v in value.items() if k != "done"}))
    folder = save_point(store, Toy(), 30, [Record({"step": 9})])
    assert measure_safe_point(folder.name, (folder.path / SAFE_POINTS[0]).read_bytes()) == (0.0, 1)
    shutil.rmtree(store.root)


@pytest.mark.parametrize("file", ["done.json", "records.json", "tensors.safetensors"])
def test_a_named_pipe_in_a_finished_run_is_refused_and_not_waited_for(stores, file, capsys):
    one, _, place = stores
    pipe = one.folder(Toy(seed=0)).path / file
    pipe.unlink()
    os.mkfifo(pipe)
    assert main(["runs", "merge", str(one.root), "--store", str(place)]) == 1
    warning = capsys.readouterr().err
    assert f"{Toy(seed=0).folder}: damaged in {one.root}: {file}" in warning
    assert Store(place).names() == [Toy(seed=1).folder]


def test_named_pipes_in_an_unfinished_run_are_not_waited_for(stores):
    one, _, place = stores
    folder = save_point(one, Toy(seed=7), 10)
    (one.root / "locks" / folder.name).unlink(missing_ok=True)
    for path in (folder.path / SAFE_POINTS[1], folder.path / "progress", one.root / "locks" / folder.name):
        os.mkfifo(path)
    assert (folder.status, folder.progress()) == ("stopped", 0)
    assert merge_stores(place, [one]).resumed == [folder.name]
    (folder.path / SAFE_POINTS[0]).unlink()
    os.mkfifo(folder.path / SAFE_POINTS[0])
    assert merge_stores(place, [one]).behind == [folder.name]
    (folder.path / "settings.json").unlink()
    os.mkfifo(folder.path / "settings.json")
    assert merge_stores(place, [one]).behind == [folder.name]


def test_a_store_whose_mark_is_a_named_pipe_is_refused(stores):
    one, _, place = stores
    (one.root / "store.json").unlink()
    os.mkfifo(one.root / "store.json")
    with pytest.raises(StoreError, match=r"store\.json is unreadable .*it is not a regular file"):
        merge_stores(place, [one.root])
