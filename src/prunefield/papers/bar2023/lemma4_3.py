"""Lemma 4.3 of bar2023: a mask made from other inputs and other weights."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import CASES, EXACT, SMALL, Frame, outcome_cases, outcomes, support, tabulate
from prunefield.runs import Result, Run
from prunefield.runs.outcomes import Outcomes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LADDER = (10, 100, 1000)


def _check_bound(table: Frame) -> Verdict:
    rows = table.query("not made")
    broken = int((rows["exact"] > rows["bound"] * (1 + EXACT)).sum())
    seen = (
        f"violated in {broken} of {len(rows)} cases; the error is at most "
        f"{(rows['exact'] / rows['bound']).max():.4f} of"
    )
    return Verdict("reproduced" if broken == 0 else "not reproduced", f"{seen} the bound", len(rows))


def _check_equality(table: Frame) -> Verdict:
    rows = table.query("not made and enumerated.notna()")
    gap = ((rows["bound"] - rows["power"] / rows["kept"]) / rows["enumerated"] - 1).abs().max()
    seen = f"bound − ‖Xᵀw⋆‖²/s is the enumerated error to {gap:.0e}"
    return Verdict("reproduced" if gap < 1e-8 else "not reproduced", seen, len(rows))


def _check_support(table: Frame) -> Verdict:
    rows = table.query("made")
    errors = "/".join(f"{error:g}" for error in rows["enumerated"])
    infinite = int(np.isinf(rows["bound"]).sum())
    seen = f"w0 = (1, 0), w⋆ = (1, 1), X = I: error {errors} for s = 1/2/3, bound infinite in {infinite} of {len(rows)}"
    if not infinite and bool((rows["enumerated"] <= rows["bound"] * (1 + EXACT)).all()):
        return Verdict("reproduced", seen, len(rows))
    rest = table.query("not made")
    mended = bool(np.isfinite(rest["bound"]).all() and (rest["exact"] <= rest["bound"] * (1 + EXACT)).all())
    note = "it needs ‖X̃_(k)‖|w0_k| > 0 wherever ‖X_(k)‖w⋆_k ≠ 0: a weight that is never kept is lost at every density"
    return Verdict("corrected" if mended else "not reproduced", seen, len(rows), note)


def _optimal(table: Frame) -> Frame:
    """The bound of a mask that was made from X and w⋆ themselves."""
    return table.assign(bound=table["optimal"] + table["power"] / table["kept"])


class Lemma4_3(Item):
    """bar2023, Lemma 4.3 (Appendix B.2): a mask from w0 and X̃, applied to w⋆ and X."""

    title = "Lemma 4.3: the error on other inputs and weights"
    open_choices = (
        SMALL,
        "X̃ is drawn like X and independently of it, w⋆ = w0 + N(0, I).",
        "For d = 10, 100, 1000 (n = 8, s = 8) the identity is used.",
    )
    claims = (
        Claim(
            "The error is at most (1/s)Σ_k [Σ_j ‖X̃_(j)‖|w0_j| / (‖X̃_(k)‖|w0_k|)]·‖X_(k)‖²w⋆_k²",
            "Lemma 4.3",
            "no counterexample",
            _check_bound,
            _optimal,
        ),
        Claim(
            "It is an equality after subtracting ‖Xᵀw⋆‖²/s",
            "Appendix B.2",
            "equal to full enumeration",
            _check_equality,
            _optimal,
        ),
        Claim(
            "The bound holds for all w0 and w⋆",
            "Lemma 4.3",
            "a finite bound for every w0",
            _check_support,
            lambda table: table.assign(bound=np.inf),  # in every case a weight that is never kept
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        ladder = [
            Outcomes(dimension=d, examples=8, kept=8, rivals=1, tau=1.0, fresh=True, cases=CASES[scale]) for d in LADDER
        ]
        return [*outcomes(scale, tau=1.0, fresh=True), *support(), *ladder]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate(results)

    def ideal(self) -> Frame:
        """An error of 3/s below the bound 4/s by ‖Xᵀw⋆‖²/s, hand-made cases included; the best mask has 1/s."""
        cases = outcome_cases(power=1.0)
        s = cases["kept"]
        return cases.assign(exact=3 / s, enumerated=3 / s, bound=4 / s, optimal=1 / s)

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        rows = table.query("not made")
        near = rows[rows["enumerated"].notna()].groupby(["dimension", "kept"]).head(50)
        left.plot(near["bound"], near["enumerated"], ".", color="#0072B2", label="error by enumeration")
        rest = near["bound"] - near["power"] / near["kept"]
        left.plot(near["bound"], rest, "o", color="#D55E00", fillstyle="none", label="bound − ‖Xᵀw⋆‖²/s")
        ends = [near["bound"].min(), near["bound"].max()]
        left.plot(ends, ends, color="black", linewidth=1, label="error = bound")
        left.set(xscale="log", yscale="log", xlabel="Lemma 4.3", ylabel="error")
        left.legend()
        groups = rows.groupby("dimension")
        loss = [(group["exact"] / group["optimal"])[group["optimal"] > 1e-6].tolist() for _, group in groups]
        right.boxplot(loss, tick_labels=[str(d) for d in groups.groups], showfliers=False)
        right.set(xlabel="dimension d", ylabel="error ÷ error of the best mask for w⋆ and X", yscale="log")
        return figure
