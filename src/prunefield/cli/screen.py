"""What a person sees in the terminal: tables on stdout, progress on stderr."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from prunefield.lab.execution import Progress as Standing

PAUSE = 2.0  # seconds between lines of progress
COLOURS = {"reproduced": "green", "corrected": "cyan", "not reproduced": "red"}


class Terminal(Console):
    """Standard output whose reader may close it, as `head` does: rich would end the program with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Standard output; where it is not a terminal, wide enough that nothing is truncated."""
    return Terminal() if sys.stdout.isatty() else Terminal(width=160)


def show_warning(message: str) -> None:
    """One line on stderr."""
    print(f"prunefield: {message}", file=sys.stderr)


def show(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """Prints a plain table."""
    if title:
        print(title)
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    console().print(table)


def show_ledger(claims: Sequence[Mapping[str, Any]]) -> None:
    """Prints the claims (`Row.as_json`): what the paper says, what was observed, the verdict, and that of the null."""
    table = Table(title="Ledger of claims", title_justify="left", header_style="bold", show_lines=True)
    for name, ratio in (("item", 2), ("claim", 5), ("paper", 3), ("observed", 5), ("verdict", 2), ("null", 2)):
        table.add_column(name, ratio=ratio, overflow="fold")
    table.add_column("n", justify="right")
    for claim in claims:
        status = claim["status"]
        table.add_row(
            f"{claim['item']}\n{claim['scale']}",
            escape(f"{claim['text']} ({claim['where']})"),
            escape(claim["expected"]),
            escape("\n".join(filter(None, (claim["observed"], claim["note"])))),
            f"[{COLOURS.get(status, 'yellow')}]{status}[/]",
            "–" if claim["null"] is None else claim["null"]["status"],
            str(claim["n"]),
        )
    console().print(table)
    counts = Counter(claim["status"] for claim in claims)
    console().print(
        f"{len(claims)} claims: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    )


@contextmanager
def progress(what: str) -> Iterator[Callable[[Standing], None]]:
    """A bar on stderr with the time that is left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[runs]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    task = bar.add_task(what, total=None, runs="starting")

    def tell(standing: Standing) -> None:
        runs = f"{standing.runs} of {standing.all_runs} runs"
        bar.update(task, completed=standing.seconds, total=standing.all_seconds, runs=runs)
        bar.start()  # not before: what is refused at once gets its one line and no bar

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def count_iterations(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr for a known number of steps; where that is not a terminal, a line every few seconds."""
    console, last = Console(stderr=True), monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what)

    def tell(done: int, total: int) -> None:
        nonlocal last
        if console.is_terminal:
            bar.update(task, completed=done, total=total)
            bar.start()
        elif done < total and monotonic() - last >= PAUSE:
            last = monotonic()
            print(f"{what}: {done} of {total} iterations", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()


def show_duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> show_duration(0.5), show_duration(90), show_duration(7200), show_duration(200_000)
    ('0.5 s', '1.5 min', '2.0 h', '56 h')
    """
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 3600:.1f} h" if seconds < 36_000 else f"{seconds / 3600:.0f} h"
