"""How far a sweep is, and the bar that shows it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from prunefield.core.progress import track_progress
from prunefield.core.terminal import show_warning
from prunefield.runs import Run


class Progress(NamedTuple):
    """Progress of a plan: estimated seconds and number of runs, ended and in all; a run that is under way, if any; and
    why runs have failed so far.
    """

    seconds: float
    all_seconds: float
    runs: int
    all_runs: int
    now: Run | None = None
    failures: Mapping[Run, str] = MappingProxyType({})


@contextmanager
def show_bar(
    what: str, *, shown: bool = True, names: Mapping[Run, str] | None = None
) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on stderr for `carry_out`, with the name of what is under way: by default its kind.

    A run that fails while others continue is named at once, with its reason.
    """
    named: set[Run] = set()

    def describe(at: Progress) -> str:
        failed = f", {len(at.failures)} failed" if at.failures else ""
        name = "" if at.now is None else (names or {}).get(at.now, at.now.kind())
        return f"{at.runs} of {at.all_runs} runs{failed}" + f", now {name}" * (name not in ("", what))

    def show(at: Progress) -> None:
        for run in at.failures if shown and at.runs < at.all_runs else ():
            if run not in named:
                named.add(run)
                show_warning(f"{run.folder} failed: {at.failures[run]}")
        tell(at.seconds, at.all_seconds, describe(at))

    with track_progress(what, shown=shown) as tell:
        yield show
