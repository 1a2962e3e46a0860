"""Section 6 of bar2023: SNIP's scores in the linear model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import EXACT, Frame
from prunefield.papers.bar2023._linear import CASES, tabulate
from prunefield.runs import Result, Run
from prunefield.runs.linear_scores import LinearScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = (0.1, 1.0, 10.0)


def _check_single(table: Frame) -> Verdict:
    rows = table.query("data == 'single'")
    gaps, excess = rows.groupby("label")["snip_gap"].max(), rows["snip_excess"].max()
    seen = f"normalised scores and p0 differ by {gaps.max():.0e} of its maximum for labels of standard deviation "
    seen += f"{'/'.join(f'{label:g}' for label in gaps.index)}; error of Algorithm 1 ÷ optimum {excess:.10f}"
    good = gaps.max() < EXACT and abs(excess - 1) < EXACT
    return Verdict(
        "reproduced" if good else "not reproduced", seen, len(rows), "for any labels with non-zero residuals"
    )


def _check_formula(table: Frame) -> Verdict:
    printed, right = table["snip_printed"].max(), table["snip_formula"].max()
    seen = f"the printed sum is off by up to {printed:.2f} of the largest score and negative for "
    seen += f"{table['snip_negative'].mean():.0%} of weights; with |·| around it {right:.0e}"
    if printed < EXACT:
        return Verdict("reproduced", seen, len(table))
    note = "the loss must read |x_iᵀ(w⊙m) − y_i|, and the absolute value enclose the sum"
    return Verdict("corrected" if right < EXACT else "not reproduced", seen, len(table), note)


def _check_need(table: Frame) -> Verdict:
    rows = table.query("data == 'dense'")
    correlation, excess = rows["snip_correlation"].median(), rows["snip_excess"].median()
    seen = (
        f"dense data: correlation with p0 {correlation:.2f}, error of Algorithm 1 {excess:.1f} × the optimum (medians)"
    )
    return Verdict("reproduced" if excess > 1.05 else "not reproduced", seen, len(rows))


def _dense(table: Frame) -> Frame:
    """Dense data relabelled as sparse."""
    return table.query("data == 'dense'").assign(data="single")


class Section6(Item):
    """bar2023, Section 6: SNIP's scores of a linear model with the ℓ1 loss, and the probabilities of Eq. 2."""

    title = "Section 6: SNIP's scores in the linear model with sparse data"
    open_choices = (
        "d = 1000, n = 128, w ~ N(0, I), Gaussian labels; the scores are those of `snip` in this package on a linear "
        "layer.",
        "Sparse data: for each feature one example, chosen uniformly, has a Gaussian entry, all others zero.",
        "The need for sparse data is tested as: dense data gives an error at least 5 % above the optimum.",
    )
    claims = (
        Claim(
            "For data with one non-zero entry in each row of X, SNIP's probability is |w_j|‖X_(j)‖ / Σ_k |w_k|‖X_(k)‖",
            "Section 6",
            "equal to p0",
            _check_single,
            _dense,
        ),
        Claim(
            "g_j = (1/n)|w_j| Σ_i sign(x_iᵀw − y_i)x_ij",
            "Section 6",
            "equal to the computed score",
            _check_formula,
            # p0 instead of either formula, which it is for sparse data alone
            lambda table: table.assign(snip_printed=table["snip_gap"], snip_formula=table["snip_gap"]),
        ),
        Claim(
            "So SNIP should be applied with sparse data",
            "Section 6",
            "dense data is not optimal",
            _check_need,
            lambda table: table.query("data == 'single'").assign(data="dense"),
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        single = [LinearScores(dimension=1000, data="single", label=label, cases=CASES[scale]) for label in LABELS]
        return [LinearScores(dimension=1000, cases=CASES[scale]), *single]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate(results)

    def ideal(self) -> Frame:
        """SNIP's scores are the printed sum, and p0 with sparse data; with dense data they are far from it."""
        import pandas as pd

        names = ["data", "label", "snip_gap", "snip_correlation", "snip_excess"]
        rows = [("dense", 1.0, 1.0, 0.65, 5.0), *(("single", label, 0.0, 1.0, 1.0) for label in LABELS)]
        return pd.DataFrame(rows, columns=names).assign(snip_printed=0.0, snip_formula=0.0, snip_negative=0.0)

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        kinds = {"dense": "dense data", "single": "one non-zero per feature"}
        names = {"snip_correlation": "correlation with p0", "snip_excess": "error of Algorithm 1 ÷ optimum"}
        panels = figure.subplots(1, 2)
        for axes, (name, label) in zip(panels, names.items(), strict=True):
            columns = [table.query(f"data == '{kind}'")[name].tolist() for kind in kinds]
            axes.boxplot(columns, tick_labels=list(kinds.values()))
            axes.set_ylabel(label)
        panels[1].set_yscale("log")
        return figure
