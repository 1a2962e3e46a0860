"""The data folder: missing data are reported before anything runs, and unofficial files are noted."""

import json
import shutil

import numpy as np
import pytest

import official_files
from prunefield.cli import main
from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.data.download import download_file, hash_file
from prunefield.lab.store import Store
from prunefield.tasks import Task
from prunefield.tasks.cifar10 import Cifar10


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PRUNEFIELD_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def last_line(capsys):
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_a_missing_data_set_stops_a_reproduction_before_it_begins(folder, tmp_path, capsys):
    command = ["reproduce", "redman2025/fig4", "--scale", "laptop", "--store", str(tmp_path / "store")]
    assert main([*command, "--dry-run"]) == 0
    capsys.readouterr()
    assert main(command) == 2
    (error,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("prunefield:"))
    assert error == f"prunefield: cifar10 is not in {folder / 'cifar10'}; fetch it: prunefield data get cifar10"
    assert list(Store(tmp_path / "store")) == []


@pytest.mark.parametrize(
    ("task", "message"),
    [("cifar100", "prunefield data get cifar100"), ({"kind": "folder", "path": "birds"}, "there is nothing at")],
)
@pytest.mark.parametrize("wrap", [lambda task: task, lambda task: {"kind": "clone", "of": task}])
def test_a_task_and_the_task_inside_it_are_required(folder, task, message, wrap):
    with pytest.raises(UsageError, match=message):
        Task.parse(wrap(task)).require()
    assert Task.parse(wrap("nlgp")).require() is None


def test_a_study_of_a_missing_data_set_fails_at_once(folder, tmp_path, capsys):
    file = tmp_path / "study.toml"
    file.write_text('kind = "widths"\nof = { kind = "imp", task = "cifar10" }\n')
    assert main(["run", str(file), "--store", str(tmp_path / "store")]) == 2
    assert "fetch it: prunefield data get cifar10" in last_line(capsys)


def test_an_unofficial_file_is_accepted_with_a_note(folder, tmp_path, capsys):
    path = official_files.cifar10(tmp_path)
    assert main(["data", "get", "cifar10", "--from", str(path)]) == 0
    warning = last_line(capsys)
    assert "cifar-10-python.tar.gz is not the official file" in warning
    assert hash_file(path) in warning
    assert Cifar10.sha256 in warning
    assert main(["data", "verify", "cifar10"]) == 0
    assert "cifar10: whole (cifar-10-python.tar.gz is not the official file" in capsys.readouterr().out
    assert main(["data", "list", "cifar10"]) == 0
    assert "cifar10: cifar-10-python.tar.gz is not the official file" in capsys.readouterr().out
    (folder / "cifar10" / "about.json").write_text("{")
    assert main(["data", "list", "cifar10", "--json"]) == 0
    assert "delete" in json.loads(capsys.readouterr().out)["data"][0]["note"]


def test_a_complete_official_file_or_folder_gets_no_note(folder, tmp_path, monkeypatch, capsys):
    path = official_files.cifar10(tmp_path)
    shutil.unpack_archive(path, tmp_path / "unpacked", filter="data")
    assert main(["data", "get", "cifar10", "--from", str(tmp_path / "unpacked"), "--json"]) == 0
    note = json.loads(capsys.readouterr().out)["data"][0]["note"]
    assert note == "unpacked: it contains 100 + 60 images, expected 50,000 + 10,000"
    monkeypatch.setattr(Cifar10, "counts", (100, 60))
    assert main(["data", "get", "cifar10", "--from", str(tmp_path / "unpacked"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"][0]["note"] == ""
    monkeypatch.setattr(Cifar10, "sha256", hash_file(path))
    assert main(["data", "get", "cifar10", "--from", str(path), "--json"]) == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["data"][0]["note"] == ""
    assert "warning" not in found.err


@pytest.mark.parametrize("obstacle", ["", ".cifar10.lock/x"])
def test_a_folder_that_cannot_be_written_is_reported_with_its_variable(folder, obstacle, tmp_path, capsys):
    """A file where the folder should be, or a folder where its lock should be: root may write everywhere else."""
    if obstacle:
        (folder / obstacle).mkdir(parents=True)
    else:
        folder.write_text("a file")
    assert main(["data", "get", "cifar10", "--from", str(official_files.cifar10(tmp_path))]) == 2
    error = last_line(capsys)
    assert "choose another folder with PRUNEFIELD_DATA" in error
    assert str(folder) in error
    assert "--store" not in error


def test_a_download_that_cannot_be_written_is_reported_with_the_variable(tmp_path):
    origin = tmp_path / "origin"
    origin.write_bytes(b"abc")
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "file.part").symlink_to(tmp_path / "nowhere" / "file")
    with pytest.raises(UsageError, match=r"cannot write .*file\.part: .* choose another folder with PRUNEFIELD_DATA"):
        download_file(origin.as_uri(), folder / "file", sha256="0", size=3, tell=lambda have, size: None)


def test_examples_are_written_to_a_file_that_is_a_task_again(folder, tmp_path, capsys):
    file = tmp_path / "clone.npz"
    command = ["data", "draw", "clone,of=leaves,of.side=8", "--train", "60", "--test", "30", "--out", str(file)]
    assert main(command) == 0
    assert "60 + 30 examples of clone, 3×8×8 each" in capsys.readouterr().out
    first = file.read_bytes()
    assert main(command) == 0
    assert file.read_bytes() == first
    with np.load(file) as drawn:
        x, y = Task.parse({"kind": "clone", "of": {"kind": "leaves", "side": 8}}).sample(
            60, generator=seeds.generator(0, "draw")
        )
        assert np.array_equal(drawn["x"].reshape(60, -1), x.numpy())
        assert np.array_equal(drawn["y"], y.numpy())
    again = Task.parse({"kind": "npz", "path": str(file)})
    assert again.shape == (3, 8, 8)
    assert len(again.labels(training=True)) == 60
    assert len(again.labels(training=False)) == 30


def test_drawing_needs_one_name(capsys):
    assert main(["data", "draw"]) == 2
    assert "data draw takes one NAME" in last_line(capsys)
