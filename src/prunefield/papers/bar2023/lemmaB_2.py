"""Lemma B.2 of bar2023: the variance of masked features."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge
from prunefield.papers.bar2023._cases import EXACT, SMALL, outcome_cases, outcomes, tabulate_cases
from prunefield.runs import Result, Run


def drop_subtracted_term(table: Frame) -> Frame:
    """The null: both formulas without the term that is subtracted."""
    return table.assign(variance_gap=table["loose_gap"], exact=table["bound"])


class LemmaB_2(Item):
    """bar2023, Lemma B.2 (Appendix B.1): the variance of masked features, and the identity behind all lemmas."""

    title = "Lemma B.2: the variance of masked features"
    size = (5, 3.6)
    open_choices = (SMALL, "The mask is made from w0 and X, and w⋆ = w0 + N(0, I).")

    def runs(self, scale: Scale) -> list[Run]:
        return outcomes(scale, tau=1.0)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_cases(results)

    def ideal(self) -> Frame:
        """Both formulas to the last digit; without their last terms they are twice as large."""
        return outcome_cases(variance_gap=0.0, loose_gap=1.0, enumerated=1.0, exact=1.0, bound=2.0)

    @claim(
        "Var (Xᵀ(w⋆⊙m))_i = (1/s)Σ_k X_ki²w⋆_k²/p0_k − (1/s)(Xᵀw⋆)_i²",
        at="Lemma B.2",
        expect="equal to full enumeration",
        null=drop_subtracted_term,
    )
    def variance(table: Frame) -> Verdict:
        gap = table["variance_gap"].max()
        seen = f"variance over all outcomes and formula agree to {gap:.0e} of the formula's first term"
        return judge(gap < EXACT, seen, len(table), "the last line of the proof uses Lemma B.1 but cites B.2")

    @claim(
        "The error is the sum of the variances",
        at="Appendix B.2",
        expect="equal to full enumeration",
        null=drop_subtracted_term,
    )
    def error(table: Frame) -> Verdict:
        gap = (table["enumerated"] / table["exact"] - 1).abs().max()
        seen = f"the variances' sum, (1/s)[Σ_k ‖X_(k)‖²w⋆_k²/p_k − ‖Xᵀw⋆‖²], is the enumerated error to {gap:.0e}"
        return judge(gap < 1e-8, seen, len(table))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        axes = figure.subplots()
        for name, label in (("variance_gap", "as printed"), ("loose_gap", "without −(1/s)(Xᵀw⋆)_i²")):
            axes.ecdf(table[name].clip(lower=1e-17), label=label)
        label = "largest error of a feature's variance, relative to its first term"
        axes.set(xscale="log", xlabel=label, ylabel="share of cases below")
        axes.legend(loc="center")
