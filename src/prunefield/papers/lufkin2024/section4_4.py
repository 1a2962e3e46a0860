"""Section 4.4 of lufkin2024: locality of a unit against its weight in the second layer."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import spearmanr

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import BLUE, GREY
from prunefield.papers.lufkin2024._fields import NOISE, list_fields
from prunefield.papers.lufkin2024.fig7 import CASES, RELUS, Fig7
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee


def describe_units(run: Committee, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each unit."""
    tensors = {name: tensor.to(torch.float64) for name, tensor in result.records[-1].tensors.items()}
    size = run.task.sites
    ipr = compute_ipr(tensors["weights"]).flatten() * size
    units = torch.arange(len(ipr))
    known = {"hidden": run.hidden, "size": size}
    return list_fields(known, unit=units, outer=tensors["outer"].flatten().abs(), ipr_n=ipr)


def shuffle_outer(table: Frame) -> Frame:
    """The null: weights of the second layer dealt to the units at random."""
    dealt = table["outer"].sample(frac=1, random_state=0).to_numpy()
    return table.assign(outer=dealt)


class Section4_4(Item):
    """Section 4.4 of lufkin2024: not all units localise, 'a result of a variable second-layer weight' (Lemma B.1)."""

    title = "Locality of a unit against its second-layer weight"
    size = (9, 3.8)
    open_choices = (
        "the ReLU networks of fig7 on Kur(30) data, all units",
        "the paper says that the second layer changes σ² in φ‴(0) = −√(2/π)(κσ⁴ − 3σ²) and gives no direction; that "
        "term falls with σ² above 3/(2κ), so larger weights should be less local. Criterion, set before anything was "
        "run: a negative rank correlation (Spearman) of |v| and IPR × N, one-sided at 5%",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [
            run
            for run in Fig7().runs(scale)
            if isinstance(run, Committee) and run.activation == "relu" and run.task.title == "Kur(30)"
        ]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_units, Committee)

    def ideal(self) -> Frame:
        """The larger the weight of the second layer, the less local the unit."""
        found = [
            {"hidden": hidden, "unit": unit, "outer": 0.5 + unit / 100, "ipr_n": 6 - unit / 25}
            for hidden in RELUS
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
        units = rows(table, hidden=hidden)
        outer, ipr = numbers(units, "outer"), numbers(units, "ipr_n")
        correlation, chance = map(float, tuple(spearmanr(outer, ipr, alternative="less")))
        seen = f"rank correlation {correlation:+.2f} (p = {chance:.2g}); |v| from {outer.min():.2f} to "
        seen += f"{outer.max():.2f}, median {np.median(outer):.2f}"
        return judge(chance < 0.05, seen, len(units))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for axes, hidden in zip(figure.subplots(1, len(RELUS), sharey=True), RELUS, strict=True):
            units = rows(table, hidden=hidden)
            axes.plot(units["outer"], units["ipr_n"], "o", color=BLUE, markersize=4)
            axes.axhline(NOISE, color=GREY, linewidth=0.8, linestyle="--", label="noise")
            axes.set(xlabel="|v|, weight in the second layer", title=f"K = {hidden}")
            axes.locator_params(axis="x", nbins=5)
        figure.axes[0].set_ylabel("IPR × N of the unit")
        figure.axes[0].legend()
