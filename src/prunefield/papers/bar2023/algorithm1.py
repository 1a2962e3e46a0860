"""Algorithm 1 of bar2023: masks by sketching, from all their outcomes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import EXACT, SMALL, Frame, outcome_cases, outcomes, tabulate
from prunefield.runs import Result, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _check_mean(table: Frame) -> Verdict:
    gap = table["mask_gap"].max()
    seen = f"largest |E m_k − 1| is {gap:.0e} over all outcomes"
    return Verdict("reproduced" if gap < EXACT else "not reproduced", seen, len(table))


def _check_size(table: Frame) -> Verdict:
    over = int((table["most"] > table["kept"]).sum())
    fewer, formula = (table["drawn_kept"] / table["kept"]), (table["drawn_kept"] - table["mean_kept"]).abs().max()
    seen = f"‖m‖₀ > s in {over} of {len(table)} cases; on average ‖m‖₀ is {fewer.mean():.2f}·s"
    note = f"E‖m‖₀ = Σ_k [1 − (1 − p_k)ˢ] to {formula:.0e}"
    good = over == 0 and bool((fewer[table["kept"] > 1] < 1).all())
    return Verdict("reproduced" if good else "not reproduced", seen, len(table), note)


def _check_optimal(table: Frame) -> Verdict:
    # Where all features agree in sign one draw already has no error; then rounding must not decide.
    lost = int((table["rival"] < table["exact"] - EXACT * table["bound"]).sum())
    ratio = (table["rival"] / table["exact"])[table["exact"] > 1e-6 * table["bound"]].min()
    seen = (
        f"other probabilities beat Eq. 2 in {lost} of {len(table)} cases; the closest has {ratio:.6f} times its error"
    )
    return Verdict("reproduced" if lost == 0 else "not reproduced", seen, len(table))


def _check_spread(table: Frame) -> Verdict:
    gap = table["covariance_gap"].max()
    seen = f"Cov m = (1/s)·(diag(1/p) − 1·1ᵀ) to {gap:.0e}"
    note = "so the smallest p_k gives the largest entries, 1/(s·p_k), and the entries of one mask have covariance −1/s"
    return Verdict("reproduced" if gap < EXACT else "not reproduced", seen, len(table), note)


class Algorithm1(Item):
    """bar2023, Algorithm 1 and Eq. 2: s draws with replacement, each adding 1/(s·p_i) to the mask."""

    title = "Algorithm 1: masks by sketching"
    open_choices = (
        SMALL,
        "Alternatives to Eq. 2: 50 in each case, p0·exp(noise) with noise from 0.01 to 3, and uniform probabilities.",
        "The inequality of the mask's entries is measured by their covariance, which the paper does not print.",
    )
    claims = (
        Claim(
            "The mask is unbiased: the scale 1/(s·p_i) makes E m = 1",
            "Algorithm 1; Appendix B.1",
            "E m = 1",
            _check_mean,
            lambda table: table.assign(mask_gap=table["binary_gap"]),  # a mask of zeros and ones
        ),
        Claim(
            "‖m‖₀ ≤ s, and ‖m‖₀ = s does not necessarily hold",
            "Section 3",
            "never more than s",
            _check_size,
            lambda table: table.assign(most=table["dimension"] + table["kept"]),
        ),
        Claim(
            "The probabilities of Eq. 2 minimise the error",
            "Section 3, Eq. 2",
            "never beaten",
            _check_optimal,
            lambda table: table.assign(exact=table["rival"], rival=table["exact"]),
        ),
        Claim(
            "Not all non-zero entries in the mask are equal",
            "Section 3",
            "Cov m by Lemma B.2 with X = I",
            _check_spread,
            lambda table: table.assign(covariance_gap=table["binary_gap"]),
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return outcomes(scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate(results)

    def ideal(self) -> Frame:
        """Two equally likely weights: moments as stated, alternatives with a tenth more error, 0/1 masks that lose
        half.
        """
        cases = outcome_cases(mask_gap=0.0, covariance_gap=0.0, binary_gap=0.5, exact=1.0, bound=2.0, rival=1.1)
        kept = 2 * (1 - 0.5 ** cases["kept"])
        return cases.assign(most=cases["kept"].clip(upper=2), drawn_kept=kept, mean_kept=kept)

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        shapes = table.groupby(["dimension", "kept"])
        for (d, s), group in shapes:
            some = group[group["exact"] > 1e-6 * group["bound"]]
            left.ecdf((some["rival"] / some["exact"] - 1).clip(lower=1e-10), label=f"d = {d}, s = {s}")
        left.set(
            xlabel="error of the best of 50 alternatives ÷ error of Eq. 2, minus 1",
            ylabel="share of cases",
            xscale="log",
        )
        left.legend(loc="upper left")
        names = [f"d = {d}, s = {s}" for (d, s), _ in shapes]
        right.boxplot([(group["drawn_kept"] / s).tolist() for (_, s), group in shapes], tick_labels=names)
        right.set(ylabel="mean number of kept weights ÷ s", ylim=(0, 1.05))
        return figure
