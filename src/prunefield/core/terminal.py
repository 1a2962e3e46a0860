"""What a person reads in the terminal: plain tables on stdout, warnings on stderr."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def open_console() -> "Console":
    """Standard output; where it is not a terminal, wide enough that nothing is truncated."""
    from rich.console import Console

    class Terminal(Console):
        """Standard output whose reader may close it, as `head` does: rich would end the program with status 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Terminal(force_jupyter=False, width=None if sys.stdout.isatty() else 160)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """Prints a plain table."""
    from rich.markup import escape
    from rich.table import Table

    if title:
        print(title)
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(escape(_show_cell(cell)) for cell in row))
    open_console().print(table)


def _show_cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_warning(message: str) -> None:
    """One line on stderr."""
    print(f"prunefield: {message}", file=sys.stderr)


def show_duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> show_duration(0.5), show_duration(90), show_duration(7200), show_duration(200_000)
    ('0.5 s', '1.5 min', '2.0 h', '56 h')
    """
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 3600:.1f} h" if seconds < 36_000 else f"{seconds / 3600:.0f} h"
