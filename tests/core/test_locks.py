"""Locks between processes and threads."""

import os
import signal
import threading
from pathlib import Path

import pytest

from prunefield.core.files import is_locked
from prunefield.core.locks import Lock, LockTimeout


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lock")


def test_only_one_holds_it_and_any_thread_may_release_it(path):
    first, second = Lock(path), Lock(path)
    first.acquire()
    assert is_locked(path)
    with pytest.raises(LockTimeout):
        second.acquire(0)
    with pytest.raises(LockTimeout):
        second.acquire(0.1)
    thread = threading.Thread(target=first.release)
    thread.start()
    second.acquire(5)
    thread.join()
    second.release()
    second.release()  # nothing to do
    assert not is_locked(path)


def test_it_is_released_when_its_process_dies_even_if_that_had_children(path):
    """A child that was forked keeps no lock of its parent."""
    ours, theirs = os.pipe()
    holder = os.fork()
    if holder == 0:
        Lock(path).acquire()
        if os.fork() == 0:
            signal.pause()
        os.write(theirs, b"x")
        signal.pause()
    os.read(ours, 1)
    assert is_locked(path)
    children = Path(f"/proc/{holder}/task/{holder}/children").read_text().split()
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    try:
        Lock(path).acquire(5)
    finally:
        for child in children:
            os.kill(int(child), signal.SIGKILL)


def test_a_file_that_was_deleted_is_not_the_lock(path):
    first, second = Lock(path), Lock(path)
    first.acquire()
    os.unlink(path)
    second.acquire(0)  # another file of this name
    with pytest.raises(LockTimeout):
        Lock(path).acquire(0)
    first.release()
    second.release()


def test_what_is_not_a_file_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name, reason in ((".", "directory"), ("link", "symbolic links"), ("missing/lock", "No such file")):
        with pytest.raises(OSError, match=reason):
            Lock(str(tmp_path / name)).acquire(0)
