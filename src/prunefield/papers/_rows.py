"""Rows and columns of an item's table, with the types that pandas' own selections lose."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame


def rows(table: "DataFrame", **equal: object) -> "DataFrame":
    """The rows whose columns have the given values."""
    import pandas

    for name, value in equal.items():
        table = pandas.DataFrame(table[table[name] == value])
    return table.reset_index(drop=True)


def column(table: "DataFrame", name: str) -> list[float]:
    """A column as plain numbers."""
    return [float(value) for value in table[name]]
