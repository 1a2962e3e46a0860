"""Claim 3.2 of lufkin2024: localisation against the sign of the excess kurtosis."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge, numbers, rows
from prunefield.papers._kit import GREY
from prunefield.papers.lufkin2024._fields import LOCAL, NOISE
from prunefield.papers.lufkin2024._kurtosis_grid import (
    FAMILIES,
    LONG,
    SHORT,
    average,
    imagine,
    list_grid,
    shuffle,
    tabulate,
)
from prunefield.runs import Result, Run

MIDDLE = (LOCAL + NOISE) / 2
FAR = 1.0  # how far from 0 is "sufficiently"
SOURCES = ("simulated", "Eq. 5")


def list_points(table: Frame) -> dict[str, Frame]:
    """Each source and setting with its models: IPR × N, mean and minimum."""
    averages = {
        f"{source}, ξ = {lengthscales}": average(table, source, lengthscales)
        for source in SOURCES
        for lengthscales in (SHORT, LONG)
    }
    return {
        name: points.assign(mean=points["mean"] * points["size"], least=points["least"] * points["size"])
        for name, points in averages.items()
    }


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


def mirror(table: Frame) -> Frame:
    """The null: positive excess kurtosis instead of negative."""
    return table.assign(excess=-table["excess"])


class Claim3_2(Item):
    """Claim 3.2 of lufkin2024 (§3.2): sufficiently negative excess kurtosis localises, sufficiently positive does not.

    The runs are those of Fig. 5, simulated and integrated.
    """

    title = "Localisation against the sign of the excess kurtosis"
    size = (10, 4)
    open_choices = (
        "'sufficiently' means an excess kurtosis at least 1 below or above 0; this and the criteria below were "
        "written after a first, noisier grid (batch 100) had been seen",
        "'localised' means IPR ≥ 6/N for every field, 'not localised' a mean IPR ≤ 3/N, the value for noise",
        "the threshold is where the mean IPR crosses 4.5/N; 'near 0' means within 0.5",
        "grid, lengthscales and sizes as in fig5; smoke scale simulates too few models to locate the threshold",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return list_grid(scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate(results)

    def ideal(self) -> Frame:
        return imagine()

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
        seen = "; ".join(
            f"{name}: "
            + ", ".join(f"{model} {mean:.2f}" for model, mean in zip(part["model"], part["mean"], strict=True))
            for name, part in parts.items()
        )
        good = all((part["mean"] <= NOISE).all() for part in parts.values())
        return judge(good, f"mean IPR·N; {seen}", sum(map(len, parts.values())))

    @claim(
        "To a first approximation the sign of the excess kurtosis determines whether a field localises",
        at="Appendix B.1; §3.2",
        expect="a threshold within 0.5 of 0",
        null=mirror,
        decided_at="laptop",
    )
    def threshold_at_zero(table: Frame) -> Verdict:
        found = {
            f"{family}, {name}": find_threshold(numbers(part, "excess"), numbers(part, "mean"))
            for name, points in list_points(table).items()
            if name.startswith("Eq. 5") or len(points) >= 10  # smoke simulates too few to say where
            for family, part in points.groupby("family")
        }
        seen = "; ".join(f"{name}: {'none' if at is None else format(at, '+.2f')}" for name, at in found.items())
        good = all(at is not None and abs(at) <= 0.5 for at in found.values())
        return judge(good, f"excess kurtosis at which IPR·N falls through {MIDDLE:g}: {seen}", len(found))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for axes, lengthscales in zip(figure.subplots(1, 2, sharey=True), (SHORT, LONG), strict=True):
            for source, mark in zip(SOURCES, ("o", "-"), strict=True):
                for family, colour in FAMILIES.items():
                    points = rows(average(table, source, lengthscales), family=family)
                    local = points["mean"] * points["size"]
                    axes.plot(points["excess"], local, mark, color=colour, label=f"{family}, {source}")
            for level, name in ((NOISE, "noise"), (LOCAL, "local from here on")):
                axes.axhline(level, color=GREY, linewidth=0.8, linestyle="--")
                axes.text(0.99, level, name, ha="right", va="bottom", transform=axes.get_yaxis_transform(), color=GREY)
            axes.axvspan(-FAR, FAR, color=GREY, alpha=0.12, linewidth=0, label="near 0: not judged")
            axes.set_title("lengthscales {:g} and {:g}".format(*lengthscales))
            axes.set(yscale="log", xlabel="excess kurtosis (closed form)")
        figure.axes[0].set_ylabel("IPR × N at the end")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
