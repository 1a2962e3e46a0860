"""What a person reads in the terminal: tables that fit it, plain lines where there is none, warnings on stderr."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from prunefield.core.errors import show_line

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST = 40  # columns; nothing is laid out for less
THINNEST = 14  # characters of a column of folded text; where there is no room for them, a row is a block of lines


def find_width() -> int | None:
    """The columns of standard output: COLUMNS, or those of the terminal; None for a file or a pipe, which has none."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked[:6]) > 0:
        return max(NARROWEST, int(asked[:6]))
    if not sys.stdout.isatty():
        return None
    return max(NARROWEST, shutil.get_terminal_size().columns)


def open_console() -> "Console":
    """Standard output as rich writes it, as wide as `find_width` says."""
    from rich.console import Console

    class Terminal(Console):
        """Standard output whose reader may close it, as `head` does: rich would end the program with status 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Terminal(force_jupyter=False, width=find_width() or 160, highlight=False)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """Prints a plain table: one line per row in a pipe; in a terminal, cells that are too long are folded at words, and
    where that would leave narrow columns, every row is a block with a line for each of its cells.
    """
    cells = [list(columns), *([_show_cell(cell) for cell in row] for row in rows)]
    if title:
        print(title)
    limit = find_width()
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    whole = list(widths)
    while limit is not None and sum(widths) + 2 * (len(widths) - 1) > limit and max(widths[1:], default=0) > 8:
        widths[widths.index(max(widths[1:]), 1)] -= 1  # the first column is a name: it stays whole to be copied
    thin = any(width < min(THINNEST, most) for width, most in zip(widths, whole, strict=True))
    if limit is not None and (thin or sum(widths) + 2 * (len(widths) - 1) > limit):
        print("\n".join(line for row in cells[1:] for line in _stack_row(columns, row, limit)))
        return
    print("\n".join(line for row in cells for line in _fold_row(row, widths)))


def _stack_row(columns: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    """A row as a block: its first cell, then the others that say something, each with the name of its column.

    >>> list(_stack_row(["data", "what", "licence"], ["ising", "spins on a ring", "–"], 18))
    ['ising', '  what: spins on a', '        ring']
    """
    yield row[0]
    for name, cell in zip(columns[1:], row[1:], strict=True):
        if cell not in ("", "–"):
            yield from wrap_lines(cell, width, first=f"  {name}: ")


def _fold_row(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a row.

    >>> list(_fold_row(["a", "long", "b"], [1, 2, 1]))
    ['a  lo  b', '   ng']
    """
    parts = [
        [cell] if len(cell) <= width else textwrap.wrap(cell, width, break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    for line in zip_longest(*parts, fillvalue=""):
        yield "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip()


def _show_cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else show_line(str(value))


def wrap_lines(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """A text in lines of at most `width` columns, the first with `first` before it and the others with `rest`.

    >>> wrap_lines("one two three", 10, first="- ")
    ['- one two', '  three']
    """
    indent = " " * len(first) if rest is None else rest
    look = {"initial_indent": first, "subsequent_indent": indent, "break_on_hyphens": False}
    return textwrap.wrap(text, width, **look) or [first.rstrip()]


def shorten(text: str, most: int) -> str:
    """The beginning of a text, at most this many characters.

    >>> shorten("a long text", 7)
    'a long…'
    """
    return text if len(text) <= most else f"{text[: max(0, most - 1)].rstrip(' ,')}…"


def show_warning(message: str) -> None:
    """One line on stderr."""
    print(f"prunefield: {message}", file=sys.stderr)


def count_things(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is one.

    >>> count_things(1, "run"), count_things(2_000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def show_duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> show_duration(0.5), show_duration(90), show_duration(7200), show_duration(200_000)
    ('0.5 s', '1.5 min', '2.0 h', '56 h')
    """
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 3600:.1f} h" if seconds < 36_000 else f"{seconds / 3600:.0f} h"
