"""Claims that are checked on each data set alone."""

from dataclasses import replace
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Verdict
from prunefield.papers.redman2025._nets import DATA

if TYPE_CHECKING:
    from pandas import DataFrame


def on_each(*claims: Claim) -> tuple[Claim, ...]:
    """Every claim once for each data set; its check and its null see the rows of that data set only."""
    return tuple(_on(claim, data) for data in DATA for claim in claims)


def _on(claim: Claim, data: str) -> Claim:
    null = claim.null
    return replace(
        claim,
        text=f"{claim.text} ({data})",
        check=lambda table: claim.check(rows(table, data=data)),
        null=None if null is None else lambda table: null(rows(table, data=data)),
    )


def judge(good: bool, observed: str, n: int, note: str = "") -> Verdict:
    """`reproduced` or `not reproduced`."""
    return Verdict("reproduced" if good else "not reproduced", observed, int(n), note)


def rows(table: "DataFrame", **equal: object) -> "DataFrame":
    """The rows whose columns have the given values."""
    import pandas

    for name, value in equal.items():
        table = pandas.DataFrame(table[table[name] == value])
    return table.reset_index(drop=True)


def column(table: "DataFrame", name: str) -> list[float]:
    """A column as plain numbers."""
    return [float(value) for value in table[name]]
