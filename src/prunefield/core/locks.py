"""Locks between processes, also on several machines: a file that the system locks, and releases when a process dies."""

import os
import time

from prunefield.core.files import AT_ONCE

POLL = 0.05  # seconds between two attempts
_held: "dict[int, Lock]" = {}  # by their descriptors in this process


class LockTimeout(Exception):
    """Somebody else holds the lock."""


class Lock:
    """A lock by the name of a file, which stays there. Any thread may release it.

    A few system calls, because a sweep of short runs takes one for each.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor: int | None = None

    def acquire(self, timeout: float = -1) -> None:
        """Waits for the lock, indefinitely if the timeout is negative; LockTimeout or OSError if there is none."""
        deadline = time.monotonic() + timeout
        while not self._try():
            if timeout >= 0 and time.monotonic() >= deadline:
                raise LockTimeout(self.path)
            time.sleep(POLL)

    def _try(self) -> bool:
        import fcntl

        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | AT_ONCE, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:  # otherwise somebody has deleted the file, and others lock a new one
                self.descriptor = descriptor
                _held[descriptor] = self
                return True
        except (BlockingIOError, PermissionError):  # the latter on some file systems
            pass
        finally:
            if self.descriptor is None:
                os.close(descriptor)
        return False

    def release(self) -> None:
        if self.descriptor is not None and _held.get(self.descriptor) is self:
            del _held[self.descriptor]
            os.close(self.descriptor)
        self.descriptor = None


def _drop_inherited() -> None:
    """A process that was forked holds nothing: it would keep the lock after its parent has died."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_inherited)
