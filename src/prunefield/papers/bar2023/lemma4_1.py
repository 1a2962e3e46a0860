"""Lemma 4.1 of bar2023: the error at initialisation for given inputs."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.core.figures import draw_boxes
from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge, rows
from prunefield.papers._kit import BLACK, GREEN, VERMILION
from prunefield.papers.bar2023._cases import EXACT, LADDER, SHAPES, SMALL, ladder, outcomes, tabulate_cases
from prunefield.runs import Result, Run
from prunefield.runs.outcomes import Outcomes


def drop_square(table: Frame) -> Frame:
    """The null: an error without a last term, neither ‖Xᵀw0‖ nor its square."""
    return table.assign(enumerated=table["bound"])


def compare_formulas(table: Frame, observed: str) -> Verdict:
    """False as printed; corrected if the squared form is the enumerated error."""
    gaps = ((table[name] - table["enumerated"]).abs() for name in ("unsquared", "optimal"))
    printed, squared = ((gap / (table["power"] / table["kept"])).max() < EXACT for gap in gaps)
    note = "a square is missing in print: the error is (1/s)·[(Σ_k ‖X_(k)‖|w0_k|)² − ‖Xᵀw0‖²]"
    return judge(printed, observed, len(table), "" if printed else note, corrected=squared)


class Lemma4_1(Item):
    """bar2023, Lemma 4.1: the exact error of the sketched mask on the weights that it was made from."""

    title = "Lemma 4.1: the error at initialisation, inputs given"
    size = (9, 4.4)
    open_choices = (
        SMALL,
        "For d = 10, 100, 1000 (n = 8) the identity is used, which the enumerations confirm.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        ones = [
            Outcomes(dimension=2, examples=1, kept=1, cases=1, start=(w, w), end=(w, w), inputs=((1,), (1,)))
            for w in (2.0, 0.1)
        ]
        w, x = (1.0, -0.5, 0.2), ((1, 2), (-1, 1), (0.5, 3))
        densities = [Outcomes(dimension=3, examples=2, kept=s, cases=1, start=w, end=w, inputs=x) for s in (1, 2, 4, 6)]
        return [*outcomes(scale), *ones, *densities, *ladder(scale)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_cases(results)

    def ideal(self) -> Frame:
        """(a² − b)/s, a = Σ_k ‖X_(k)‖|w0_k| and b = ‖Xᵀw0‖, everywhere: X = (1, 1)ᵀ, other given X, and drawn ones."""
        cases = [(True, 2, 1, 1, 2 * w, 2 * w) for w in (2.0, 0.1)]
        cases += [(True, 3, 2, s, 3.0, 2.0) for s in (1, 2, 4, 6)]
        cases += [(False, d, n, s, float(d), 2.0) for d, n, s in (*SHAPES, *((d, 8, 8) for d in LADDER))]
        table = DataFrame(cases, columns=["made", "dimension", "examples", "kept", "a", "b"])
        a, b, s = table.pop("a"), table.pop("b"), table["kept"]
        error = (a**2 - b) / s
        table = table.assign(start="", power=b**2, bound=a**2 / s, unsquared=error, optimal=(a**2 - b**2) / s)
        return table.assign(exact=error, enumerated=error.where(~table["dimension"].isin(LADDER)))

    @claim(
        "The error is (1/s)(Σ_k ‖X_(k)‖|w0_k|)² − (1/s)‖Xᵀw0‖",
        at="Lemma 4.1",
        expect="equal to the exact error; in particular, never 12 where that is 0, and never negative",
        null=drop_square,
    )
    def equal_for_made_inputs(table: Frame) -> Verdict:
        made = rows(table, made=True, examples=1)
        parts = (
            f"X = (1, 1)ᵀ, w0 = {case.start}: error {case.enumerated:g}, printed {case.unsquared:g}"
            for case in made.itertuples()
        )
        squared = "/".join(f"{error:g}" for error in made["optimal"].round(9))
        return compare_formulas(made, f"{'; '.join(parts)}, with the square {squared}")

    @claim(
        "The formula also holds for random inputs and weights",
        at="Lemma 4.1",
        expect="equal to full enumeration",
        null=drop_square,
    )
    def equal_for_drawn_inputs(table: Frame) -> Verdict:
        drawn = rows(table, made=False)
        far, drawn = drawn[drawn["enumerated"].isna()], drawn.dropna(subset="enumerated")
        miss = (drawn["unsquared"] / drawn["enumerated"] - 1).abs().median()
        below = (drawn["unsquared"] < drawn["enumerated"] - EXACT * drawn["power"]).sum()
        seen = f"the printed formula misses the enumerated error by {miss:.0%} (median), is below it in {below} of "
        ratios = (far["unsquared"] / far["exact"]).groupby(far["dimension"]).median()
        each = ", ".join(f"{ratio:.3f} at d={d}" for d, ratio in ratios.items())
        return compare_formulas(drawn, f"{seen}{len(drawn)}; median printed ÷ exact error {each}")

    @claim(
        "The error is proportional to 1/s",
        at="Section 4",
        expect="s·error constant",
        null=lambda table: table.assign(enumerated=table["enumerated"] * table["kept"]),  # the same at every s
    )
    def inverse_to_s(table: Frame) -> Verdict:
        made = rows(table, made=True, examples=2)
        scaled = made["enumerated"] * made["kept"]
        gap = (scaled / scaled.mean() - 1).abs().max()
        return judge(gap < EXACT, f"s·error is constant to {gap:.0e} for s = 1 to {made['kept'].max()}", len(made))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        drawn = rows(table, made=False)
        some = drawn[drawn["enumerated"] > 1e-6].groupby(["dimension", "kept"]).head(50)
        for name, label, colour in (("unsquared", "as printed", VERMILION), ("optimal", "squared", GREEN)):
            left.plot(some["enumerated"], some[name], ".", color=colour, label=label)
        ends = [some["enumerated"].min(), some["enumerated"].max()]
        left.plot(ends, ends, color=BLACK, linewidth=1, label="equal")
        left.set(xscale="log", yscale="log", xlabel="error by enumeration", ylabel="error by Lemma 4.1")
        left.legend()
        groups = drawn[drawn["exact"] > 1e-6].groupby("dimension")
        ratios = [
            (group["unsquared"] / group["exact"]).clip(lower=1e-3) for _, group in groups
        ]  # some are not positive
        draw_boxes(right, ratios, [str(d) for d in groups.groups])
        right.axhline(1, color=BLACK, linewidth=1)
        right.set(xlabel="dimension d", ylabel="printed ÷ exact error (at least 0.001)", yscale="log")
