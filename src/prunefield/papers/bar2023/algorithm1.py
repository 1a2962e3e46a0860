"""Algorithm 1 of bar2023: masks by sketching, from all their outcomes."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from prunefield.core.figures import draw_boxes
from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge
from prunefield.papers.bar2023._cases import EXACT, SMALL, outcome_cases, outcomes, tabulate_cases
from prunefield.runs import Result, Run


class Algorithm1(Item):
    """bar2023, Algorithm 1 and Eq. 2: s draws with replacement, each adding 1/(s·p_i) to the mask."""

    title = "Algorithm 1: masks by sketching"
    size = (9, 4.4)
    open_choices = (
        SMALL,
        "Alternatives to Eq. 2: 50 in each case, p0·exp(noise) with noise from 0.01 to 3, and uniform probabilities.",
        "The inequality of the mask's entries is measured by their covariance, which the paper does not print.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return outcomes(scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_cases(results)

    def ideal(self) -> Frame:
        """Two equally likely weights: moments as stated, alternatives with a tenth more error, 0/1 masks that lose
        half.
        """
        cases = outcome_cases(mask_gap=0.0, covariance_gap=0.0, binary_gap=0.5, exact=1.0, bound=2.0, rival=1.1)
        kept = 2 * (1 - 0.5 ** cases["kept"])
        return cases.assign(most=cases["kept"].clip(upper=2), drawn_kept=kept, mean_kept=kept)

    @claim(
        "The mask is unbiased: the scale 1/(s·p_i) makes E m = 1",
        at="Algorithm 1; Appendix B.1",
        expect="E m = 1",
        null=lambda table: table.assign(mask_gap=table["binary_gap"]),  # a mask of zeros and ones
    )
    def mean(table: Frame) -> Verdict:
        gap = table["mask_gap"].max()
        return judge(gap < EXACT, f"largest |E m_k − 1| is {gap:.0e} over all outcomes", len(table))

    @claim(
        "‖m‖₀ ≤ s, and ‖m‖₀ = s does not necessarily hold",
        at="Section 3",
        expect="never more than s",
        null=lambda table: table.assign(most=table["dimension"] + table["kept"]),
    )
    def number_kept(table: Frame) -> Verdict:
        over, fewer = (table["most"] > table["kept"]).sum(), table["drawn_kept"] / table["kept"]
        seen = f"‖m‖₀ > s in {over} of {len(table)} cases; on average ‖m‖₀ is {fewer.mean():.2f}·s"
        note = f"E‖m‖₀ = Σ_k [1 − (1 − p_k)ˢ] to {(table['drawn_kept'] - table['mean_kept']).abs().max():.0e}"
        return judge(over == 0 and (fewer[table["kept"] > 1] < 1).all(), seen, len(table), note)

    @claim(
        "The probabilities of Eq. 2 minimise the error",
        at="Section 3, Eq. 2",
        expect="never beaten",
        null=lambda table: table.assign(exact=table["rival"], rival=table["exact"]),
    )
    def optimal(table: Frame) -> Verdict:
        # Where all features agree in sign one draw already has no error; then rounding must not decide.
        lost = (table["rival"] < table["exact"] - EXACT * table["bound"]).sum()
        ratio = (table["rival"] / table["exact"])[table["exact"] > 1e-6 * table["bound"]].min()
        seen = f"other probabilities beat Eq. 2 in {lost} of {len(table)} cases; the closest has {ratio:.6f} times its"
        return judge(lost == 0, f"{seen} error", len(table))

    @claim(
        "Not all non-zero entries in the mask are equal",
        at="Section 3",
        expect="Cov m by Lemma B.2 with X = I",
        null=lambda table: table.assign(covariance_gap=table["binary_gap"]),
    )
    def spread(table: Frame) -> Verdict:
        gap = table["covariance_gap"].max()
        note = "so the smallest p_k gives the largest entries, 1/(s·p_k), and the entries of one mask have covariance "
        return judge(gap < EXACT, f"Cov m = (1/s)·(diag(1/p) − 1·1ᵀ) to {gap:.0e}", len(table), f"{note}−1/s")

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        shapes = {f"d = {d}, s = {s}": group for (d, s), group in table.groupby(["dimension", "kept"])}
        for name, group in shapes.items():
            some = group[group["exact"] > 1e-6 * group["bound"]]
            left.ecdf((some["rival"] / some["exact"] - 1).clip(lower=1e-10), label=name)
        label = "error of the best of 50 alternatives\n÷ error of Eq. 2, minus 1"
        left.set(xlabel=label, ylabel="share of cases below", xscale="log")
        left.legend(loc="upper left")
        draw_boxes(right, [group["drawn_kept"] / group["kept"] for group in shapes.values()], list(shapes))
        right.set(ylabel="mean number of kept weights ÷ s", ylim=(0, 1.05))
