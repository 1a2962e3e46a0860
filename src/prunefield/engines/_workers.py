"""Processes that take functions and items from a pipe."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from types import ModuleType
from typing import Any

from prunefield.engines import Outcome, begin_work, make_environment

LATE = 2.0  # seconds after which a process gives back what it has not begun

Answer = tuple[list[tuple[Outcome, float]], list[int]]  # outcomes and their seconds, and what is given back


def is_importable(work: Callable[[Any], Any]) -> bool:
    """Whether a process that does not know the main program can be given this function."""
    return work.__module__ != "__main__"


class Worker:
    """One process; `given` are the indices of what it has not answered."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.given: set[int] = set()
        self.is_reusable = is_importable(work)
        self.process = context.Process(target=_serve_items, args=(theirs,), daemon=True)
        with _inherited(work):
            self.process.start()
        theirs.close()

    def give(self, work: Callable[[Any], Any], pieces: Sequence[tuple[int, Any]], *, most: int | None = None) -> bool:
        """Sends pieces of work with their indices, unless these are more than `most` bytes; whether it did."""
        data = ForkingPickler.dumps((work, pieces))
        if most is not None and len(data) > most:
            return False
        self.given.update(index for index, _ in pieces)
        with suppress(OSError):  # a process that has already died is noticed when it does not answer
            self.pipe.send_bytes(data)
        return True

    def receive(self) -> Answer:
        """The next answer; EOFError or OSError if the process has died."""
        outcomes, back = self.pipe.recv()
        self.given.difference_update(back, (outcome.index for outcome, _ in outcomes))
        return outcomes, back

    def end(self) -> str:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        is_killed = self.process.exitcode == -signal.SIGKILL
        return "killed; out of memory?" if is_killed else f"exit status {self.process.exitcode}"


@contextmanager
def _inherited(work: Callable[[Any], Any]) -> Iterator[None]:
    """What a new process inherits: variables such as one thread for libraries, no Ctrl-C, and no main program.

    Ctrl-C reaches the whole group; the parent decides what ends, and a child that is still importing would print a
    traceback. So this thread blocks the signal while the child is started: it is not lost, but reaches the parent
    afterwards, or at once through another thread. The caller's script would run again in each process, so it is hidden
    unless `work` is defined in it.
    """
    main = sys.modules["__main__"]
    if is_importable(work):
        sys.modules["__main__"] = ModuleType("__main__")
    variables = make_environment()
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    resource_tracker.ensure_running()  # a process of multiprocessing; starting it unblocks the signal
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _serve_items(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_die_with_parent, daemon=True).start()
    sending = threading.Lock()  # outcomes also come from other threads
    outcomes: list[tuple[Outcome, float]] = []

    def answer(outcome: Outcome, seconds: float, more: bool) -> None:
        with sending:
            outcomes.append((outcome, seconds))
            if not more:  # a message takes longer than what is in it
                pipe.send((outcomes, []))
                outcomes.clear()

    pieces, late = deque[tuple[Callable[[Any], Any], int, Any]](), 0.0
    while True:
        if not pieces:
            try:
                work, given = pipe.recv()
            except EOFError:
                return
            pieces += [(work, *piece) for piece in given]
            late = time.monotonic() + LATE
        deferred = begin_work(*pieces.popleft(), answer)
        if deferred is not None and not pieces and not pipe.poll():
            deferred.hurry()
        if pieces and time.monotonic() > late:
            with sending:
                pipe.send(([], [index for _, index, _ in pieces]))
            pieces.clear()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
