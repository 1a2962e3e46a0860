"""Processes on this machine."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from pydantic import Field

from prunefield.engines import ONE_THREAD, Engine, Hints, Outcome, Retry, attempt_work, count_cores


class Local(Engine):
    """Processes on this machine, started by spawn, one thread each.

    If a worker is killed (for lack of memory, say), it is replaced and its item begins again, up to `retry` times.
    """

    jobs: int = Field(default_factory=count_cores, ge=1, description="number of processes")
    retry: int = Field(default=0, ge=0, description="number of times a run is restarted after its process died")

    def map(
        self, work: Callable[[Any], Any], items: Sequence[Any], hints: Hints | None = None
    ) -> Iterator[Outcome | Retry | None]:
        waiting = list(enumerate(items))[::-1]
        deaths = Counter[int]()
        busy: dict[Connection, tuple[Worker, int]] = {}
        idle: list[Worker] = []
        try:
            while waiting or busy:
                while waiting and len(busy) < self.jobs:
                    worker = idle.pop() if idle else _take_spare(work) or Worker(work)
                    index, item = waiting.pop()
                    worker.give(work, index, item)
                    busy[worker.pipe] = worker, index
                ready = [pipe for pipe in wait(list(busy), timeout=0.2) if isinstance(pipe, Connection)]
                for pipe in ready:
                    worker, index = busy.pop(pipe)
                    try:
                        yield pipe.recv()
                        idle.append(worker)
                    except (EOFError, OSError):
                        how, deaths[index] = worker.end(), deaths[index] + 1
                        if deaths[index] <= self.retry:
                            waiting.append((index, items[index]))
                            yield Retry(index, f"its process died ({how}); retry {deaths[index]} of {self.retry}")
                        else:
                            yield Outcome(index, None, f"its process died ({how})")
                if not ready:
                    yield None
        finally:
            for worker in (worker for worker, _ in busy.values()):
                worker.end()
            for worker in idle:
                _put_aside(worker)


_spare: "list[Worker] | None" = None  # processes that wait for the next `map`, while there is a `keep_workers`


@contextmanager
def keep_workers() -> Iterator[None]:
    """Until the end of the block, processes of the engine `local` serve one `map` after the other: each has imported
    torch and compiled its loops only once.
    """
    global _spare
    if _spare is not None:
        yield
        return
    _spare = []
    try:
        yield
    finally:
        spare, _spare = _spare, None
        for worker in spare:
            worker.end()


def _take_spare(work: Callable[[Any], Any]) -> "Worker | None":
    return _spare.pop() if _spare and _is_importable(work) else None


def _put_aside(worker: "Worker") -> None:
    if _spare is None or not worker.is_reusable:
        worker.end()
    else:
        _spare.append(worker)


def _is_importable(work: Callable[[Any], Any]) -> bool:
    """Whether a process that does not know the main program can be given this function."""
    return work.__module__ != "__main__"


class Worker:
    """One process that takes functions and items from a pipe."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.is_reusable = _is_importable(work)
        self.process = context.Process(target=_serve_items, args=(theirs,), daemon=True)
        with _inherited(work):
            self.process.start()
        theirs.close()

    def give(self, work: Callable[[Any], Any], index: int, item: Any) -> None:
        with suppress(OSError):  # a process that has already died is noticed when it does not answer
            self.pipe.send((work, index, item))

    def end(self) -> str:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        is_killed = self.process.exitcode == -signal.SIGKILL
        return "killed; out of memory?" if is_killed else f"exit status {self.process.exitcode}"


@contextmanager
def _inherited(work: Callable[[Any], Any]) -> Iterator[None]:
    """What a new process inherits: one thread for numerical libraries, no Ctrl-C, and no main program.

    Ctrl-C reaches the whole group; the parent decides what ends, and a child that is still importing would print a
    traceback. The caller's script would run again in each process, so it is hidden unless `work` is defined in it.
    """
    main = sys.modules["__main__"]
    if _is_importable(work):
        sys.modules["__main__"] = ModuleType("__main__")
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    is_main = threading.current_thread() is threading.main_thread()  # other threads may not set signals
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if is_main:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _serve_items(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            work, index, item = pipe.recv()
        except EOFError:
            return
        pipe.send(attempt_work(work, index, item))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
