"""Lemma B.1 of lufkin2024: the amplifier near 0, its derivatives and its cubic."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.lufkin2024.fig3 import Fig3
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.tasks import Discrimination
from prunefield.theory.amplifier import SLOPE, differentiate_amplifier, expand_amplifier

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

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


def _check_odd(table: "DataFrame") -> Verdict:
    sums = [
        float(np.abs(part["phi"].to_numpy() + part["phi"].to_numpy()[::-1]).max()) for _, part in table.groupby("model")
    ]
    status = "reproduced" if max(sums) < 1e-12 else "not reproduced"
    return Verdict(status, f"|φ(a) + φ(−a)| ≤ {max(sums):.1e} on {len(GRID)} points of [−1, 1]", len(table))


def _check_derivatives(table: "DataFrame") -> Verdict:
    good, seen = [], []
    first = table.drop_duplicates("model")
    found = (column(first, name) for name in ("kurtosis", "slope", "third"))
    for model, kurtosis, near, bend in zip(first["model"], *found, strict=True):
        slope, third = differentiate_amplifier(kurtosis)
        good += [abs(near - slope) < 1e-4, abs(bend - third) < 0.02 * max(1, abs(third))]
        seen.append(f"{model}: φ′ {near:.4f} ({slope:.4f}), φ‴ {bend:+.4f} ({third:+.4f})")
    text = "; ".join(seen) + " (in brackets: by the lemma)"
    return Verdict("reproduced" if all(good) else "not reproduced", text, len(good), "The printed κ4σ4 is κσ⁴.")


def _check_sign(table: "DataFrame") -> Verdict:
    first = table.drop_duplicates("model")
    bend, excess = np.sign(first["third"]), np.sign(first["excess"])
    seen = "; ".join(
        f"{row['model']}: κ − 3 = {row['excess']:+.4f}, φ‴(0) = {row['third']:+.4f}" for _, row in first.iterrows()
    )
    status = "reproduced" if (bend == excess).all() else "corrected" if (bend == -excess).all() else "not reproduced"
    note = "φ is super-linear where κ < 3, that is, where the excess kurtosis is negative, as §3.2 says."
    return Verdict(status, seen, len(first), note)


def _check_cubic(table: "DataFrame") -> Verdict:
    near = table.query("-0.501 <= a <= 0.501")
    near = near.assign(gap=np.abs(near["phi"] - near["cubic"]), line=np.abs(near["phi"] - SLOPE * near["a"]))
    worst = near.pivot_table(index="model", values=["gap", "line"], aggfunc="max")
    seen = "; ".join(
        f"{model}: cubic off by {row['gap']:.4f}, the line by {row['line']:.4f}" for model, row in worst.iterrows()
    )
    bent = worst.query("line > 1e-3")
    good = len(bent) > 0 and bool((bent["gap"] < bent["line"] / 2).all())
    note = "" if good else "With heavy tails the cubic soon becomes worse than the line, as φ bends back towards it."
    return Verdict("reproduced" if good else "not reproduced", f"|a| ≤ 0.5; {seen}", len(worst), note)


def _flatten(table: "DataFrame") -> "DataFrame":
    """Every marginal distribution has the φ of Ising data, but keeps its kurtosis."""
    ising = rows(table, model="Ising")
    other = table.merge(ising[["a", "phi", "slope", "third"]], on="a", suffixes=("_own", ""))
    return other.drop(columns=["phi_own", "slope_own", "third_own"])


class LemmaB_1(Item):
    """Lemma B.1 of lufkin2024 (Appendices B.1, C.3): φ is odd, φ′(0) = √(2/π)σ², φ‴(0) = −√(2/π)(κσ⁴ − 3σ²)."""

    title = "The amplifier near 0: its derivatives and its cubic"
    open_choices = (
        "derivatives are computed from values of the exact φ, with an odd polynomial through three points up to a = "
        "0.003; points up to 0.12 and up to 0.012 were tried first and gave −0.96 and −1.01 for φ‴(0) of Kur(5), "
        "whose φ has "
        "a term |a|⁴",
        "for the same reason φ‴(0) is compared to 2 %",
        "the data are those of fig3, whose flows with exact and cubic φ are reused",
    )
    claims = (
        Claim(
            "φ is odd", "Lemma B.1", "φ(−a) = −φ(a)", _check_odd, lambda table: table.assign(phi=table["phi"] + 0.01)
        ),
        Claim(
            "φ′(0) = √(2/π)σ² and φ‴(0) = −√(2/π)(κσ⁴ − 3σ²)",
            "Lemma B.1; Appendix C.3",
            "the two derivatives",
            _check_derivatives,
            _flatten,
        ),
        Claim(
            "φ is super-linear when κ < 3, i.e. the excess kurtosis is positive",
            "Appendix B.1, first paragraph after the lemma",
            "super-linear for positive excess kurtosis",
            _check_sign,
            _flatten,
        ),
        Claim(
            "The cubic approximation of φ captures super- and sub-linearity",
            "§3.2; Fig. 3, red lines",
            "less than half as far from φ as the line, for |a| ≤ 0.5",
            _check_cubic,
            lambda table: table.assign(cubic=2 * SLOPE * table["a"] - table["cubic"]),
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [run for run in Fig3().runs(scale) if isinstance(run, Flow)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        import pandas as pd

        tasks = dict.fromkeys(run.task for run in results if isinstance(run, Flow))
        return pd.DataFrame([row for task in tasks for row in _rows(task)])

    def ideal(self) -> "DataFrame":
        """The lemma's derivatives and a φ near its cubic; an excess kurtosis of 3 − κ, which Appendix B.1 implies."""
        import pandas as pd

        found = []
        for model, kurtosis in {"Ising": 1.0, "NLGP(0.01)": 2.99, "Kur(5)": 3.86}.items():
            slope, third = differentiate_amplifier(kurtosis)
            known = {"model": model, "kurtosis": kurtosis, "excess": 3 - kurtosis, "slope": slope, "third": third}
            near = expand_amplifier(GRID, kurtosis)
            paths = zip(GRID.tolist(), (near + 0.01 * GRID**5).tolist(), near.tolist(), strict=True)
            found += [known | {"a": a, "phi": phi, "cubic": value} for a, phi, value in paths]
        return pd.DataFrame(found)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        models = list(dict.fromkeys(table["model"]))
        figure = Figure(figsize=(11, 6), layout="constrained")
        axes = figure.subplots(2, len(models), squeeze=False)
        for above, below, model in zip(*axes, models, strict=True):
            part = rows(table, model=model)
            line = SLOPE * part["a"]
            above.plot(part["a"], line, "--", color="#777777", label="√(2/π) a")
            above.plot(part["a"], part["phi"], color="black", label="φ")
            above.plot(part["a"], part["cubic"], ":", color="#D55E00", linewidth=2, label="cubic")
            above.set_title(f"{model}, κ = {part['kurtosis'].iloc[0]:.4g}")
            below.plot(part["a"], part["phi"] - line, color="black")
            below.plot(part["a"], part["cubic"] - line, ":", color="#D55E00", linewidth=2)
            below.set_xlabel("a")
            for axis in (above, below):
                axis.set_xticks([-1, -0.5, 0, 0.5, 1])
        axes[0, 0].set_ylabel("φ(a)")
        axes[1, 0].set_ylabel("φ(a) − √(2/π) a")
        axes[0, 0].legend(frameon=False)
        return figure


def _rows(task: Discrimination) -> Iterator[dict[str, Any]]:
    slope, third = measure_derivatives(task)
    known = {"model": task.title, "kurtosis": task.kurtosis(), "slope": slope, "third": third}
    known["excess"] = task.kurtosis() - 3
    phi, poly = task.amplifier(GRID), expand_amplifier(GRID, task.kurtosis())
    for a, exact, near in zip(GRID.tolist(), phi.tolist(), poly.tolist(), strict=True):
        yield {**known, "a": a, "phi": exact, "cubic": near}
