"""Lemma B.1 of bar2023: the mean of masked features."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge, rows
from prunefield.papers.bar2023._cases import EXACT, SMALL, outcome_cases, outcomes, support, tabulate_cases
from prunefield.runs import Result, Run


def keep_without_rescaling(table: Frame) -> Frame:
    """The null: the same weights kept without rescaling."""
    return table.assign(mean_gap=table["binary_mean_gap"])


class LemmaB_1(Item):
    """bar2023, Lemma B.1 (Appendix B.1): masked features are unbiased."""

    title = "Lemma B.1: the mean of masked features"
    size = (5, 3.6)
    open_choices = (SMALL, "The mask is made from w0 and X, and w⋆ = w0 + N(0, I).")

    def runs(self, scale: Scale) -> list[Run]:
        return [*outcomes(scale, tau=1.0), *support()]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_cases(results)

    def ideal(self) -> Frame:
        """No bias anywhere with the masks of Algorithm 1; 0/1 masks lose a third of a feature."""
        return outcome_cases(mean_gap=0.0, binary_mean_gap=1 / 3)

    @claim("E (Xᵀ(w⋆⊙m))_i = (Xᵀw⋆)_i", at="Lemma B.1", expect="equal to full enumeration", null=keep_without_rescaling)
    def unbiased(table: Frame) -> Verdict:
        drawn = rows(table, made=False)
        gap = drawn["mean_gap"].max()
        note = "in the proof the first sum over t must end at s, not d"
        return judge(gap < EXACT, f"mean over all outcomes and Xᵀw⋆ agree to {gap:.0e}", len(drawn), note)

    @claim(
        "Masked features are unbiased for all w⋆ ∈ ℝᵈ", at="Lemma B.1", expect="no bias", null=keep_without_rescaling
    )
    def unbiased_for_all_weights(table: Frame) -> Verdict:
        made, drawn = (rows(table, made=made)["mean_gap"].max() for made in (True, False))
        cases = rows(table, made=True)
        seen = f"w0 = (1, 0), w⋆ = (1, 1), X = I: the mean is off by {made:.0%} for s = 1 to {cases['kept'].max()}"
        note = "true only if p0_k > 0 wherever ‖X_(k)‖w⋆_k ≠ 0; other features are lost"
        holds = made < EXACT
        return judge(holds, seen, len(cases), "" if holds else note, corrected=drawn < EXACT)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        axes = figure.subplots()
        for name, label in (
            ("mean_gap", "Algorithm 1, m_i = count/(s·p_i)"),
            ("binary_mean_gap", "same, m_i = 0 or 1"),
        ):
            axes.ecdf(rows(table, made=False)[name].clip(lower=1e-17), label=label)
        axes.set(xscale="log", xlabel="largest bias of a feature, relative", ylabel="share of cases below")
        axes.legend(loc="center")
