"""Section 4.4 of lufkin2024: locality of a unit against its weight in the second layer."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import spearmanr

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import OPEN, Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import BLUE, GREY
from prunefield.papers.lufkin2024._fields import NOISE, list_fields
from prunefield.papers.lufkin2024.fig7 import CASES, RELUS, Fig7
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee

RATIO = 9.0  # largest over smallest initial weight of the second layer, in networks of our own
LONGER = round(RATIO**0.5)  # a unit whose weight is that much smaller learns that much more slowly
VARIABLE = 1.5  # largest over smallest |v|: with less, it cannot be the reason for anything


def describe_units(run: Committee, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each unit."""
    tensors = {name: tensor.to(torch.float64) for name, tensor in result.records[-1].tensors.items()}
    size = run.task.sites
    ipr = compute_ipr(tensors["weights"]).flatten() * size
    units = torch.arange(len(ipr))
    known = {"hidden": run.hidden, "ratio": run.outer_ratio, "size": size}
    return list_fields(known, unit=units, outer=tensors["outer"].flatten().abs(), ipr_n=ipr)


def shuffle_outer(table: Frame) -> Frame:
    """The null: weights of the second layer dealt at random to the units of the same networks."""
    weights = table.groupby(["hidden", "ratio"])["outer"]
    return table.assign(outer=weights.transform(lambda part: part.sample(frac=1, random_state=0).to_numpy()))


def judge_correlation(units: Frame) -> Verdict:
    """Whether units with larger weights in the second layer are less local; open where these hardly differ."""
    outer, ipr = numbers(units, "outer"), numbers(units, "ipr_n")
    correlation, chance = map(float, tuple(spearmanr(outer, ipr, alternative="less")))
    seen = f"rank correlation {correlation:+.2f} (p = {chance:.2g}); |v| from {outer.min():.2f} to "
    seen += f"{outer.max():.2f}, median {np.median(outer):.2f}; {(ipr > NOISE).sum()} of {len(units)} above the noise"
    verdict = judge(chance < 0.05, seen, len(units))
    if outer.max() >= VARIABLE * outer.min():
        return verdict
    return replace(verdict, status=OPEN, note=f"the {len(units)} weights are nearly equal")


class Section4_4(Item):
    """Section 4.4 of lufkin2024: not all units localise, 'a result of a variable second-layer weight' (Lemma B.1)."""

    title = "Locality of a unit against its second-layer weight"
    size = (9, 7)
    open_choices = (
        "the ReLU networks of fig7 on Kur(30) data, all units",
        "the paper says that the second layer changes σ² in φ‴(0) = −√(2/π)(κσ⁴ − 3σ²) and gives no direction; that "
        "term falls with σ² above 3/(2κ), so larger weights should be less local. Criterion, set before anything was "
        "run: a negative rank correlation (Spearman) of |v| and IPR × N, one-sided at 5%",
        "added, when the second-layer weights of these networks had turned out to be nearly equal: the same networks "
        f"with initial weights of the second layer that differ by a factor of {RATIO:g}, trained {LONGER} times as "
        "long (not at smoke scale), as a unit of small weight learns slowly; and the rule that weights which differ by "
        f"less than a factor of {VARIABLE:g} decide nothing. Both were written before these networks were run at "
        "laptop scale; the criterion is the same",
    )

    def runs(self, scale: Scale) -> list[Run]:
        found = [
            run
            for run in Fig7().runs(scale)
            if isinstance(run, Committee) and run.activation == "relu" and run.task.title == "Kur(30)"
        ]
        longer = 1 if scale == "smoke" else LONGER
        unequal = [Committee(**{**dict(run), "outer_ratio": RATIO, "steps": longer * run.steps}) for run in found]
        return [*found, *unequal]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_units, Committee)

    def ideal(self) -> Frame:
        """The larger the weight of the second layer, the less local the unit."""
        found = [
            {"hidden": hidden, "ratio": ratio, "unit": unit, "outer": 0.5 + unit / 100, "ipr_n": 6 - unit / 25}
            for hidden in RELUS
            for ratio in (1.0, RATIO)
            for unit in range(100)
        ]
        return DataFrame(found).assign(size=40)

    @claim(
        "Units that are not local are those with larger second-layer weights (K = {hidden})",
        at="§4.4; Lemma B.1",
        expect="a negative rank correlation of |v| and IPR·N (one-sided, 5%)",
        null=shuffle_outer,
        decided_at="laptop",
        each=CASES,
    )
    def explained_by_second_layer(table: Frame, hidden: int) -> Verdict:
        return judge_correlation(rows(table, hidden=hidden, ratio=1.0))

    @claim(
        "Where second-layer weights differ, units with larger ones are less local (K = {hidden})",
        at="our question; §4.4, Lemma B.1",
        expect="a negative rank correlation of |v| and IPR·N (one-sided, 5%)",
        null=shuffle_outer,
        decided_at="laptop",
        each=CASES,
    )
    def with_unequal_weights(table: Frame, hidden: int) -> Verdict:
        return judge_correlation(rows(table, hidden=hidden, ratio=RATIO))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        words = {1.0: "as in fig7", RATIO: f"initial v differs by a factor of {RATIO:g}"}
        for line, (ratio, what) in zip(figure.subplots(2, len(RELUS), sharey=True), words.items(), strict=True):
            for axes, hidden in zip(line, RELUS, strict=True):
                units = rows(table, hidden=hidden, ratio=ratio)
                axes.plot(units["outer"], units["ipr_n"], "o", color=BLUE, markersize=4)
                axes.axhline(NOISE, color=GREY, linewidth=0.8, linestyle="--", label="noise")
                axes.set(xlabel="|v|, weight in the second layer", title=f"K = {hidden}, {what}")
                axes.locator_params(axis="x", nbins=5)
            line[0].set_ylabel("IPR × N of the unit")
        figure.axes[0].legend()
