"""Lemma 4.3 of bar2023: a mask made from other inputs and other weights."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from prunefield.core.figures import draw_boxes
from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge, rows
from prunefield.papers._kit import BLACK, BLUE, VERMILION
from prunefield.papers.bar2023._cases import EXACT, SMALL, ladder, outcome_cases, outcomes, support, tabulate_cases
from prunefield.runs import Result, Run


def use_best_bound(table: Frame) -> Frame:
    """The null: the bound of a mask that was made from X and w⋆ themselves."""
    return table.assign(bound=table["optimal"] + table["power"] / table["kept"])


class Lemma4_3(Item):
    """bar2023, Lemma 4.3 (Appendix B.2): a mask from w0 and X̃, applied to w⋆ and X."""

    title = "Lemma 4.3: the error on other inputs and weights"
    size = (9, 4.4)
    open_choices = (
        SMALL,
        "X̃ is drawn like X and independently of it, w⋆ = w0 + N(0, I).",
        "For d = 10, 100, 1000 (n = 8, s = 8) the identity is used.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*outcomes(scale, tau=1.0, fresh=True), *support(), *ladder(scale, tau=1.0, fresh=True)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_cases(results)

    def ideal(self) -> Frame:
        """An error of 3/s below the bound 4/s by ‖Xᵀw⋆‖²/s, hand-made cases included; the best mask has 1/s."""
        cases = outcome_cases(power=1.0)
        s = cases["kept"]
        return cases.assign(exact=3 / s, enumerated=3 / s, bound=4 / s, optimal=1 / s)

    @claim(
        "The error is at most (1/s)Σ_k [Σ_j ‖X̃_(j)‖|w0_j| / (‖X̃_(k)‖|w0_k|)]·‖X_(k)‖²w⋆_k²",
        at="Lemma 4.3",
        expect="no counterexample",
        null=use_best_bound,
    )
    def holds(table: Frame) -> Verdict:
        drawn = rows(table, made=False)
        broken, share = (drawn["exact"] > drawn["bound"] * (1 + EXACT)).sum(), (drawn["exact"] / drawn["bound"]).max()
        seen = f"violated in {broken} of {len(drawn)} cases; the error is at most {share:.4f} times the bound"
        return judge(broken == 0, seen, len(drawn))

    @claim(
        "After subtracting ‖Xᵀw⋆‖²/s, the bound is an equality",
        at="Appendix B.2",
        expect="equal to full enumeration",
        null=use_best_bound,
    )
    def equal_after_subtraction(table: Frame) -> Verdict:
        drawn = rows(table, made=False).dropna(subset="enumerated")
        gap = ((drawn["bound"] - drawn["power"] / drawn["kept"]) / drawn["enumerated"] - 1).abs().max()
        return judge(gap < 1e-8, f"bound − ‖Xᵀw⋆‖²/s is the enumerated error to {gap:.0e}", len(drawn))

    @claim(
        "The bound holds for all w0 and w⋆",
        at="Lemma 4.3",
        expect="a finite bound for every w0",
        null=lambda table: table.assign(bound=np.inf),  # in every case a weight that is never kept
    )
    def holds_for_all_weights(table: Frame) -> Verdict:
        made, drawn = rows(table, made=True), rows(table, made=False)
        infinite, errors = np.isinf(made["bound"]).sum(), "/".join(f"{error:g}" for error in made["enumerated"])
        seen = f"w0 = (1, 0), w⋆ = (1, 1), X = I: error {errors} for s = 1/2/3, bound infinite in {infinite} of "
        good = not infinite and (made["enumerated"] <= made["bound"] * (1 + EXACT)).all()
        fixed = np.isfinite(drawn["bound"]).all() and (drawn["exact"] <= drawn["bound"] * (1 + EXACT)).all()
        note = "it needs ‖X̃_(k)‖|w0_k| > 0 wherever ‖X_(k)‖w⋆_k ≠ 0: a weight that is never kept is lost at every "
        return judge(good, f"{seen}{len(made)}", len(made), "" if good else f"{note}density", corrected=fixed)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        drawn = rows(table, made=False)
        near = drawn.dropna(subset="enumerated").groupby(["dimension", "kept"]).head(50)
        left.plot(near["bound"], near["enumerated"], ".", color=BLUE, label="error by enumeration")
        rest = near["bound"] - near["power"] / near["kept"]
        left.plot(near["bound"], rest, "o", color=VERMILION, fillstyle="none", label="bound − ‖Xᵀw⋆‖²/s")
        ends = [near["bound"].min(), near["bound"].max()]
        left.plot(ends, ends, color=BLACK, linewidth=1, label="error = bound")
        left.set(xscale="log", yscale="log", xlabel="bound of Lemma 4.3", ylabel="error")
        left.legend()
        groups = drawn[drawn["optimal"] > 1e-6].groupby("dimension")
        losses = [group["exact"] / group["optimal"] for _, group in groups]
        draw_boxes(right, losses, [str(d) for d in groups.groups])
        right.set(xlabel="dimension d", ylabel="error ÷ error of the best mask", yscale="log")
