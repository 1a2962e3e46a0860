"""Processes on this machine."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, ClassVar

from pydantic import Field

from prunefield.engines import Engine, Hints, Notice, Outcome, Retry, count_cores
from prunefield.engines._batches import Supply
from prunefield.engines._workers import Worker, is_importable

AHEAD = 1.0  # seconds of short runs that a process has before it, those included that it is about to write
MANY = 128  # of them at most
ROOM = 50_000  # bytes that a process which is busy can be sent without waiting for it


class Local(Engine):
    """Processes on this machine, started by spawn, one thread each.

    If a worker is killed (for lack of memory, say), it is replaced and its item begins again, up to `retry` times. If
    it had several short ones, each of them is first repeated by itself.
    """

    takes_deferred: ClassVar[bool] = True
    jobs: int = Field(default_factory=count_cores, ge=1, description="number of processes")
    retry: int = Field(default=0, ge=0, description="number of times a run is restarted after its process died")

    def map(
        self, work: Callable[[Any], Any], items: Sequence[Any], hints: Hints | None = None
    ) -> Iterator[Outcome | Retry | Notice | None]:
        supply = Supply(len(items), hints.seconds if hints else ())
        deaths = Counter[int]()
        busy: dict[Connection, Worker] = {}
        idle: list[Worker] = []
        try:
            while supply.waiting or busy:
                while supply.waiting and len(busy) < self.jobs:
                    worker = idle.pop() if idle else _take_spare(work) or Worker(work)
                    batch = supply.take(AHEAD, 2 * self.jobs, least=1, most=MANY)
                    worker.give(work, [(index, items[index]) for index in batch])
                    busy[worker.pipe] = worker
                ready = [pipe for pipe in wait(list(busy), timeout=0.2) if isinstance(pipe, Connection)]
                for pipe in ready:
                    worker = busy[pipe]
                    try:
                        outcomes, back = worker.receive()
                    except (EOFError, OSError):
                        del busy[pipe]
                        yield self._replace(worker, supply, deaths)
                        continue
                    supply.give_back(back)
                    for outcome, seconds in outcomes:
                        supply.learn(outcome.index, seconds)
                        yield outcome
                    self._give_more(worker, supply, work, items)
                    if not worker.given:
                        idle.append(busy.pop(pipe))
                if not ready:
                    yield None
        finally:
            for worker in busy.values():
                worker.end()
            for worker in idle:
                _put_aside(worker)

    def _give_more(self, worker: Worker, supply: Supply, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
        """Short pieces before a process asks for them, so that it does not wait for this one."""
        room = AHEAD - sum(map(supply.predict, worker.given))
        batch = supply.take(room, 2 * self.jobs, most=MANY - len(worker.given)) if room > AHEAD / 2 else []
        while batch and not worker.give(work, [(index, items[index]) for index in batch], most=ROOM):
            batch, rest = batch[: len(batch) // 2], batch[len(batch) // 2 :]
            supply.give_back(rest, alone=not batch)

    def _replace(self, worker: Worker, supply: Supply, deaths: Counter[int]) -> Outcome | Retry | Notice:
        """What to say of a process that has died; its pieces may be repeated."""
        how, (index, *others) = worker.end(), worker.given
        if others:  # nobody knows which of them it was
            supply.give_back([index, *others], alone=True)
            return Notice(f"a process died ({how}) that had {len(others) + 1} short runs; each is repeated by itself")
        deaths[index] += 1
        if deaths[index] > self.retry:
            return Outcome(index, None, f"its process died ({how})")
        supply.give_back([index])
        return Retry(index, f"its process died ({how}); retry {deaths[index]} of {self.retry}")


_spare: list[Worker] | None = None  # processes that wait for the next `map`, while there is a `keep_workers`


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


def _take_spare(work: Callable[[Any], Any]) -> Worker | None:
    return _spare.pop() if _spare and is_importable(work) else None


def _put_aside(worker: Worker) -> None:
    if _spare is None or not worker.is_reusable:
        worker.end()
    else:
        _spare.append(worker)
