"""Lemma 4.2 of bar2023: the error at initialisation for Gaussian inputs."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure
from pandas import DataFrame, concat
from torch import float64, tensor

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import BLACK, BLUE, VERMILION, Row
from prunefield.papers.bar2023._cases import swap_errors_and_bounds
from prunefield.runs import Result, Run
from prunefield.runs.enumeration import Enumeration
from prunefield.runs.sketch import Sketch
from prunefield.theory.sketch_lemmas import start_bound, start_bound_corrected

DRAWS: dict[Scale, int] = {"smoke": 400, "laptop": 4000, "paper": 20_000}  # as in theorem4.4, to share runs
DIMENSIONS = (2, 3, 4, 6, 10, 30, 100, 1000)
swap = partial(swap_errors_and_bounds, failures={"printed": "failures", "corrected": "corrected_failures"})


def count_failures(run: Sketch, result: Result) -> list[Row]:
    """How often each bound is violated by random weights."""
    found = result.records[0].tensors
    exact, printed = found["exact"], found["uniform"] / (run.dimension - 1)  # ‖w0‖²/s, from the uniform mask's error
    corrected = found["printed"] - printed  # Theorem 4.4 at w⋆ = w0 is ‖w0‖₁²/s
    broken, unfixed = (int((exact > bound * (1 + 1e-12)).sum()) for bound in (printed, corrected))
    counts = {"failures": broken, "corrected_failures": unfixed, "ratio": (exact / printed).median().item()}
    known = {"examples": run.examples, "kept": run.kept, "dimension": run.dimension, "draws": run.draws}
    return [{"source": "draws", **known, **counts}]


def compare_bounds(run: Enumeration, result: Result) -> list[Row]:
    """The enumerated error and each bound for given weights."""
    w, error = tensor(run.start, dtype=float64), result.records[0]["enumerated"]
    printed, corrected = (bound(w, run.kept).item() for bound in (start_bound, start_bound_corrected))
    known = {"examples": run.examples, "kept": run.kept, "dimension": len(w), "start": str(run.start)}
    found = {"printed": printed, "corrected": corrected, "enumerated": error, "ratio": error / printed}
    return [{"source": "enumeration", **known, **found}]


def judge_failures(broken: int, unfixed: int, observed: str, n: int) -> Verdict:
    """The verdict, from how often the printed and the corrected bound are violated."""
    note = (
        "the proof assumes (Σ a_k)² ≤ Σ a_k² for a_k ≥ 0; the exact error is (c_n/s)(‖w0‖₁² − ‖w0‖²), and the printed "
        "bound holds iff ‖w0‖₁²/‖w0‖² ≤ 1 + 1/c_n: always for d ≤ 2"
    )
    return judge(broken == 0, observed, n, note if broken else "", corrected=unfixed == 0)


class Lemma4_2(Item):
    """bar2023, Lemma 4.2: the bound on the error at initialisation for Gaussian inputs."""

    title = "Lemma 4.2: the error at initialisation, Gaussian inputs"
    size = (9, 4.4)
    open_choices = (
        "Weights: the lemma is stated for any; w0 ~ N(0, I) with n = 1 and 128, and equal weights, were chosen; "
        "both n have the same w0.",
        "The error for random weights is the closed form, which enumeration and quadrature confirm for equal weights.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        drawn = [Sketch(dimension=d, tau=0.0, examples=n, draws=DRAWS[scale]) for n in (1, 128) for d in DIMENSIONS]
        made = [
            Enumeration(start=(1.0,) * d, end=(1.0,) * d, examples=n, nodes=24, draws=2000)
            for d, n in ((2, 4), (3, 1), (3, 4))
        ]
        return [*drawn, *made]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        parts = (gather(results, count_failures, Sketch), gather(results, compare_bounds, Enumeration))
        return concat(parts, ignore_index=True)

    def ideal(self) -> Frame:
        """The printed bound always holds: equal weights have 0.9 of ‖w0‖²/s = d, and random ones no failures."""
        draws = DataFrame([(d, n) for n in (1, 128) for d in DIMENSIONS], columns=["dimension", "examples"])
        draws = draws.assign(source="draws", draws=400, failures=0, corrected_failures=0, ratio=0.9)
        made = DataFrame([(2, 4), (3, 1), (3, 4)], columns=["dimension", "examples"])
        d = made["dimension"]
        made = made.assign(source="enumeration", start="", enumerated=0.9 * d, printed=d, corrected=d * (d - 1))
        return concat([draws, made], ignore_index=True)

    @claim("The error is at most (1/s)‖w0‖²", at="Lemma 4.2", expect="no counterexample", null=swap)
    def holds_for_equal_weights(table: Frame) -> Verdict:
        made = rows(table, source="enumeration")
        parts = (
            f"w0 = {case.start}, n={case.examples}: error {case.enumerated:.4f}, printed {case.printed:g}"
            for case in made.itertuples()
        )
        broken, unfixed = ((made["enumerated"] > made[name] * (1 + 1e-9)).sum() for name in ("printed", "corrected"))
        return judge_failures(broken, unfixed, "; ".join(parts), len(made))

    @claim(
        "The bound also holds for random weights, in every dimension", at="Lemma 4.2", expect="0% failures", null=swap
    )
    def holds_for_random_weights(table: Frame) -> Verdict:
        drawn, parts = rows(table, source="draws"), []
        for n, group in drawn.groupby("examples"):
            rates = "/".join(f"{100 * rate:.0f}" for rate in group["failures"] / group["draws"])
            parts.append(f"{rates}% of draws at n={n}")
        dimensions = "/".join(str(d) for d in sorted(drawn["dimension"].unique()))
        ratio = rows(drawn, dimension=100, examples=128)["ratio"][0]
        seen = f"fails in {', '.join(parts)} for d={dimensions}; at d=100 the error is {ratio:.0f} × the printed bound"
        return judge_failures(drawn["failures"].sum(), drawn["corrected_failures"].sum(), seen, drawn["draws"].sum())

    @claim("The bound holds for two weights", at="Lemma 4.2, d = 2", expect="0 failures", null=swap)
    def holds_for_two_weights(table: Frame) -> Verdict:
        failures, draws = rows(table, source="draws", dimension=2)[["failures", "draws"]].sum()
        return judge(failures == 0, f"{failures:.0f} failures in {draws:.0f} draws at d=2", draws)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        drawn, made = rows(table, source="draws"), rows(table, source="enumeration")
        for (n, group), colour in zip(drawn.groupby("examples"), (VERMILION, BLUE), strict=True):
            style = {"marker": "o", "color": colour, "label": f"n = {n}"}
            left.plot(group["dimension"], 100 * group["failures"] / group["draws"], **style)
            right.plot(group["dimension"], group["ratio"], **style)
        right.plot(made["dimension"], made["ratio"], "k*", label="equal weights, enumerated")
        right.axhline(1, color=BLACK, linewidth=1, label="error = bound")
        left.set(xscale="log", xlabel="dimension d", ylabel="draws that violate the printed bound (%)")
        right.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="exact error ÷ printed bound (median)")
        left.legend()
        right.legend()
