"""Assumptions A1 and A2 of lufkin2024: the mean and the variance of a pixel, given another."""

from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import BLUE, GREY, VERMILION
from prunefield.runs import Result, Run
from prunefield.runs.conditioning import Conditioning
from prunefield.tasks import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

TASKS: tuple[Discrimination, ...] = (
    Ising(size=10),
    *(Nlgp(g=g) for g in (0.01, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0, 100.0)),
    *(Kur(k=k) for k in (4.5, 5.0, 6.0, 8.0, 10.0, 30.0, 100.0)),
)
EXACT, CLOSE, DISTANCES = 1e-3, 0.1, (1, 2, 3)
WHY = "For finite g the last digits of x near ±1 still reveal the Gaussian field; on the hypercube they do not."


def describe_pairs(run: Conditioning, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each distance."""
    task = run.task
    for record in result.records:
        yield {"model": task.title, "kind": task.kind(), "excess": task.kurtosis() - 3, **record.values}


def find_worst(part: Frame) -> Frame:
    """The largest gaps of each model over the distances, by kurtosis."""
    groups = part.groupby("model", as_index=False)
    return groups[["excess", "mean", "variance"]].max().sort_values("excess", ignore_index=True)


class Assumptions(Item):
    """Assumptions A1 and A2 of lufkin2024 (§3.1), exactly, for Ising, NLGP and Kur data."""

    title = "Assumptions A1 and A2, pixel by pixel"
    size = (9, 4.8)
    open_choices = (
        "A1 for pairs of pixels: the share of the variance of E[Y | X] that is not linear in X; A2 for the variance: "
        "the standard deviation of Var[Y | X = x] over x, divided by its mean. Both are 0 where the assumption holds",
        "by quadrature for NLGP and Kur with ξ₁ = 3, by enumerating all states for 10 spins; distances of 1 to 3 sites",
        "criteria, set before anything was run: 'exactly' means gaps below 0.001, a good approximation below 0.1",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Conditioning(task=task, distances=DISTANCES) for task in TASKS]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_pairs, Conditioning)

    def ideal(self) -> Frame:
        """Both assumptions hold for all data."""
        found = [{"model": task.title, "kind": task.kind(), "excess": task.kurtosis() - 3} for task in TASKS]
        table = DataFrame(found).merge(DataFrame({"distance": DISTANCES}), how="cross")
        return table.assign(correlation=0.5, mean=0.0, variance=0.0)

    @claim(
        "A1 and A2 hold on the hypercube and for Gaussian data",
        at="§3.1",
        expect="both exactly, for Ising at any J and for NLGP with g ≈ 0",
        null=lambda table: table.assign(mean=0.05),
    )
    def hold_in_the_limits(table: Frame) -> Verdict:
        worst = find_worst(rows(table, model=("Ising", "NLGP(0.01)")))
        seen = "; ".join(
            f"{row['model']}: A1 {row['mean']:.1e}, A2 {row['variance']:.1e}" for _, row in worst.iterrows()
        )
        return judge(worst[["mean", "variance"]].max().max() <= EXACT, f"largest gaps: {seen}", len(worst))

    @claim(
        "{which} approximates {family} data of any kurtosis",
        at="our question; §3.1 claims it for the two limits",
        expect="gaps below 0.1 for every law",
        null=lambda table: table.assign(mean=0.5, variance=0.5),
        each=[{"which": which, "family": family} for family in ("NLGP", "Kur") for which in ("A1", "A2")],
    )
    def approximate(table: Frame, which: str, family: str) -> Verdict:
        worst = find_worst(rows(table, kind=family.lower()))
        column = {"A1": "mean", "A2": "variance"}[which]
        seen = ", ".join(f"{row['model']} {row[column]:.3f}" for _, row in worst.iterrows())
        good = worst[column].max() <= CLOSE
        return judge(good, f"largest gaps: {seen}", len(worst), "" if good or family == "Kur" else WHY)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        gaps = {"mean": "share of Var E[Y | X] not linear in X", "variance": "deviation of Var[Y | X] ÷ its mean"}
        for axes, column, name in zip(figure.subplots(1, 2), gaps, ("A1", "A2"), strict=True):
            for label, colour, mark in (("NLGP", BLUE, "o-"), ("Kur", VERMILION, "o-"), ("Ising", GREY, "s")):
                worst = find_worst(rows(table, kind=label.lower()))
                axes.plot(worst["excess"], worst[column], mark, color=colour, label=label)
            axes.axhline(CLOSE, color=GREY, linewidth=0.8, linestyle="--", label=f"criterion: at most {CLOSE:g}")
            axes.set(xlabel="excess kurtosis of a pixel", ylabel=gaps[column], title=f"gap of {name} (0: it holds)")
        figure.axes[0].legend()
