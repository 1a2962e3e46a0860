"""The store loses nothing, shares everything and knows when a file is not what it was."""

import json
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from toy import Toy

from prunefield.cli import main
from prunefield.core.errors import Error, StoreError, UsageError
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store

FILES = ("settings.json", "records.json", "tensors.safetensors", "state.safetensors", "made.json")


def test_a_run_is_kept_whole(store):
    result = obtain(store, Toy())
    folder = store.folder(Toy())
    assert sorted(path.name for path in folder.path.iterdir()) == sorted((*FILES, "done.json"))
    assert [record["step"] for record in result.records] == [9, 19, 29, 39, 49]
    assert result.records[-1]["mean"] == pytest.approx(result.records[-1].tensors["walk"].mean().item())
    assert {"torch", "python", "prunefield", "processor", "threads"} <= set(folder.table("made"))


def test_the_same_run_is_not_computed_twice(store):
    first = obtain(store, Toy())
    mark = (store.folder(Toy()).path / "done.json").stat().st_mtime_ns
    assert obtain(store, Toy()).digest == first.digest
    assert (store.folder(Toy()).path / "done.json").stat().st_mtime_ns == mark


def test_the_state_holds_the_generators(store):
    from safetensors.torch import load_file

    obtain(store, Toy())
    state = load_file(store.folder(Toy()).path / "state.safetensors")
    assert "rng:0:noise" in state
    assert "module:layer:weight" in state


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["truncated", "edited", "missing"])
def test_verify_finds_damage(store, name, harm):
    obtain(store, Toy())
    folder = store.folder(Toy())
    path = folder.path / name
    data = path.read_bytes()
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(data[:-3] if harm == "truncated" else bytes([data[0] ^ 1]) + data[1:])
    assert folder.status == "done"  # as far as a list can tell
    assert [problem for problem in folder.problems() if problem.startswith(name)]
    with pytest.raises(StoreError, match=f"runs remove {folder.name}"):
        obtain(store, Toy())


def test_a_broken_done_mark_is_damage_and_can_be_repeated(store):
    digest = obtain(store, Toy()).digest
    folder = store.folder(Toy())
    (folder.path / "done.json").write_text("{")
    assert folder.problems() == ["done.json is unreadable"]
    folder.remove()
    assert obtain(store, Toy()).digest == digest


@pytest.mark.parametrize("text", ["[]", "null", "3", '"x"', "NaN", "[" * 5000])
def test_what_is_not_a_table_is_damage(store, text, capsys):
    obtain(store, Toy())
    out = ["--store", str(store.root)]
    folder = store.folder(Toy())
    (folder.path / "made.json").write_text(text)
    (folder.path / "done.json").write_text(text)
    assert folder.problems() == ["done.json is unreadable"]
    with pytest.raises(StoreError, match=r"done\.json is unreadable.*runs remove"):
        folder.read()
    assert main(["runs", "list", "--json", *out]) == 0
    assert main(["runs", "verify", *out]) == 1
    assert main(["runs", "show", folder.name, *out]) == 1
    (store.root / "store.json").write_text(text)
    assert main(["runs", "list", *out]) == 1
    assert "store.json is unreadable" in capsys.readouterr().err


def test_an_exchanged_folder_is_damaged(store):
    one, other = (store.folder(run) for run in (Toy(seed=1), Toy(seed=2)))
    obtain(store, Toy(seed=1))
    obtain(store, Toy(seed=2))
    aside = one.path.with_name("aside")
    one.path.rename(aside)
    other.path.rename(one.path)
    aside.rename(other.path)
    for folder, owner in ((one, other), (other, one)):
        assert folder.problems() == [f"its settings are those of {owner.name}: the folder was renamed or exchanged"]
        with pytest.raises(StoreError, match="renamed or exchanged"):
            folder.read()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda done: done | {"digest": "0" * 64}, "the digest in done.json is not that of its files"),
        (lambda done: done | {"digest": None}, "the digest in done.json is not that of its files"),
        (lambda done: done | {"files": {}}, "done.json does not list the files"),
        (lambda done: done | {"files": None}, "done.json does not list the files"),
        (lambda done: {"digest": done["digest"]}, "done.json does not list the files"),
        (lambda done: done | {"files": done["files"] | {"../x": "0"}}, "done.json does not list the files"),
        (lambda done: done | {"files": done["files"] | {"made.json": None}}, "made.json was truncated or edited"),
    ],
)
def test_an_edited_mark_is_damage(store, change, problem):
    obtain(store, Toy())
    folder = store.folder(Toy())
    (folder.path / "done.json").write_text(json.dumps(change(folder.table("done"))))
    (found,) = folder.problems()
    assert found.startswith(problem)
    with pytest.raises(StoreError, match=f"runs remove {folder.name}"):
        obtain(store, Toy())


def test_settings_belong_to_the_name_whatever_they_hold(store):
    """The name is hashed from the settings, the check from the file: numbers and letters must survive it."""
    for run in (Toy(scale=0.1 + 0.2), Toy(scale=1e-7), Toy(scale=2.0, of=Toy(seed=3, steps=20))):
        obtain(store, run)
        assert store.folder(run).problems() == []


@pytest.mark.parametrize("text", ["nan", "inf", "-0.1", "7", "", "0x1", "²"])
def test_odd_progress_is_none(store, text):
    folder = store.folder(Toy())
    folder.begin(Toy())
    (folder.path / "progress").write_text(text)
    assert folder.progress() == 0.0
    assert main(["runs", "list", "--json", "--store", str(store.root)]) == 0


def test_a_newer_store_is_left_alone(tmp_path):
    (tmp_path / "store.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(UsageError, match=r"format 99.*upgrade"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["store.json"]


def test_an_unwritable_place_gets_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--store"):
        Store(tmp_path / "file" / "store")


def test_a_full_disk_harms_nothing(store, monkeypatch):
    import errno
    import os

    obtain(store, Toy(seed=1))

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Error, match=r"no space left.*to resume") as caught:
        obtain(store, Toy(seed=2))
    assert caught.value.status == 1
    monkeypatch.undo()
    assert store.folder(Toy(seed=1)).status == "done"
    assert not list(store.root.rglob("*.part"))
    assert obtain(store, Toy(seed=2)).records


def test_two_processes_share_one_run(store):
    context = multiprocessing.get_context("spawn")
    run = Toy(pause=0.02)
    pair = [context.Process(target=obtain, args=(store, run)) for _ in range(2)]
    for process in pair:
        process.start()
    for process in pair:
        process.join()
    assert [process.exitcode for process in pair] == [0, 0]
    assert store.folder(run).status == "done"
    assert [record["step"] for record in store.folder(run).read().records] == [9, 19, 29, 39, 49]


def test_a_run_under_way_cannot_be_removed(store):
    folder = store.folder(Toy())
    folder.begin(Toy())
    with folder.hold():
        other = store.folder(Toy())
        assert other.status == "running"
        with pytest.raises(UsageError, match="being executed"):
            other.remove()
    folder.remove()
    assert list(store) == []


def test_names_may_be_shortened(store):
    obtain(store, Toy())
    obtain(store, Toy(seed=1))
    name = Toy().folder
    assert store.match(name).name == name
    assert store.match(Toy().id[:9]).name == name
    with pytest.raises(UsageError, match="beginning of 2 run names"):
        store.match("toy")
    with pytest.raises(UsageError, match="unknown run"):
        store.match("tox")


def test_a_tensor_with_two_names_is_stored(store):
    from prunefield.runs import Record, State

    folder = store.folder(Toy())
    folder.begin(Toy())
    shared = torch.arange(4.0)
    folder.save(State(), [Record({"a": 1}, {"x": shared, "y": shared[:2]})])
    _, _, records = folder.saved()
    assert records[0].tensors["y"].tolist() == [0.0, 1.0]


def test_removing_a_link_leaves_what_it_leads_to(store, tmp_path):
    digest = obtain(store, Toy()).digest
    folder = store.folder(Toy())
    folder.path.rename(tmp_path / "elsewhere")
    folder.path.symlink_to(tmp_path / "elsewhere")
    assert obtain(store, Toy()).digest == digest
    folder.remove()
    assert not folder.path.exists()
    assert (tmp_path / "elsewhere" / "done.json").exists()


def test_a_mark_that_is_a_folder_is_removed_too(store):
    digest = obtain(store, Toy()).digest
    folder = store.folder(Toy())
    (folder.path / "done.json").unlink()
    (folder.path / "done.json").mkdir()
    assert folder.problems() == ["done.json is unreadable"]
    folder.remove()
    assert obtain(store, Toy()).digest == digest


def test_an_empty_name_means_no_run(store, capsys):
    """It is the beginning of every name, and `runs remove "$NAME"` is easily written."""
    obtain(store, Toy())
    assert main(["runs", "remove", "", "--store", str(store.root)]) == 2
    assert "cannot be empty" in capsys.readouterr().err
    assert store.folder(Toy()).is_done


def test_a_link_in_a_circle_does_not_hide_the_other_runs(store):
    obtain(store, Toy())
    (store.root / "runs" / "circle").symlink_to("circle")
    (store.root / "runs" / "nowhere").symlink_to("nobody")
    assert store.names() == [Toy().folder]


def test_odd_names_are_shown_on_one_line(store, capsys):
    (store.root / "runs" / "two\nlines\x1b[31m").mkdir(parents=True)
    assert main(["runs", "list", "--store", str(store.root)]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("two lines\\x1b[31m  0 bytes  foreign")


def test_threads_that_make_a_store_at_the_same_moment(tmp_path):
    for number in range(10):
        together = threading.Barrier(4)

        def make(number=number, together=together):
            together.wait()
            return Store(tmp_path / str(number))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: make(), range(4)))
        assert os.listdir(tmp_path / str(number)) == ["store.json"]


def test_a_command_in_a_message_names_the_store_unless_it_is_the_default_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRUNEFIELD_STORE", raising=False)
    name = Toy().folder
    for place, option in (("prunefield-out", ""), ("my store", " --store 'my store'")):
        assert f"`prunefield runs remove {name}{option}`" in Store(place)[name].remedy
        assert f"`prunefield runs remove {name}{option}`" in Store(Path(place))[name].remedy
    monkeypatch.setenv("PRUNEFIELD_STORE", "my store")
    assert f"`prunefield runs remove {name}`" in Store(tmp_path / "my store")[name].remedy
