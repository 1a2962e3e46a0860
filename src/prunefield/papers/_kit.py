"""What items are made with: tables from results, rows and columns of them, and the colours of all figures."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, TypeVar

from matplotlib.axes import Axes
from numpy import logical_and, ndarray
from pandas import DataFrame, Series, concat

from prunefield.core.figures import BLACK, BLUE, GREEN, GREY, ORANGE, PALETTE, PURPLE, SEQUENCE, SKY, VERMILION
from prunefield.runs import Result, Run

__all__ = [
    "BLACK", "BLUE", "GREEN", "GREY", "NOT_SHIPPED", "ORANGE", "PALETTE", "PURPLE", "SEQUENCE", "SKY", "VERMILION",
    "Frame", "Row", "explain_no_tensors", "gather", "has_tensors", "numbers", "replace_rows", "rows",
]  # fmt: skip
R = TypeVar("R", bound=Run)
Row = dict[str, Any]
NOT_SHIPPED = "not among the published values"  # instead of panels that show tensors
Frame = Any  # a DataFrame: pandas' own types cannot follow a selection of a selection


def gather(
    results: Mapping[Run, Result], make: Callable[[R, Result], Iterable[Row]], on: type[R] | tuple[type[R], ...]
) -> Frame:
    """One table of the rows that `make` gives for every finished run of the kinds `on`, in the order of the runs."""
    return DataFrame([row for run, result in results.items() if isinstance(run, on) for row in make(run, result)])


def has_tensors(result: Result) -> bool:
    """Whether a result has its masks and weights; kept values of published runs have none."""
    return any(record.tensors for record in result.records)


def explain_no_tensors(axes: Axes, what: str, *, in_one_line: bool = False) -> None:
    """Leaves a panel empty, with a line that says why; in one line also what it would have been."""
    if not in_one_line:
        axes.set_title(what)
    line = f"{what}: {NOT_SHIPPED}" if in_one_line else NOT_SHIPPED
    words = axes.text(0, 0.5, line, color=GREY, va="center", transform=axes.transAxes)
    words.set_in_layout(False)  # it does not decide how wide the panels are
    axes.set_axis_off()


def rows(table: Frame, **equal: object) -> Frame:
    """The rows whose columns have the given values (one of them, where a tuple is given).

    >>> rows(DataFrame({"net": ["a", "b"], "seed": [0, 1]}), net="b")["seed"].tolist()
    [1]
    """
    wanted = {name: value if isinstance(value, tuple) else (value,) for name, value in equal.items()}
    kept = [table[name].isin(values).to_numpy() for name, values in wanted.items()]
    return (table[logical_and.reduce(kept)] if kept else table).reset_index(drop=True)  # one copy, not one a column


def numbers(table: Frame, name: str) -> ndarray:
    """A column as numbers."""
    return table[name].to_numpy(dtype=float)


def replace_rows(old: Row, by: Row) -> Callable[[Frame], Frame]:
    """A null: the rows with the values `by` instead of those with the values `old`, which they take.

    Where a tuple is given in `old`, instead of those with each of its values.

    >>> table = DataFrame({"net": ["a", "b", "c"], "seed": [0, 1, 2]})
    >>> replace_rows({"net": ("a", "b")}, by={"net": "c"})(table).to_numpy().tolist()
    [['c', 2], ['a', 2], ['b', 2]]
    """

    def replace(table: Frame) -> Frame:
        for values in product(*(value if isinstance(value, tuple) else (value,) for value in old.values())):
            names = dict(zip(old, values, strict=True))
            others = table[(table[list(names)] != Series(names)).any(axis=1)]
            table = concat([others, rows(table, **by).assign(**names)], ignore_index=True)
        return table

    return replace
