"""Engines: where many runs are executed side by side. One file is one engine."""

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from prunefield.core.plugin import Plugin

# One run uses one thread: the fastest use of the cores at these sizes, and the same bits on every engine.
ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
# glibc keeps memory that was freed, to the limits that it may also choose by itself: otherwise a process may get the
# pages of every tensor anew from the system, which takes up to a tenth of the time of a run.
KEPT_MEMORY: dict[str, str] = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}


def make_environment() -> dict[str, str]:
    """The variables of processes that execute runs; how memory is kept is the user's choice if there is one."""
    return {**{name: os.environ.get(name, value) for name, value in KEPT_MEMORY.items()}, **ONE_THREAD}


@dataclass(frozen=True)
class Outcome:
    """The end of one piece of work: its index, what it returned, or one line that says why it failed."""

    index: int
    value: Any
    error: str | None = None


@dataclass(frozen=True)
class Retry:
    """A piece of work that starts again because its process or machine died; a run resumes from its last safe point."""

    index: int
    reason: str


@dataclass(frozen=True)
class Notice:
    """A line about the engine itself, such as why all its work waits."""

    text: str


@dataclass(frozen=True)
class Hints:
    """What an engine may know about the items: all of it optional, one entry for each item where it is a sequence."""

    seconds: Sequence[float] = ()  # estimated, on one core
    names: Sequence[str] = ()  # for logs
    marks: Sequence[str] = ()  # files that are written whenever work from before is safe
    folder: Path | None = None  # where engines may keep files of their own, which all machines see
    device: str = "cpu"


class Engine(Plugin):
    """Maps a function over items, in other processes."""

    family: ClassVar[str] = "engines"
    # Whether `map` calls `work` in processes that do nothing else, and waits for what it returns as a `Deferred`.
    takes_deferred: ClassVar[bool] = False

    @abstractmethod
    def map(
        self, work: Callable[[Any], Any], items: Sequence[Any], hints: Hints | None = None
    ) -> Iterator[Outcome | Retry | Notice | None]:
        """Outcomes as they complete, retries as they begin and notices; otherwise None now and then.

        None lets the caller show progress. Where the engine `takes_deferred`, `work` may return a `Deferred`, which
        has the value later. One piece of work that fails does not stop the others. When the caller closes the
        iterator or is interrupted, no process is left behind, except on an engine with a queue of its own
        (`cancel`), where the next call with the same items waits for what is queued.
        """

    @property
    def is_here(self) -> bool:
        """Whether the work is done on this machine, so that its devices count."""
        return True

    def cancel(self, folder: Path) -> list[str]:
        """Ends all that is queued or executed for a store whose `Hints.folder` this is; one line for each job."""
        return []

    def __hash__(self) -> int:
        return hash(self.id)


def choose_engine(
    engine: Engine | Mapping[str, Any] | str = "local", jobs: int | None = None, retry: int | None = None
) -> Engine:
    """An engine by its name or settings, with this number of processes and of retries."""
    chosen = Engine.parse(engine)
    changes = {key: value for key, value in (("jobs", jobs), ("retry", retry)) if value is not None}
    return Engine.parse({**chosen.settings(), **changes}) if changes else chosen


def count_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Deferred(Future[Any]):
    """What work returns if its value comes later, from another thread: it has been computed and is being written, say.

    The process may begin something else meanwhile. `hurry` says that there is nothing else. If several are done at the
    same time, all but the last have `more`.
    """

    more = False

    def hurry(self) -> None:
        """Somebody waits for this one."""


def begin_work(
    work: Callable[[Any], Any], index: int, item: Any, ended: Callable[[Outcome, float, bool], None]
) -> Deferred | None:
    """Calls `work` on one thread; `ended` gets its outcome, with any error as one line, the seconds of the call, and
    whether another outcome follows at once.

    If `work` returns something deferred, that happens when it is done, in another thread.
    """
    import torch

    torch.set_num_threads(1)
    begin = time.perf_counter()
    try:
        value = work(item)
    except Exception as error:
        ended(_describe_error(index, error), time.perf_counter() - begin, False)
        return None
    seconds = time.perf_counter() - begin
    if isinstance(value, Deferred):
        value.add_done_callback(lambda future: ended(_describe_future(index, future), seconds, value.more))
        return value
    ended(Outcome(index, value), seconds, False)
    return None


def await_value(value: Any) -> Any:
    """What work has returned, also if it is deferred."""
    if not isinstance(value, Deferred):
        return value
    value.hurry()
    return value.result()


def _describe_future(index: int, future: "Future[Any]") -> Outcome:
    error = future.exception()
    return Outcome(index, future.result()) if error is None else _describe_error(index, error)


def _describe_error(index: int, error: BaseException) -> Outcome:
    name = "" if hasattr(error, "status") else f"{type(error).__name__}: "
    return Outcome(index, None, f"{name}{error}".splitlines()[0])
