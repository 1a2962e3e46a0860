"""Lemma 4.1 of bar2023: the error at initialisation for given inputs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import CASES, EXACT, SHAPES, SMALL, Frame, outcomes, tabulate
from prunefield.runs import Result, Run
from prunefield.runs.outcomes import Outcomes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LADDER = (10, 100, 1000)
NOTE = "a square is missing in print: the error is (1/s)·[(Σ_k ‖X_(k)‖|w0_k|)² − ‖Xᵀw0‖²]"


def _judge(table: Frame, seen: str) -> Verdict:
    """False as printed; corrected if the squared form is the enumerated error."""
    truth, scale = table["enumerated"], table["power"] / table["kept"]
    printed, squared = (((table[name] - truth).abs() / scale).max() for name in ("unsquared", "optimal"))
    if printed < EXACT:
        return Verdict("reproduced", seen, len(table))
    return Verdict("corrected" if squared < EXACT else "not reproduced", seen, len(table), NOTE)


def _check_made(table: Frame) -> Verdict:
    rows = table.query("made and examples == 1")
    parts = [f"X = (1, 1)ᵀ, w0 = {r.start}: error {r.enumerated:g}, printed {r.unsquared:g}" for r in rows.itertuples()]
    return _judge(rows, "; ".join(parts) + ", with the square " + "/".join(f"{o:g}" for o in rows["optimal"].round(9)))


def _check_drawn(table: Frame) -> Verdict:
    rows = table.query("not made and enumerated.notna()")
    gap = (rows["unsquared"] / rows["enumerated"] - 1).abs()
    below = int((rows["unsquared"] < rows["enumerated"] - EXACT * rows["power"]).sum())
    ladder = table.query("not made and enumerated.isna()")
    far = (ladder["unsquared"] / ladder["exact"]).groupby(ladder["dimension"]).median()
    seen = (
        f"the printed formula misses the enumerated error by {gap.median():.0%} (median), is below it in {below} of "
        f"{len(rows)}"
    )
    return _judge(
        rows, f"{seen}; median printed ÷ exact error " + ", ".join(f"{far[d]:.3f} at d={d}" for d in far.index)
    )


def _check_density(table: Frame) -> Verdict:
    rows = table.query("made and examples > 1")
    scaled = rows["enumerated"] * rows["kept"]
    gap = float((scaled / scaled.mean() - 1).abs().max())
    seen = f"s·error is constant to {gap:.0e} for s = 1 to {rows['kept'].max()}"
    return Verdict("reproduced" if gap < EXACT else "not reproduced", seen, len(rows))


def _drop_last_term(table: Frame) -> Frame:
    """An error without a last term: neither ‖Xᵀw0‖ nor its square is subtracted."""
    return table.assign(enumerated=table["bound"])


class Lemma4_1(Item):
    """bar2023, Lemma 4.1: the exact error of the sketched mask on the weights that it was made from."""

    title = "Lemma 4.1: the error at initialisation, inputs given"
    open_choices = (
        SMALL,
        "For d = 10, 100, 1000 (n = 8) the identity is used, which the enumerations confirm.",
    )
    claims = (
        Claim(
            "The error is (1/s)(Σ_k ‖X_(k)‖|w0_k|)² − (1/s)‖Xᵀw0‖",
            "Lemma 4.1",
            "equal to the exact error, so never 12 where it is 0, and never negative",
            _check_made,
            _drop_last_term,
        ),
        Claim(
            "The same for random inputs and weights",
            "Lemma 4.1",
            "equal to full enumeration",
            _check_drawn,
            _drop_last_term,
        ),
        Claim(
            "The error is proportional to 1/s",
            "Section 4",
            "s·error constant",
            _check_density,
            lambda table: table.assign(enumerated=table["enumerated"] * table["kept"]),  # the same at every s
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        ones = [
            Outcomes(dimension=2, examples=1, kept=1, cases=1, start=(w, w), end=(w, w), inputs=((1,), (1,)))
            for w in (2.0, 0.1)
        ]
        w, x = (1.0, -0.5, 0.2), ((1, 2), (-1, 1), (0.5, 3))
        densities = [Outcomes(dimension=3, examples=2, kept=s, cases=1, start=w, end=w, inputs=x) for s in (1, 2, 4, 6)]
        ladder = [Outcomes(dimension=d, examples=8, kept=8, rivals=1, cases=CASES[scale]) for d in LADDER]
        return [*outcomes(scale), *ones, *densities, *ladder]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate(results)

    def ideal(self) -> Frame:
        """(a² − b)/s, a = Σ_k ‖X_(k)‖|w0_k| and b = ‖Xᵀw0‖, everywhere: X = (1, 1)ᵀ, other given X, and drawn ones."""
        import pandas as pd

        cases = [(True, 2, 1, 1, 2 * w, 2 * w) for w in (2.0, 0.1)]
        cases += [(True, 3, 2, s, 3.0, 2.0) for s in (1, 2, 4, 6)]
        cases += [(False, d, n, s, float(d), 2.0) for d, n, s in (*SHAPES, *((d, 8, 8) for d in LADDER))]
        table = pd.DataFrame(cases, columns=["made", "dimension", "examples", "kept", "a", "b"])
        a, b, s = table.pop("a"), table.pop("b"), table["kept"]
        error = (a**2 - b) / s
        table = table.assign(start="", power=b**2, bound=a**2 / s, unsquared=error, optimal=(a**2 - b**2) / s)
        return table.assign(exact=error, enumerated=error.where(~table["dimension"].isin(LADDER)))

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        rows = table.query("not made and enumerated > 1e-6").groupby(["dimension", "kept"]).head(50)
        for name, label, colour in (("unsquared", "as printed", "#D55E00"), ("optimal", "squared", "#009E73")):
            left.plot(rows["enumerated"], rows[name], ".", color=colour, label=label)
        ends = [rows["enumerated"].min(), rows["enumerated"].max()]
        left.plot(ends, ends, color="black", linewidth=1)
        left.set(xscale="log", yscale="log", xlabel="error by enumeration", ylabel="Lemma 4.1")
        left.legend()
        groups = table.query("not made").groupby("dimension")
        ratios = [(group["unsquared"] / group["exact"])[group["exact"] > 1e-6].tolist() for _, group in groups]
        right.boxplot(ratios, tick_labels=[str(d) for d in groups.groups], showfliers=False)
        right.axhline(1, color="black", linewidth=1)
        right.set(xlabel="dimension d", ylabel="printed ÷ exact error", yscale="log")
        return figure
