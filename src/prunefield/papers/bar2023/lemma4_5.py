"""Lemma 4.5 of bar2023: masks drawn uniformly."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from pandas import DataFrame, Series
from torch import float64, tensor

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import BLUE, GREEN, ORANGE, VERMILION, Row
from prunefield.papers.bar2023._cases import EXACT
from prunefield.papers.bar2023.theorem4_4 import Theorem4_4
from prunefield.runs import Result, Run
from prunefield.runs.enumeration import Enumeration
from prunefield.theory.sketch_bounds import uniform_bound, uniform_error
from prunefield.theory.sketch_lemmas import enumerate_subsets, subset_error

SENSES = {
    "replaced": "with replacement, times d/s",
    "subset": "a subset, times d/s",
    "binary": "a subset, zeros and ones",
}


def tabulate_uniform_errors(run: Enumeration, result: Result) -> list[Row]:
    """The errors of the uniform masks and both sides of the lemma, for one pair of weights."""
    w0, w = (tensor(weights, dtype=float64) for weights in (run.start, run.end))
    d, s = len(w), run.kept
    found = {"start": str(run.start), "end": str(run.end), "dimension": d, "kept": s, "examples": run.examples}
    found |= {"enumerated": result.records[0]["enumerated_uniform"], "replaced": uniform_error(w, s).item()}
    cross = (w - w0).square().sum() + 2 * w @ w0 - w0.square().sum()
    found |= {"bound": uniform_bound(w, s).item(), "expanded": (d / s * cross).item()}
    if s <= d:
        for name, rescaled in (("subset", True), ("binary", False)):
            found[name] = subset_error(w, s, rescaled=rescaled).item()
            found[f"{name}_sum"] = enumerate_subsets(w, s, rescaled=rescaled).item()
    return [found]


def divide_bound_by_dimension(table: Frame) -> Frame:
    """The null: the bound without the factor d."""
    return table.assign(bound=table["bound"] / table["dimension"])


class Lemma4_5(Item):
    """bar2023, Lemma 4.5 (Appendix B.5): the error of masks that are drawn uniformly."""

    title = "Lemma 4.5: the error of uniform masks"
    size = (5, 3.6)
    open_choices = (
        "'Uniformly at random' is, as in the proof, Algorithm 1 with p = 1/d; subsets of s weights are shown for "
        "comparison.",
        "The weights and runs are those of theorem4.4's enumerations.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [run for run in Theorem4_4().runs(scale) if isinstance(run, Enumeration)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, tabulate_uniform_errors, Enumeration)

    def ideal(self) -> Frame:
        """The three errors of uniform masks for d = 3 and ‖w⋆‖² = 1, each below d/s, which is also the expansion."""
        d, s = 3, Series([1, 2, 3])
        table = DataFrame({"dimension": d, "kept": s, "bound": d / s, "expanded": d / s})
        errors = {"replaced": (d - 1) / s, "subset": (d - s) / s, "binary": 1 - s / d}
        sums = {f"{name}_sum": errors[name] for name in ("subset", "binary")}
        return table.assign(enumerated=errors["replaced"], **errors, **sums)

    @claim(
        "The error is at most (d/s)‖w⋆‖²",
        at="Lemma 4.5",
        expect="no counterexample",
        null=divide_bound_by_dimension,
    )
    def holds(table: Frame) -> Verdict:
        broken = (table["enumerated"] > table["bound"] * (1 + EXACT)).sum()
        gap = (table["enumerated"] / table["replaced"] - 1).abs().max()
        seen = f"violated in {broken} of {len(table)} cases; ((d−1)/s)‖w⋆‖² is the enumerated error to {gap:.0e}"
        return judge(broken == 0 and gap < 1e-8, seen, len(table))

    @claim(
        "The bound holds for every way of drawing the mask uniformly",
        at="Lemma 4.5",
        expect="no counterexample",
        null=divide_bound_by_dimension,
    )
    def holds_in_every_sense(table: Frame) -> Verdict:
        some = table.dropna(subset="subset")
        shares = {label: (some[name] / some["bound"]).max() for name, label in SENSES.items()}
        gap = max((some[name] - some[f"{name}_sum"]).abs().max() for name in ("subset", "binary"))
        seen = "largest error ÷ bound: " + ", ".join(f"{label}: {share:.2f}" for label, share in shares.items())
        note = f"((d−s)/s)‖w⋆‖² and (1−s/d)‖w⋆‖² are the sums over all subsets to {gap:.0e}"
        return judge(max(shares.values()) <= 1 and gap < EXACT, seen, len(some), note)

    @claim(
        "(d/s)‖w⋆‖² = (d/s)(‖w⋆−w0‖² + 2w⋆ᵀw0) − (d/s)‖w0‖²",
        at="Lemma 4.5",
        expect="equal",
        null=lambda table: table.assign(expanded=-table["expanded"]),
    )
    def expansion(table: Frame) -> Verdict:
        gap = (table["expanded"] / table["bound"] - 1).abs().max()
        return judge(gap < EXACT, f"both sides agree to {gap:.0e}", len(table))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        axes = figure.subplots()
        shown = rows(table, dimension=3).sort_values("kept")
        for (name, label), colour in zip(SENSES.items(), (BLUE, GREEN, ORANGE), strict=True):
            axes.plot(shown["kept"], shown[name], "o-", color=colour, label=label)
        axes.plot(shown["kept"], shown["enumerated"], "kx", label="with replacement, enumerated")
        axes.plot(shown["kept"], shown["bound"], "--", color=VERMILION, label="Lemma 4.5")
        axes.set(xlabel="s, of d = 3 weights", ylabel="error", xticks=sorted(shown["kept"].unique()))
        axes.set_title(f"w⋆ = {shown['end'].iloc[0]}")
        axes.legend()
