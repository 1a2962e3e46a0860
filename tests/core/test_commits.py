"""Many folders at a time: whole or not at all, whatever happens in between."""

import errno
import os
from pathlib import Path

import pytest

from prunefield.core import commits
from prunefield.core.commits import can_sync_at_once, write_folders, write_unsynced

CONTENTS = {"a.json": b"1", "b.bin": b"x" * 100_000, "done": b"mark"}


class Killed(BaseException):
    """As if the process had died."""


@pytest.fixture
def folders(tmp_path):
    for name in "xyz":
        (tmp_path / name).mkdir()
    return {str(tmp_path / name): CONTENTS for name in "xyz"}


def test_all_files_are_there_and_nothing_else(folders):
    write_folders(folders, "done")
    for folder in folders:
        assert sorted(os.listdir(folder)) == sorted(CONTENTS)
        assert all(Path(folder, name).read_bytes() == data for name, data in CONTENTS.items())
    write_folders(folders, "done")  # again, over what is there
    assert all(sorted(os.listdir(folder)) == sorted(CONTENTS) for folder in folders)


def test_a_mark_gets_its_name_when_all_else_is_synced(folders, monkeypatch):
    steps, replace = [], os.replace
    monkeypatch.setattr(commits, "sync_file_system", lambda descriptor: steps.append("sync"))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append(os.path.basename(b)), replace(a, b)))
    write_folders(folders, "done")
    assert steps == ["sync", *["a.json", "b.bin"] * 3, "sync", *["done"] * 3, "sync"]


def test_killed_before_any_operation_no_mark_is_there_without_its_files(folders, monkeypatch):
    number, ended = 0, False
    while not ended:
        number += 1
        left = iter(range(number))
        for name in ("open", "write", "replace", "stat", "close"):
            monkeypatch.setattr(os, name, dying(getattr(os, name), left))
        monkeypatch.setattr(commits, "sync_file_system", dying(lambda descriptor: None, left))
        try:
            write_folders(folders, "done")
            ended = True
        except Killed:
            pass
        finally:
            monkeypatch.undo()
        for folder in folders:
            if os.path.exists(f"{folder}/done"):
                assert all(Path(folder, name).read_bytes() == data for name, data in CONTENTS.items())
                if not ended:
                    os.unlink(f"{folder}/done")
    assert number > 40


def dying(call, left):
    def work(*args, **options):
        if next(left, None) is None:
            raise Killed
        return call(*args, **options)

    return work


def test_after_an_error_nothing_is_left(folders, monkeypatch):
    def refuse(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(commits, "sync_file_system", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_folders(folders, "done")
    assert all(os.listdir(folder) == [] for folder in folders)


def test_one_file_is_whole_or_not_there(tmp_path, monkeypatch):
    write_unsynced(str(tmp_path), "a", b"first")
    monkeypatch.setattr(os, "replace", dying(os.replace, iter(())))
    with pytest.raises(Killed):
        write_unsynced(str(tmp_path), "a", b"second")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"first"


@pytest.mark.parametrize(
    ("system", "release", "expected"),
    [("Linux", "5.7.0", False), ("Linux", "5.10.0-8", True), ("Darwin", "23.1.0", False), ("Linux", "odd", False)],
)
def test_older_systems_that_hide_errors_are_not_trusted(monkeypatch, system, release, expected):
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.release", lambda: release)
    assert can_sync_at_once.__wrapped__() == expected


def test_a_sync_that_fails_says_why(tmp_path):
    with pytest.raises(OSError, match="Bad file descriptor"):
        commits.sync_file_system(9999)
