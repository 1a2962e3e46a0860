"""Means over seeds with 95% intervals: as columns of the tables of redman2025 and as thin bars in its drawings."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from prunefield.measures.differences import estimate_mean
from prunefield.papers import Frame
from prunefield.papers._kit import GREY

INTERVAL_CHOICE = (
    "Over seeds: the mean, with minimum and maximum as in the paper (bands), and the 95% confidence interval of the "
    "mean by Student's t (thin bars; columns `_low` and `_high`). With three seeds it is wide (t = 4.30). With two "
    "(t = 12.7) it is in the table but not drawn; with one there is none."
)
DRAWN = 3  # seeds from which on an interval is drawn: that of two would dwarf everything else


def add_intervals(table: Frame, names: Iterable[str], by: Sequence[str]) -> Frame:
    """The table with the interval of the mean over seeds of each named column; rows that are alike in `by` share it.

    >>> import pandas
    >>> table = pandas.DataFrame({"round": [0, 0, 0, 1], "width": [1.0, 1.5, 0.5, 2.0]})
    >>> add_intervals(table, ["width"], ["round"])["width_low"].round(3).tolist()
    [-0.242, -0.242, -0.242, nan]
    """
    groups = table.groupby(list(by), dropna=False, sort=False)
    added = {}
    for name in names:
        for side in ("low", "high"):
            added[f"{name}_{side}"] = groups[name].transform(lambda values, side=side: _bound(values, side))
    return table.assign(**added)


def _bound(values: Iterable[float], side: str) -> float:
    found = _finite(values)
    return getattr(estimate_mean(found), side) if found else math.nan


def _finite(values: Iterable[float]) -> list[float]:
    return [float(value) for value in values if not math.isnan(value)]


def draw_intervals(axes: Axes, places: Sequence[Any], values: Iterable[Iterable[float]], colour: Any) -> None:
    """A thin bar at each point that has values of enough seeds."""
    found = [(place, kept) for place, row in zip(places, values, strict=True) if len(kept := _finite(row)) >= DRAWN]
    if found:
        where, low, high = zip(*((place, *estimate_mean(row)[1:]) for place, row in found), strict=True)
        axes.vlines(where, low, high, colors=colour, linewidth=0.6, alpha=0.7)


def explain_band(axes: Axes) -> None:
    """Entries of the legend for what `draw_mean` draws around a mean."""
    has_bars = any(isinstance(part, LineCollection) for part in axes.collections)
    axes.fill_between([], [], [], color=GREY, alpha=0.3, linewidth=0, label="band: range over seeds")
    if has_bars:
        axes.plot([], [], color=GREY, linewidth=0.8, label="thin bar: 95% interval of the mean")


def draw_mean(axes: Axes, places: Sequence[float], values: Frame, colour: Any, label: str, **line: Any) -> None:
    """The mean of `values` (points down, seeds across) with minimum and maximum as a band, and its intervals."""
    axes.fill_between(places, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.2, linewidth=0)
    draw_intervals(axes, places, values.to_numpy().tolist(), colour)
    axes.plot(places, values.mean(axis=1), color=colour, label=label, **{"marker": "o", "markersize": 4, **line})
