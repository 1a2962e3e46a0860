"""Lemma B.1 of lufkin2024: the amplifier near 0, its derivatives and its cubic."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge, numbers, rows
from prunefield.papers._kit import BLACK, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.papers.lufkin2024._neurons import TASKS, solve_flows
from prunefield.papers.lufkin2024._pictures import draw_amplifier
from prunefield.runs import Result, Run
from prunefield.tasks import Discrimination
from prunefield.theory.amplifier import SLOPE, differentiate_amplifier, expand_amplifier

GRID = torch.linspace(-1, 1, 41, dtype=torch.float64)


def measure_derivatives(task: Discrimination) -> tuple[float, float]:
    """φ′(0) and φ‴(0) from values of φ alone: an odd polynomial through three points very near 0.

    >>> from prunefield.tasks.ising import Ising
    >>> [round(value, 4) for value in measure_derivatives(Ising())]
    [0.7979, 1.5958]
    """
    # A tail |x|⁻⁽ᵏ⁺¹⁾ adds a term |a|ᵏ⁻¹ to φ, for Kur(5) right after the cubic one: only small a tell them apart.
    a = torch.tensor([0.001, 0.002, 0.003], dtype=torch.float64)
    powers = a[:, None] ** torch.arange(1, 7, 2)
    found = torch.linalg.solve(powers, task.amplifier(a))
    return float(found[0]), 6 * float(found[1])


def describe_amplifier(task: Discrimination) -> Iterator[dict[str, Any]]:
    """One row for each point of the grid."""
    slope, third = measure_derivatives(task)
    kurtosis = task.kurtosis()
    known = {"model": task.title, "kurtosis": kurtosis, "slope": slope, "third": third, "excess": kurtosis - 3}
    return list_fields(known, a=GRID, phi=task.amplifier(GRID), cubic=expand_amplifier(GRID, kurtosis))


def use_amplifier_of_ising(table: Frame) -> Frame:
    """The null: every marginal distribution has the φ of Ising data, but keeps its kurtosis."""
    names = ["phi", "slope", "third"]
    return table.drop(columns=names).merge(rows(table, model="Ising")[["a", *names]], on="a")


class LemmaB_1(Item):
    """Lemma B.1 of lufkin2024 (Appendices B.1, C.3): φ is odd, φ′(0) = √(2/π)σ², φ‴(0) = −√(2/π)(κσ⁴ − 3σ²)."""

    title = "The amplifier near 0: its derivatives and its cubic"
    size = (10, 6)
    open_choices = (
        "derivatives are computed from values of the exact φ, with an odd polynomial through three points up to a = "
        "0.003; points up to 0.12 and up to 0.012 were tried first and gave −0.96 and −1.01 for φ‴(0) of Kur(5), "
        "whose φ has "
        "a term |a|⁴",
        "for the same reason φ‴(0) is compared to 2%",
        "the data are those of fig3, whose flows with exact and cubic φ are reused",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [flow for task in TASKS for flow in solve_flows(task, scale)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return DataFrame([row for task in TASKS for row in describe_amplifier(task)])

    def ideal(self) -> Frame:
        """The lemma's derivatives and a φ near its cubic; an excess kurtosis of 3 − κ, which Appendix B.1 implies."""
        found = []
        for model, kurtosis in {"Ising": 1.0, "NLGP(0.01)": 2.99, "Kur(5)": 3.86}.items():
            slope, third = differentiate_amplifier(kurtosis)
            known = {"model": model, "kurtosis": kurtosis, "excess": 3 - kurtosis, "slope": slope, "third": third}
            cubic = expand_amplifier(GRID, kurtosis)
            found += list_fields(known, a=GRID, phi=cubic + 0.01 * GRID**5, cubic=cubic)
        return DataFrame(found)

    @claim(
        "φ is odd",
        at="Lemma B.1",
        expect="φ(−a) = −φ(a)",
        null=lambda table: table.assign(phi=table["phi"] + 0.01),
    )
    def odd(table: Frame) -> Verdict:
        values = (numbers(part, "phi") for _, part in table.groupby("model"))
        worst = max(np.abs(phi + phi[::-1]).max() for phi in values)
        return judge(worst < 1e-12, f"|φ(a) + φ(−a)| ≤ {worst:.1e} on {len(GRID)} points of [−1, 1]", len(table))

    @claim(
        "φ′(0) = √(2/π)σ² and φ‴(0) = −√(2/π)(κσ⁴ − 3σ²)",
        at="Lemma B.1; Appendix C.3",
        expect="the two derivatives",
        null=use_amplifier_of_ising,
    )
    def derivatives(table: Frame) -> Verdict:
        good, seen = [], []
        first = table.drop_duplicates("model")
        for model, kurtosis, near, bend in first[["model", "kurtosis", "slope", "third"]].to_numpy():
            slope, third = differentiate_amplifier(kurtosis)
            good += [abs(near - slope) < 1e-4, abs(bend - third) < 0.02 * max(1, abs(third))]
            seen.append(f"{model}: φ′ {near:.4f} ({slope:.4f}), φ‴ {bend:+.4f} ({third:+.4f})")
        text = "; ".join(seen) + " (in brackets: by the lemma)"
        return judge(all(good), text, len(good), "The printed κ4σ4 is κσ⁴.")

    @claim(
        "φ is super-linear when κ < 3, i.e. the excess kurtosis is positive",
        at="Appendix B.1, first paragraph after the lemma",
        expect="super-linear for positive excess kurtosis",
        null=use_amplifier_of_ising,
    )
    def super_linear(table: Frame) -> Verdict:
        first = table.drop_duplicates("model")
        bend, excess = np.sign(first["third"]), np.sign(first["excess"])
        seen = "; ".join(
            f"{model}: κ − 3 = {excess:+.4f}, φ‴(0) = {third:+.4f}"
            for model, excess, third in first[["model", "excess", "third"]].to_numpy()
        )
        note = "φ is super-linear where κ < 3, that is, where the excess kurtosis is negative, as §3.2 says."
        return judge((bend == excess).all(), seen, len(first), note, corrected=(bend == -excess).all())

    @claim(
        "The cubic approximation of φ captures super- and sub-linearity",
        at="§3.2; Fig. 3, red lines",
        expect="less than half as far from φ as the line, for |a| ≤ 0.5",
        null=lambda table: table.assign(cubic=2 * SLOPE * table["a"] - table["cubic"]),
    )
    def cubic_captures(table: Frame) -> Verdict:
        near = table[table["a"].abs() <= 0.501]
        near = near.assign(gap=(near["phi"] - near["cubic"]).abs(), line=(near["phi"] - SLOPE * near["a"]).abs())
        worst = near.groupby("model")[["gap", "line"]].max()
        seen = "; ".join(
            f"{model}: the cubic is off by {row['gap']:.4f}, the line by {row['line']:.4f}"
            for model, row in worst.iterrows()
        )
        bent = worst[worst["line"] > 1e-3]
        good = len(bent) and (bent["gap"] < bent["line"] / 2).all()
        note = "With heavy tails the cubic soon becomes worse than the line, as φ bends back towards it."
        return judge(good, f"|a| ≤ 0.5; {seen}", len(worst), "" if good else note)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        models = table.groupby("model", sort=False)
        grid = figure.subplots(2, len(models))
        for above, below, (model, part) in zip(*grid, models, strict=True):
            draw_amplifier(above, part["a"], part["phi"], part["cubic"])
            above.set_title(f"{model}, κ = {part['kurtosis'].iloc[0]:.4g}")
            below.plot(part["a"], part["phi"] - SLOPE * part["a"], color=BLACK)
            below.plot(part["a"], part["cubic"] - SLOPE * part["a"], ":", color=VERMILION, linewidth=2)
            below.set_xlabel("a")
            for axes in (above, below):
                axes.set_xticks([-1, -0.5, 0, 0.5, 1])
        grid[0, 0].set_ylabel("φ(a)")
        grid[1, 0].set_ylabel("φ(a) − √(2/π) a")
        grid[0, 0].legend()
