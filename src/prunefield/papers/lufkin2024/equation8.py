"""Eq. 8 of lufkin2024: the steady state on many sites."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.core.figures import pick_shade
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers
from prunefield.papers._kit import BLACK, BLUE, GREY
from prunefield.runs import Result, Run
from prunefield.runs.steady import Steady

SIZES = (40, 80, 160, 320, 640, 1280)
SHRINKING = 3.0  # a limit of second order: each change of ∫u is about 4 times as small as the one before
SOLVED = 1e-8  # largest |left-hand side| of an equation that holds; the search stops at 2·10⁻⁹


def describe_state(run: Steady, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each ring."""
    (record,) = result.records
    yield {"size": run.size} | {name: record[name] for name in ("mean", "ipr", "whole", "half", "doubled")}


def leave_unscaled(table: Frame) -> Frame:
    """The null: w instead of u = N·w, which vanishes as 1/N, with an IPR times N that grows."""
    return table.assign(mean=table["mean"] / table["size"], ipr=table["ipr"] * table["size"] / SIZES[0])


def spoil_all(table: Frame) -> Frame:
    """The null: a field that solves the equation neither with the factor ½ nor without it."""
    return table.assign(whole=0.5, half=0.5)


class Equation8(Item):
    """The limit of steady states for many sites (lufkin2024, App. B.2, Eq. 8), on spins."""

    title = "Eq. 8: the steady state on many sites"
    size = (8, 4.4)
    open_choices = (
        "the paper does not say how lengthscales behave in the limit: here they grow as ξ = ℓN, with couplings 0.3 and "
        "0.7 on 40 sites, and u = N·w; with ξ fixed in sites there is no such limit",
        "spins only: for the covariance exp(−d²/ξ²) no bump has a limit, because its spectrum, by which the equation "
        "divides, falls faster than that of φ(…)",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Steady(size=size) for size in SIZES]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_state, on=Steady)

    def ideal(self) -> Frame:
        """Errors of order N⁻², and an equation that holds as printed."""
        rows = [{"size": size, "mean": 1 - size**-2, "ipr": 18 - 18 * size**-2, "half": 0.0} for size in SIZES]
        return DataFrame(rows).assign(whole=0.5, doubled=0.5)

    @claim(
        "In the limit of many sites the steady state of Eq. 5 becomes a function on [0, 1]",
        at="App. B.2, Eq. 8",
        expect="each doubling of N changes ∫u by at most a third as much as the one before, and IPR·N by less than "
        "the one before",
        null=leave_unscaled,
    )
    def has_a_limit(table: Frame) -> Verdict:
        table = table.sort_values("size")
        ratios = {}
        for name in ("mean", "ipr"):
            steps = [abs(after - before) for before, after in pairwise(numbers(table, name))]
            ratios[name] = [before / after for before, after in pairwise(steps)]
        mean, ipr, factors = (
            ", ".join(f"{value:.{digits}f}" for value in values)
            for values, digits in ((numbers(table, "mean"), 5), (numbers(table, "ipr"), 2), (ratios["mean"], 1))
        )
        holds = min(ratios["mean"]) >= SHRINKING and min(ratios["ipr"]) > 1
        note = f"changes of ∫u shrink by factors of {factors}"
        return judge(holds, f"∫u = {mean}; IPR·N = {ipr}", len(table), note)

    @claim(
        "Steady states solve φ(σ₁⋆w/√⟨σ₁⋆w, w⟩) = ½(σ₀ + σ₁)⋆w",
        at="App. B.2, Eq. 8",
        expect=f"largest difference between the two sides at most {SOLVED:.0e}",
        null=spoil_all,
    )
    def holds_as_printed(table: Frame) -> Verdict:
        half, whole, doubled = (float(table[name].max()) for name in ("half", "whole", "doubled"))
        observed = (
            f"the two sides differ by {half:.2g} with the factor ½, by {whole:.1g} without it, and by {doubled:.1g} "
            "with it at 2w"
        )
        holds = half <= SOLVED
        note = "" if holds else "without the factor ½, as in Eq. 5; with it, solutions are exactly twice as large"
        return judge(holds, observed, len(table), note, corrected=whole <= SOLVED and doubled <= SOLVED)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
        for place, (run, result) in enumerate(results.items()):
            assert isinstance(run, Steady)
            colour = pick_shade(place, len(results))
            field = run.size * result.records[0].tensors["weights"].roll(run.size // 2)
            places = [site / run.size - 0.5 for site in range(run.size)]
            left.plot(places, field, color=colour, label=str(run.size))
        left.set(xlabel="place on the ring", ylabel="u = N·w", xlim=(-0.25, 0.25))
        left.legend(title="sites N")
        table = table.sort_values("size")
        mean, size = numbers(table, "mean"), numbers(table, "size")
        right.loglog(size[:-1], abs(mean[:-1] - mean[-1]), "o-", color=BLUE, label="|∫u − ∫u at the most sites|")
        right.loglog(size, abs(mean[1] - mean[-1]) * (size[1] / size) ** 2, "--", color=GREY, label="∝ N⁻²")
        right.loglog(
            size, numbers(table, "half"), "s:", color=BLACK, label="difference of the sides of Eq. 8 as printed"
        )
        right.set(xlabel="sites N")
        right.set_ylim(top=30)  # room for the legend
        right.legend(loc="upper right")
