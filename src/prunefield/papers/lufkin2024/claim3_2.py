"""Claim 3.2 of lufkin2024: localisation against the sign of the excess kurtosis."""

from collections.abc import Mapping
from itertools import product

import numpy as np
from matplotlib.figure import Figure

from prunefield.core.figures import pick_shade
from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge, numbers, rows
from prunefield.papers._kit import GREY
from prunefield.papers.lufkin2024._fields import LOCAL, NOISE
from prunefield.papers.lufkin2024._kurtosis_grid import (
    FAMILIES,
    LONG,
    REST_CHOICE,
    SHORT,
    SOURCES,
    average,
    find_largest,
    imagine_grid,
    list_grid,
    require_rest,
    shuffle,
    tabulate_grid,
)
from prunefield.runs import Result, Run

MIDDLE = (LOCAL + NOISE) / 2
FAR = 1.0  # how far from 0 is "sufficiently"
FIXED, GROWING = 0.1, 0.9  # exponents of the width against N: of local fields, and of others
SETTINGS = tuple(product(SOURCES, (SHORT, LONG)))


def list_points(table: Frame, size: int | None = None) -> dict[str, Frame]:
    """Each source, setting and number of sites (or those of this number) with its models: IPR × N, mean and minimum."""
    found = {}
    for (source, lengthscales), sites in product(SETTINGS, sorted(table["size"].unique())):
        points = average(table, source, lengthscales, sites)
        if len(points) and size in (None, sites):
            name = f"{source}, ξ = {lengthscales}, N = {sites}"
            found[name] = points.assign(mean=points["mean"] * sites, least=points["least"] * sites)
    return found


def measure_growth(table: Frame) -> dict[str, Frame]:
    """The exponent of the width 1/IPR against N, from the two largest N of each source and setting, for each model."""
    found = {}
    for source, lengthscales in SETTINGS:
        sizes = sorted(rows(table, source=source)["size"].unique())[-2:]
        if len(sizes) == 2:
            small, large = (average(table, source, lengthscales, size) for size in sizes)
            pairs = small.merge(large, on=["family", "model"], suffixes=("_small", ""))
            growth = np.log(pairs["mean_small"] / pairs["mean"]) / np.log(sizes[1] / sizes[0])
            found[f"{source}, ξ = {lengthscales}"] = pairs.assign(
                growth=growth, width=1 / pairs["mean"] / lengthscales[1]
            )
    return found


def find_threshold(excess: np.ndarray, ipr: np.ndarray) -> float | None:
    """Where IPR × N falls through the midpoint of local and diffuse, by linear interpolation; None if it does not.

    >>> find_threshold(np.array([-2.0, -1.0, 0.0, 1.0]), np.array([20.0, 6.5, 2.5, 1.0]))
    -0.5
    """
    above = ipr >= MIDDLE
    if not above[0] or above[-1] or (np.diff(above.astype(int)) > 0).any():
        return None
    last = int(np.flatnonzero(above)[-1])
    share = (ipr[last] - MIDDLE) / (ipr[last] - ipr[last + 1])
    return float(excess[last] + share * (excess[last + 1] - excess[last]))


def find_thresholds(table: Frame, source: str, least: int = 0) -> dict[str, float | None]:
    """The threshold of each family, at both lengthscales and every number of sites from `least` on."""
    return {
        f"{family}, {name}": find_threshold(numbers(part, "excess"), numbers(part, "mean"))
        for name, points in list_points(table[table["size"] >= least]).items()
        if name.startswith(source)
        for family, part in points.groupby("family")
    }


def find_extremes(table: Frame) -> list[float]:
    """For each source and setting the largest exponent of the width below an excess kurtosis of −1, and the smallest
    above +1.
    """
    found: list[float] = []
    for pairs in measure_growth(table).values():
        low, high = (pairs["growth"][side] for side in (pairs["excess"] <= -FAR, pairs["excess"] >= FAR))
        found += [low.max(), high.min()]
    return found


def mirror(table: Frame) -> Frame:
    """The null: positive excess kurtosis instead of negative."""
    return table.assign(excess=-table["excess"])


class Claim3_2(Item):
    """Claim 3.2 of lufkin2024 (§3.2): sufficiently negative excess kurtosis localises, sufficiently positive does not.

    The runs are those of Fig. 5, simulated and integrated.
    """

    title = "Localisation against the sign of the excess kurtosis"
    size = (10, 7)
    scales = ("smoke", "laptop", "night", "paper")
    open_choices = (
        "'sufficiently large N': 160 sites simulated, 160 and 400 by Eq. 5, from night scale on, in addition to the 40 "
        "of other figures; the threshold is judged there",
        "a local field has a width 1/IPR that does not grow with N (an exponent of at most 0.1; 0.9 and more for "
        "others), which was set before these sizes were run; the width is given in units of ξ₁",
        "'sufficiently' means an excess kurtosis at least 1 below or above 0; this and the criteria below were "
        "written after a first, noisier grid (batch 100) had been seen",
        "'localised' means IPR ≥ 6/N for every field, 'not localised' a mean IPR ≤ 3/N, the value for noise",
        "the threshold is where the mean IPR crosses 4.5/N; 'near 0' means within 0.5; at N = 40 it was not, which was "
        "known before larger N were run",
        REST_CHOICE,
        "grid and lengthscales as in fig5; smoke scale simulates too few models to locate the threshold",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return list_grid(scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_grid(results)

    def ideal(self) -> Frame:
        return imagine_grid()

    @claim(
        "Data with sufficiently negative excess kurtosis give localised fields",
        at="Claim 3.2",
        expect="localised: every IPR·N ≥ 6",
        null=shuffle,
        highlight=True,
    )
    def localised(table: Frame) -> Verdict:
        parts = {name: points[points["excess"] <= -FAR] for name, points in list_points(table).items()}
        worst = {name: part.loc[part["least"].idxmin()] for name, part in parts.items()}
        seen = "; ".join(
            f"{name}: smallest IPR·N {row['least']:.1f} ({row['model']}, {row['excess']:+.2f})"
            for name, row in worst.items()
        )
        return judge(all(row["least"] >= LOCAL for row in worst.values()), seen, sum(map(len, parts.values())))

    @claim(
        "Data with sufficiently positive excess kurtosis do not give localised fields",
        at="Claim 3.2",
        expect="not localised: mean IPR·N ≤ 3",
        null=mirror,
    )
    def not_localised(table: Frame) -> Verdict:
        parts = {name: points[points["excess"] >= FAR] for name, points in list_points(table).items()}
        worst = {name: part.loc[part["mean"].idxmax()] for name, part in parts.items()}
        seen = "; ".join(f"{name}: {row['mean']:.2f} ({row['model']})" for name, row in worst.items())
        good = all(row["mean"] <= NOISE for row in worst.values())
        return judge(good, f"largest mean IPR·N; {seen}", sum(map(len, parts.values())))

    @claim(
        "The width of a local field does not depend on N, whereas that of other fields is proportional to N",
        at="Claim 3.2, sufficiently large N",
        expect="width 1/IPR ∝ N⁰ below an excess kurtosis of −1 (criterion: exponent ≤ 0.1), ∝ N above +1 (≥ 0.9)",
        null=mirror,
        decided_at="night",
    )
    def fixed_widths(table: Frame) -> Verdict:
        seen, n = [], 0
        extremes = find_extremes(table)
        good = [low <= FIXED and high >= GROWING for low, high in zip(extremes[::2], extremes[1::2], strict=True)]
        for name, pairs in measure_growth(table).items():
            low, high = pairs[pairs["excess"] <= -FAR], pairs[pairs["excess"] >= FAR]
            seen.append(
                f"{name}: exponents up to {low['growth'].max():+.2f} below −1 (widths of {low['width'].min():.1f} to "
                f"{low['width'].max():.1f} ξ₁), from {high['growth'].min():+.2f} above +1"
            )
            n += len(low) + len(high)
        verdict = judge(good and all(good), "; ".join(seen) or "0 pairs of sizes", max(n, 1))
        return require_rest(verdict, table, find_extremes)

    @claim(
        "To a first approximation the sign of the excess kurtosis determines whether a field localises ({source})",
        at="Appendix B.1; §3.2",
        expect="a threshold within 0.5 of 0, for sufficiently large N",
        null=mirror,
        decided_at="night",
        each=[{"source": source} for source in SOURCES],
    )
    def threshold_at_zero(table: Frame, source: str) -> Verdict:
        found = find_thresholds(table, source)
        seen = "; ".join(f"{name}: {'none' if at is None else format(at, '+.2f')}" for name, at in found.items())
        large = find_thresholds(table, source, find_largest(table)).values()
        good = all(at is not None and abs(at) <= 0.5 for at in large)
        verdict = judge(good, f"excess kurtosis at which IPR·N falls through {MIDDLE:g}: {seen}", len(large))
        return require_rest(verdict, table, lambda one: find_thresholds(one, source, find_largest(table)).values())

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        sizes = sorted(table["size"].unique())
        grid = figure.subplots(2, 2, sharex=True, sharey="row")
        for (above, below), lengthscales in zip(grid.T, (SHORT, LONG), strict=True):
            for source, size in product(SOURCES, sizes):
                for family, mark in zip(FAMILIES, ("o", "^"), strict=True):
                    points = rows(average(table, source, lengthscales, size), family=family)
                    look = {"color": pick_shade(sizes.index(size), len(sizes)), "markersize": 4}
                    look |= {"linestyle": "none"} if source == "simulated" else {"marker": "none", "linewidth": 1}
                    label = f"{family}, {source}, N = {size}" if len(points) else None
                    line = {"Kur": "--", "NLGP": "-"}[family]
                    style = {"marker": mark} if source == "simulated" else {"linestyle": line}
                    for axes, values in ((above, points["mean"] * size), (below, 1 / points["mean"] / lengthscales[1])):
                        axes.plot(points["excess"], values, **(look | style), label=label)
            for level, name in ((NOISE, "noise"), (LOCAL, "local from here on")):
                above.axhline(level, color=GREY, linewidth=0.8, linestyle="--")
                above.text(
                    0.99, level, name, ha="right", va="bottom", transform=above.get_yaxis_transform(), color=GREY
                )
            for axes in (above, below):
                axes.axvspan(-FAR, FAR, color=GREY, alpha=0.12, linewidth=0, label="near 0: not judged")
                axes.set_yscale("log")
            above.set_title("lengthscales {:g} and {:g}".format(*lengthscales))
            below.set_xlabel("excess kurtosis (closed form)")
        grid[0, 0].set_ylabel("IPR × N at the end")
        grid[1, 0].set_ylabel("width 1/IPR of the field, in ξ₁")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
