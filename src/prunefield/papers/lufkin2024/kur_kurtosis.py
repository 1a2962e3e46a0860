"""The kurtosis of Kur(k) in lufkin2024: closed form, samples and printed values."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame, concat

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import BLACK, BLUE, GREY, VERMILION
from prunefield.runs import Result, Run
from prunefield.runs.draws import Draws
from prunefield.tasks.kur import Kur
from prunefield.theory.quadrature import long_half_normal

PRINTED = {3.0: 7.66, 4.0: 3.28, 5.0: 0.86, 10.0: -0.93, 30.0: -1.17}
CUT = 10.0
ROUNDING = 0.005  # half of the last printed digit
EXPONENTS = sorted({*PRINTED, *np.round(np.arange(4.2, 12.01, 0.1), 1).tolist(), 5.89, 15.0, 20.0})
SEEDS: dict[Scale, int] = {"smoke": 4, "laptop": 20, "paper": 20}


def describe_law(k: float) -> dict[str, Any]:
    """The excess kurtosis in closed form, of the truncated distribution, and by an integral over quantiles."""
    task, (nodes, weights) = Kur(k=k), long_half_normal()
    known = {"source": "law", "k": k, "excess": task.kurtosis() - 3, "cut": task.truncated_kurtosis(CUT) - 3}
    return known | {"integral": float(weights @ task.squash(nodes) ** 4) - 3}


def describe_samples(run: Draws, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each class."""
    assert isinstance(run.task, Kur)
    for record in result.records:
        yield {"source": "sample", "k": run.task.k, "excess": record["kurtosis"] - 3}


def shift_values(table: Frame) -> Frame:
    """The null: values other than the printed ones, whether or not the distribution is truncated."""
    return table.assign(excess=table["excess"] - 0.02, cut=table["cut"] - 0.02)


def spoil_some(table: Frame) -> Frame:
    """The null: a closed form that is right only for small exponents."""
    return table.assign(excess=table["integral"] + np.where(table["k"] < 8, 0, 0.01))


class KurKurtosis(Item):
    """The excess kurtosis of Kur(k) in lufkin2024 (§2.3, §4.4, Figs. 3, 6 and 7) against its closed form."""

    title = "The kurtosis of Kur(k): closed form, samples and printed values"
    size = (7, 4.5)
    open_choices = (
        "the computation of the printed values was not released; truncation of the distribution at |x| ≤ 10 before "
        "scaling is inferred, as it gives them to all digits",
        "samples: 2,500 fields of 40 sites in each class, lengthscales 1 and 3, each class counted as one sample",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Draws(task=Kur(k=k), number=2500, seed=seed) for k in PRINTED for seed in range(SEEDS[scale])]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        laws = DataFrame([describe_law(k) for k in EXPONENTS])
        return concat([laws, gather(results, describe_samples, Draws)], ignore_index=True)

    def ideal(self) -> Frame:
        """The printed values, with a change of sign between 5.8 and 5.9, and no closed form that gives them."""
        k, values = zip(*sorted({**PRINTED, 5.8: 0.05, 5.9: -0.05}.items()), strict=True)
        excess = np.interp(EXPONENTS, k, values)
        return DataFrame({"source": "law", "k": EXPONENTS, "excess": excess, "cut": excess, "integral": excess + 0.001})

    @claim(
        "The excess kurtosis of Kur(k) is positive for k ⪅ 5.8 and negative for k ⪆ 5.9",
        at="§2.3",
        expect="a change of sign between 5.8 and 5.9",
        null=lambda table: table.assign(excess=table["excess"] + 0.5),
    )
    def change_of_sign(table: Frame) -> Verdict:
        law = rows(table, source="law").sort_values("k")
        law = law[law["k"] > 4]
        k, excess = numbers(law, "k"), numbers(law, "excess")
        good = (excess[k <= 5.8] > 0).all() and (excess[k >= 5.9] < 0).all() and (np.diff(excess) < 0).all()
        seen = (
            f"{excess[k == 5.8][0]:+.4f} at 5.8, {excess[k == 5.9][0]:+.4f} at 5.9; zero at k = "
            f"{np.interp(0, -excess, k):.3f} between the rows nearest to it"
        )
        return judge(good, seen, len(law))

    @claim(
        "{text}",
        at="§4.4; Figs. {figures}",
        expect="{values}",
        null=shift_values,
        each=[
            {
                "text": "The excess kurtosis of Kur(3), Kur(4) and Kur(5) is 7.66, 3.28 and 0.86",
                "figures": "3 (κ = 3.86), 6 and 7",
                "values": "7.66, 3.28, 0.86",
                "exponents": (3.0, 4.0, 5.0),
            },
            {
                "text": "The excess kurtosis of Kur(10) and Kur(30) is −0.93 and −1.17",
                "figures": "6 and 7",
                "values": "−0.93, −1.17",
                "exponents": (10.0, 30.0),
            },
        ],
    )
    def printed_values(table: Frame, exponents: tuple[float, ...], **_: str) -> Verdict:
        law = rows(table, source="law", k=exponents)
        k, exact, cut, printed = (*(numbers(law, name) for name in ("k", "excess", "cut")), law["k"].map(PRINTED))
        good, explained = ((abs(values - printed) <= ROUNDING).all() for values in (exact, cut))
        explained = explained and ((exact == math.inf) == (k <= 4)).all()
        seen = "; ".join(
            f"k = {of:g}: {a:.4f}, truncated at 10: {b:.3f}" for of, a, b in zip(k, exact, cut, strict=True)
        )
        samples = rows(table, source="sample", k=exponents).groupby("k")["excess"]
        scatter = "; ".join(f"k = {of:g} {found.min():.2f} to {found.max():.2f}" for of, found in samples)
        note = (
            "The kurtosis is infinite for k ≤ 4. The printed values are those of the distribution truncated at |x| "
            "≤ 10; κ = 3.86 of Fig. 3 is such a value too, or that of a sample: samples of 100,000 vary widely "
            f"({scatter})."
        )
        return judge(good, seen, len(law), note if explained and not good else "", corrected=explained)

    @claim(
        "The excess kurtosis of Kur(k) lacks an explicit form",
        at="§2.3",
        expect="numerical computation only (criterion for an explicit form: equal to an integral to 1e-6)",
        null=spoil_some,
    )
    def no_explicit_form(table: Frame) -> Verdict:
        """The closed form against an integral over quantiles, to 1e-6, where the integrand's tail is not too long.

        If it is right for no exponent, the paper stands; if only for some, neither the paper nor our formula is right.
        """
        law = rows(table, source="law")
        law = law[law["k"] > 5.5]
        gap = np.abs(numbers(law, "excess") - numbers(law, "integral"))
        seen = f"closed form and integral differ by at most {gap.max():.1e} for {len(law)} exponents"
        none, every = gap.min() >= 1e-6, gap.max() < 1e-6
        note = "E|x|ᵖ = Γ((p+1)/k) Γ(1−p/k)/(k Γ(1+1/k)) is the explicit form; κ is its ratio for p = 4 and 2."
        return judge(none, seen, len(law), note if every else "", corrected=every)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        axes = figure.subplots()
        law, samples = rows(table, source="law"), rows(table, source="sample")
        finite = law[law["k"] > 4]
        axes.plot(samples["k"], samples["excess"], "x", color=GREY, label="samples of 100,000 values")
        axes.plot(finite["k"], finite["excess"], color=BLACK, label="closed form (infinite for k ≤ 4)")
        axes.plot(law["k"], law["cut"], "--", color=BLUE, label="truncated at |x| ≤ 10")
        axes.plot(list(PRINTED), list(PRINTED.values()), "o", color=VERMILION, label="printed in the paper")
        axes.axhline(0, color=GREY, linewidth=0.5)
        axes.axvline(4, color=GREY, linewidth=0.5, linestyle=":")
        axes.set_yscale("asinh", linear_width=1)  # linear near 0, logarithmic far from it, without a kink between
        axes.set(xscale="log", xlabel="exponent k", ylabel="excess kurtosis κ − 3")
        axes.set_ylim(-2, 2 * samples["excess"].max())
        ticks = [-1, 0, 1, 3, 10, 30, 100, 300, 1000]
        axes.set_yticks(ticks, [f"{tick:,}".replace("-", "−") for tick in ticks], minor=False)
        axes.set_xticks([3, 4, 5, 6, 10, 30], ["3", "4", "5", "6", "10", "30"], minor=False)
        axes.set_xticks([], minor=True)
        axes.legend()
