"""Claim 3.2 of lufkin2024: localisation against the sign of the excess kurtosis."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.lufkin2024._kurtosis_grid import LONG, SHORT, average, imagine, list_runs, shuffle, tabulate
from prunefield.runs import Result, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LOCAL, DIFFUSE = 6.0, 3.0  # IPR × N, as in Fig. 3: a flat field has 1, noise 3
FAR = 1.0  # how far from 0 is "sufficiently"
SOURCES = ("simulated", "Eq. 5")


def _list_points(table: "DataFrame") -> "list[tuple[str, DataFrame]]":
    """Each source and setting with its models: IPR × N, mean and minimum."""
    found = []
    for source in SOURCES:
        for setting in (SHORT, LONG):
            points = average(table, source, setting)
            points = points.assign(mean=points["mean"] * points["size"], least=points["least"] * points["size"])
            found.append((f"{source}, ξ = {setting}", points))
    return found


def _check_negative(table: "DataFrame") -> Verdict:
    good, seen, n = True, [], 0
    for name, points in _list_points(table):
        far = points.query(f"excess <= -{FAR}")
        n += len(far)
        good = good and bool((far["least"] >= LOCAL).all())
        worst = far.loc[far["least"].idxmin()]
        seen.append(f"{name}: smallest IPR·N {worst['least']:.1f} ({worst['model']}, {worst['excess']:+.2f})")
    return Verdict("reproduced" if good else "not reproduced", "; ".join(seen), n)


def _check_positive(table: "DataFrame") -> Verdict:
    good, seen, n = True, [], 0
    for name, points in _list_points(table):
        far = points.query(f"excess >= {FAR}")
        n += len(far)
        good = good and bool((far["mean"] <= DIFFUSE).all())
        seen.append(f"{name}: " + ", ".join(f"{m} {v:.2f}" for m, v in zip(far["model"], far["mean"], strict=True)))
    return Verdict("reproduced" if good else "not reproduced", "mean IPR·N; " + "; ".join(seen), n)


def find_threshold(excess: np.ndarray, ipr: np.ndarray) -> float | None:
    """Where IPR × N falls through the midpoint of local and diffuse, by linear interpolation; None if it does not.

    >>> find_threshold(np.array([-2.0, -1.0, 0.0, 1.0]), np.array([20.0, 6.5, 2.5, 1.0]))
    -0.5
    """
    middle = (LOCAL + DIFFUSE) / 2
    above = ipr >= middle
    if not above[0] or above[-1] or (np.diff(above.astype(int)) > 0).any():
        return None
    last = int(np.flatnonzero(above)[-1])
    share = (ipr[last] - middle) / (ipr[last] - ipr[last + 1])
    return float(excess[last] + share * (excess[last + 1] - excess[last]))


def _check_sign(table: "DataFrame") -> Verdict:
    found = {}
    for name, points in _list_points(table):
        if name.startswith("simulated") and len(points) < 10:
            continue  # smoke simulates too few to say where
        for family, rows in points.groupby("family"):
            found[f"{family}, {name}"] = find_threshold(rows["excess"].to_numpy(), rows["mean"].to_numpy())
    seen = "; ".join(f"{name}: {'none' if at is None else format(at, '+.2f')}" for name, at in found.items())
    good = all(at is not None and abs(at) <= 0.5 for at in found.values())
    text = f"excess kurtosis at which IPR·N falls through {(LOCAL + DIFFUSE) / 2:g}: {seen}"
    return Verdict("reproduced" if good else "not reproduced", text, len(found))


def _mirror(table: "DataFrame") -> "DataFrame":
    """Positive excess kurtosis instead of negative."""
    return table.assign(excess=-table["excess"])


class Claim3_2(Item):
    """Claim 3.2 of lufkin2024 (§3.2): sufficiently negative excess kurtosis localises, sufficiently positive does not.

    The runs are those of Fig. 5, simulated and integrated.
    """

    title = "Localisation against the sign of the excess kurtosis"
    open_choices = (
        "'sufficiently' means an excess kurtosis at least 1 below or above 0; this and the criteria below were "
        "written after a first, noisier grid (batch 100) had been seen",
        "'localised' means IPR ≥ 6/N for every field, 'not localised' a mean IPR ≤ 3/N, the value for noise",
        "the threshold is where the mean IPR crosses 4.5/N; 'near 0' means within 0.5",
        "grid, lengthscales and sizes as in fig5; smoke scale simulates too few models to locate the threshold",
    )
    claims = (
        Claim(
            "Data with sufficiently negative excess kurtosis give localised fields",
            "Claim 3.2",
            "localised: every IPR·N ≥ 6",
            _check_negative,
            shuffle,
        ),
        Claim(
            "Data with sufficiently positive excess kurtosis do not give localised fields",
            "Claim 3.2",
            "not localised: mean IPR·N ≤ 3",
            _check_positive,
            _mirror,
        ),
        Claim(
            "To a first approximation the sign of the excess kurtosis determines whether a field localises",
            "Appendix B.1; §3.2",
            "a threshold within 0.5 of 0",
            _check_sign,
            _mirror,
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return list_runs(scale)

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        return tabulate(results)

    def ideal(self) -> "DataFrame":
        return imagine()

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        for axis, setting in zip(figure.subplots(1, 2, sharey=True), (SHORT, LONG), strict=True):
            for source, mark in zip(SOURCES, ("o", "-"), strict=True):
                for family, colour in (("NLGP", "#0072B2"), ("Kur", "#D55E00")):
                    points = average(table, source, setting).query(f"family == '{family}'")
                    label = f"{family}, {source}"
                    axis.plot(points["excess"], points["mean"] * points["size"], mark, color=colour, label=label)
            for level in (DIFFUSE, LOCAL):
                axis.axhline(level, color="#777777", linewidth=0.5)
            axis.axvspan(-FAR, FAR, color="#eeeeee")
            axis.set_yscale("log")
            axis.set_title(f"lengthscales {setting[0]:g} and {setting[1]:g}")
            axis.set_xlabel("excess kurtosis (closed form)")
        figure.axes[0].set_ylabel("IPR × N at the end (3: noise, 6: local)")
        figure.axes[0].legend(frameon=False)
        return figure
