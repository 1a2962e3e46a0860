"""Processes on this machine."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from pydantic import Field

from prunefield.engines import ONE_THREAD, Engine, Outcome, attempt_work, count_cores


class Local(Engine):
    """Processes on this machine, started by spawn, one thread each.

    If a worker is killed (for lack of memory, say), its item fails and the worker is replaced.
    """

    jobs: int = Field(default_factory=count_cores, ge=1, description="number of processes")

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Outcome | None]:
        waiting = list(enumerate(items))[::-1]
        busy: dict[Connection, tuple[Worker, int]] = {}
        idle: list[Worker] = []
        try:
            while waiting or busy:
                while waiting and len(busy) < self.jobs:
                    worker = idle.pop() if idle else Worker(work)
                    index, item = waiting.pop()
                    worker.give(index, item)
                    busy[worker.pipe] = worker, index
                ready = [pipe for pipe in wait(list(busy), timeout=0.2) if isinstance(pipe, Connection)]
                for pipe in ready:
                    worker, index = busy.pop(pipe)
                    try:
                        yield pipe.recv()
                        idle.append(worker)
                    except (EOFError, OSError):
                        yield Outcome(index, None, f"its process died ({worker.end()})")
                if not ready:
                    yield None
        finally:
            for worker in idle + [worker for worker, _ in busy.values()]:
                worker.end()


class Worker:
    """One process that takes items from a pipe."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve_items, args=(theirs, work), daemon=True)
        with _inherited(work):
            self.process.start()
        theirs.close()

    def give(self, index: int, item: Any) -> None:
        with suppress(OSError):  # a process that has already died is noticed when it does not answer
            self.pipe.send((index, item))

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
    if work.__module__ != "__main__":
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


def _serve_items(pipe: Connection, work: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            index, item = pipe.recv()
        except EOFError:
            return
        pipe.send(attempt_work(work, index, item))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
