"""Section 6 of bar2023: SNIP's scores in the linear model."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.core.figures import draw_boxes
from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge, rows
from prunefield.papers.bar2023._cases import EXACT
from prunefield.papers.bar2023._linear import CASES, tabulate_models
from prunefield.runs import Result, Run
from prunefield.runs.linear_scores import LinearScores

LABELS = (0.1, 1.0, 10.0)


class Section6(Item):
    """bar2023, Section 6: SNIP's scores of a linear model with the ℓ1 loss, and the probabilities of Eq. 2."""

    title = "Section 6: SNIP's scores in the linear model with sparse data"
    size = (9, 4.4)
    open_choices = (
        "d = 1000, n = 128, w ~ N(0, I), Gaussian labels; the scores are those of `snip` in this package on a linear "
        "layer.",
        "Sparse data: for each feature one example, chosen uniformly, has a Gaussian entry, all others zero.",
        "The need for sparse data is tested as: dense data gives an error at least 5% above the optimum.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        single = [LinearScores(dimension=1000, data="single", label=label, cases=CASES[scale]) for label in LABELS]
        return [LinearScores(dimension=1000, cases=CASES[scale]), *single]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_models(results)

    def ideal(self) -> Frame:
        """SNIP's scores are the printed sum, and p0 with sparse data; with dense data they are far from it."""
        names = ["data", "label", "snip_gap", "snip_correlation", "snip_excess"]
        cases = [("dense", 1.0, 1.0, 0.65, 5.0), *(("single", label, 0.0, 1.0, 1.0) for label in LABELS)]
        return DataFrame(cases, columns=names).assign(snip_printed=0.0, snip_formula=0.0, snip_negative=0.0)

    @claim(
        "For data with one non-zero entry in each row of X, SNIP's probability is |w_j|‖X_(j)‖ / Σ_k |w_k|‖X_(k)‖",
        at="Section 6",
        expect="equal to p0",
        null=lambda table: rows(table, data="dense").assign(data="single"),
    )
    def scores_are_probabilities(table: Frame) -> Verdict:
        single = rows(table, data="single")
        gap, excess = single["snip_gap"].max(), single["snip_excess"].max()
        labels = "/".join(f"{label:g}" for label in sorted(single["label"].unique()))
        seen = (
            f"normalised scores and p0 differ by {gap:.0e} of its maximum for labels of standard deviation {labels}; "
            f"error of Algorithm 1 ÷ optimum {excess:.10f}"
        )
        good = gap < EXACT and abs(excess - 1) < EXACT
        return judge(good, seen, len(single), "for any labels with non-zero residuals")

    @claim(
        "g_j = (1/n)|w_j| Σ_i sign(x_iᵀw − y_i)x_ij",
        at="Section 6",
        expect="equal to the computed score",
        # p0 instead of either formula, which it is for sparse data alone
        null=lambda table: table.assign(snip_printed=table["snip_gap"], snip_formula=table["snip_gap"]),
    )
    def formula(table: Frame) -> Verdict:
        printed, right = table["snip_printed"].max(), table["snip_formula"].max()
        seen = (
            f"the printed sum is off by up to {printed:.2f} of the largest score and negative for "
            f"{table['snip_negative'].mean():.0%} of weights; with |·| around it {right:.0e}"
        )
        good = printed < EXACT
        note = "the loss must read |x_iᵀ(w⊙m) − y_i|, and the absolute value must enclose the sum"
        return judge(good, seen, len(table), "" if good else note, corrected=right < EXACT)

    @claim(
        "SNIP should therefore be applied with sparse data",
        at="Section 6",
        expect="dense data is not optimal",
        null=lambda table: rows(table, data="single").assign(data="dense"),
    )
    def dense_data_is_worse(table: Frame) -> Verdict:
        dense = rows(table, data="dense")
        correlation, excess = dense[["snip_correlation", "snip_excess"]].median()
        seen = f"dense data: correlation with p0 {correlation:.2f}, error of Algorithm 1 {excess:.1f} × the optimum"
        return judge(excess > 1.05, f"{seen} (medians)", len(dense))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        panels = figure.subplots(1, 2)
        kinds = {"dense": "dense data", "single": "one non-zero per feature"}
        names = {"snip_correlation": "correlation with p0", "snip_excess": "error of Algorithm 1 ÷ optimum"}
        for axes, (name, label) in zip(panels, names.items(), strict=True):
            draw_boxes(axes, [rows(table, data=kind)[name] for kind in kinds], list(kinds.values()))
            axes.set_ylabel(label)
        panels[1].set_yscale("log")
