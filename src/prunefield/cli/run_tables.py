"""Tables of runs, as `runs list` and `--dry-run` print them."""

from collections.abc import Mapping, Sequence
from typing import Any

VARIES = "what varies"
KEPT = "\N{NO-BREAK SPACE}"  # where a line may not break
RUN_COLUMNS = ("run", "seed", VARIES, "item", "date", "size")


def make_run_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The cells of a run (`Plan.describe`, `describe_runs`) for RUN_COLUMNS; its kind is the beginning of its name."""
    from prunefield.core.sizes import show_bytes

    first, *others = row["items"] or ("",)
    items = first + (f" +{len(others)}" if others else "")
    size = "" if row["bytes"] is None else show_bytes(row["bytes"])
    seed = "" if row["seed"] is None else str(row["seed"])
    return row["run"], seed, row["varies"], items, row["date"] or "", size


def show_run_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of runs; where the terminal is too narrow for it, a block for each run, which ends with what varies."""
    from prunefield.core.terminal import find_width, shorten, show_table, wrap_lines

    (names, cells), width = drop_empty(columns, rows), find_width()
    place = names.index(VARIES) if VARIES in names else None
    if width is None or place is None:
        order = sorted(range(len(names)), key=lambda at: at == place)  # last: no other cell is padded to its length
        show_table([names[at] for at in order], [[row[at] for at in order] for row in cells])
        return
    others = sum(max(map(len, column)) + 2 for column in zip(names, *cells, strict=True) if column[0] != VARIES)
    most = max(24, width // 3, width - others)
    short = [[shorten(cell, most) if at == place else cell for at, cell in enumerate(row)] for row in cells]
    if sum(max(map(len, column)) + 2 for column in zip(names, *short, strict=True)) - 2 <= width:
        show_table(names, short)
        return
    for row in cells:
        told = dict(zip(names, row, strict=True))
        seed, varies = told.pop("seed", ""), told.pop(VARIES)
        if told.get("seconds"):
            told["seconds"] += " s"
        settings = ", ".join(filter(None, (f"seed {seed}" * bool(seed), varies)))
        facts = "  ".join(part.replace(" ", KEPT) for part in told.values() if part)
        lines = wrap_lines(facts, width, rest="    ") + wrap_lines(settings, width, first="    ")
        print("\n".join(lines).replace(KEPT, " "))


def drop_empty(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """A table without the columns that have no entry.

    >>> drop_empty(("run", "item"), [("a", ""), ("b", "")])
    (['run'], [['a'], ['b']])
    """
    kept = [place for place in range(len(columns)) if not rows or any(row[place] for row in rows)]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]
