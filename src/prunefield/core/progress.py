"""The one progress bar: on stderr, in a terminal, in a notebook, or as lines now and then in a file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

PAUSE = 2.0  # seconds between lines in a file; later a twentieth of the time so far
BLINK = 0.2  # seconds between two pictures of the bar in a notebook


class Tell(Protocol):
    """Called with the amount done and the total, and optionally with a better text than "3 of 9 iterations"."""

    def __call__(self, done: float, total: float, note: str | None = None) -> None: ...


@contextmanager
def track_progress(what: str, *, unit: str = "iterations", shown: bool = True) -> Iterator[Tell]:
    """A bar that appears when the yielded function is first called, so that an immediate error shows no bar."""
    begun = last = monotonic()
    printed = ""
    is_terminal, is_notebook = sys.stderr.isatty(), "ipykernel" in sys.modules
    bar: Progress | bool = False  # in a notebook whether there is one

    def tell(done: float, total: float, note: str | None = None) -> None:
        nonlocal bar, last, printed
        done = max(done, 0.0)  # a rounding error below zero is no progress
        text, now = note or f"{done:g} of {total:g} {unit}", monotonic()
        if is_terminal:
            bar = _open_bar(what) if isinstance(bar, bool) else bar
            bar.update(bar.task_ids[0], completed=done, total=total or None, note=text)
        elif is_notebook and (now - last >= BLINK or done >= total or not bar):
            bar, last = True, now
            full = int(30 * min(done / total, 1)) if total else 0
            print(f"\r{what} {'━' * full}{'╌' * (30 - full)} {text}  ", end="", file=sys.stderr, flush=True)
        elif not is_notebook and done < total and now - last >= max(PAUSE, 0.05 * (now - begun)):
            last, line = now, f"{what}: {text} ({done / total:.0%})"
            if line != printed:  # a line that says nothing new is not repeated
                print(line, file=sys.stderr, flush=True)
            printed = line

    try:
        yield tell if shown else lambda done, total, note=None: None
    finally:
        if bar is True:
            print(file=sys.stderr)
        elif bar:
            bar.stop()


def _open_bar(what: str) -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    bar.add_task(what, total=None, note="")
    bar.start()
    return bar
