"""Lemma B.1 of bar2023: the mean of masked features."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import EXACT, SMALL, Frame, outcome_cases, outcomes, support, tabulate
from prunefield.runs import Result, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _check_mean(table: Frame) -> Verdict:
    rows = table.query("not made")
    gap = rows["mean_gap"].max()
    seen = f"mean over all outcomes and Xᵀw⋆ agree to {gap:.0e}"
    note = "in the proof the first sum over t must end at s, not d"
    return Verdict("reproduced" if gap < EXACT else "not reproduced", seen, len(rows), note)


def _check_support(table: Frame) -> Verdict:
    made, drawn = table.query("made"), table.query("not made")
    seen = f"w0 = (1, 0), w⋆ = (1, 1), X = I: the mean is off by {made['mean_gap'].max():.0%} for s = 1 to "
    seen += f"{made['kept'].max()}"
    if made["mean_gap"].max() < EXACT:
        return Verdict("reproduced", seen, len(made))
    status = "corrected" if drawn["mean_gap"].max() < EXACT else "not reproduced"
    return Verdict(status, seen, len(made), "only if p0_k > 0 wherever ‖X_(k)‖w⋆_k ≠ 0; other features are lost")


def _binary(table: Frame) -> Frame:
    """The same weights kept without rescaling."""
    return table.assign(mean_gap=table["binary_mean_gap"])


class LemmaB_1(Item):
    """bar2023, Lemma B.1 (Appendix B.1): masked features are unbiased."""

    title = "Lemma B.1: the mean of masked features"
    open_choices = (SMALL, "The mask is made from w0 and X, and w⋆ = w0 + N(0, I).")
    claims = (
        Claim("E (Xᵀ(w⋆⊙m))_i = (Xᵀw⋆)_i", "Lemma B.1", "equal to full enumeration", _check_mean, _binary),
        Claim("For all w⋆ ∈ ℝᵈ", "Lemma B.1", "no bias", _check_support, _binary),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*outcomes(scale, tau=1.0), *support()]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate(results)

    def ideal(self) -> Frame:
        """No bias anywhere with the masks of Algorithm 1; 0/1 masks lose a third of a feature."""
        return outcome_cases(mean_gap=0.0, binary_mean_gap=1 / 3)

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 3.6), layout="constrained")
        axes = figure.subplots()
        rows = table.query("not made")
        for name, label in (
            ("mean_gap", "Algorithm 1, m_i = count/(s·p_i)"),
            ("binary_mean_gap", "same, m_i = 0 or 1"),
        ):
            axes.ecdf(rows[name].clip(lower=1e-17), label=label)
        axes.set(xscale="log", xlabel="largest bias of a feature, relative", ylabel="share of cases")
        axes.legend(loc="center")
        return figure
