"""Our own question: do the units of a committee repel each other, and does a flow with pairs of units predict it?"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import mannwhitneyu

from prunefield.core.figures import letter_panels
from prunefield.measures.localisation import compute_ipr, locate_peak, measure_ring_distance
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, replace_rows, rows
from prunefield.papers._kit import BLUE, GREY, PALETTE, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee
from prunefield.runs.committee_flow import CommitteeFlow
from prunefield.tasks.ising import Ising

SITES = 40
UNITS = (2, 4)  # of a committee
TOGETHER, FLOW, ALONE = "simulated", "flow", "each alone"
COLOURS = {TOGETHER: BLUE, FLOW: VERMILION, ALONE: GREY}
# For each scale: networks, examples of a batch, rate and steps for each unit.
SIZES: dict[Scale, tuple[int, int, float, int]] = {
    "smoke": (4, 10, 0.2, 200),
    "laptop": (20, 40, 0.1, 2000),
    "paper": (100, 200, 0.05, 8000),
}


def find_nearest(peaks: torch.Tensor, size: int) -> torch.Tensor:
    """The smallest distance on a ring between any two of the positions (nets, units), shape (nets,).

    >>> find_nearest(torch.tensor([[0, 5, 38], [1, 1, 9]]), 40).tolist()
    [2, 0]
    """
    gaps = measure_ring_distance(peaks[:, :, None], peaks[:, None], size)
    return gaps.masked_fill(torch.eye(peaks.shape[1], dtype=torch.bool), size).flatten(1).amin(1)


def tabulate_networks(run: Committee | CommitteeFlow, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each network: how local its units are, and how near each other."""
    w = result.records[-1].tensors["weights"].to(torch.float64)
    source = TOGETHER if isinstance(run, Committee) else FLOW if run.together else ALONE
    norms = w.norm(dim=-1)
    return list_fields(
        {"source": source, "units": run.hidden, "size": run.task.sites},
        net=torch.arange(run.inits),
        nearest=find_nearest(locate_peak(w), run.task.sites),
        ipr_n=(compute_ipr(w) * run.task.sites).median(-1).values,
        shared=w.sum(1).abs().sum(-1) / w.abs().sum((1, 2)),
        smallest=norms.amin(-1) / norms.amax(-1),
    )


class Tiling(Item):
    """Our own question about lufkin2024, §5: units of a committee together and alone, simulated and by a flow."""

    title = "Units of a committee: do they repel each other and tile the ring?"
    size = (11, 6.4)
    open_choices = (
        "This item is not in the paper. §5 says that interactions between neurons seem to play no significant role in "
        "shaping localisation; whether units share the ring is asked here.",
        "Ising data, N = 40, couplings 0.3 and 0.7; soft committees of 2 and 4 ReLU units without biases, second layer "
        "1/K, init_scale 0.001, batches with all translates and both signs of each example",
        "the flow is Eq. 5 with moments over the orthant of each pair of units, which is exact for Gaussian data "
        "(theory/committee_flow.py); 'each alone' integrates Eq. 5 for every unit from the same initial weights",
        "criteria, set before anything was run: 'no significant role' is a median IPR × N within a quarter of that of "
        "units alone; 'repel' a one-sided rank test at 5 % of the smallest distance between two peaks in a network "
        "against units alone; the flow agrees if its median smallest distance is within 2 sites of the simulated one",
        "the networks of a run see the same batches, so they are not fully independent",
    )

    def runs(self, scale: Scale) -> list[Run]:
        nets, batch, rate, steps = SIZES[scale]
        runs: list[Run] = []
        for units in (1, *UNITS):
            same = {"task": Ising(size=SITES), "inits": nets, "hidden": units, "init_scale": 1e-3}
            learning = {"lr": rate * units, "steps": steps, "record_every": steps, "batch_size": batch}
            runs.append(Committee(activation="relu", bias=False, symmetric=True, **learning, **same))
            if units == 1:
                continue
            runs.append(CommitteeFlow(time=rate * steps * units, **same))
            runs.append(CommitteeFlow(time=rate * steps, together=False, **same))
        return runs

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, tabulate_networks, (Committee, CommitteeFlow))

    def ideal(self) -> Frame:
        """Units together are as local as alone, but never closer to each other than a quarter of the ring."""
        found = []
        for units, source, net in product(UNITS, (TOGETHER, FLOW, ALONE), range(20)):
            nearest = net % 10 if source == ALONE else 9 + net % 3
            found.append({"units": units, "source": source, "net": net, "nearest": nearest, "shared": 1.0})
        found += [{"units": 1, "source": TOGETHER, "net": net, "nearest": SITES, "shared": 1.0} for net in range(20)]
        return DataFrame(found).assign(size=SITES, ipr_n=14.0, smallest=0.9)

    @claim(
        "Interactions between units do not change how local they are (K = {units})",
        at="§5",
        expect="no significant role (criterion: a median IPR·N within a quarter of that of units alone)",
        null=lambda table: table.assign(ipr_n=table["ipr_n"].where(table["units"] == 1, 1.0)),  # flat units
        decided_at="laptop",
        each=[{"units": units} for units in UNITS],
    )
    def equally_local(table: Frame, units: int) -> Verdict:
        """Flows are compared with flows, as Eq. 5 is less peaked than a simulation."""
        pairs = {"simulated": ((units, TOGETHER), (1, TOGETHER)), "flow": ((units, FLOW), (units, ALONE))}
        seen, good = [], []
        for name, places in pairs.items():
            ours, alone = (rows(table, units=k, source=source)["ipr_n"].median() for k, source in places)
            seen.append(f"{name} {ours:.1f}, alone {alone:.1f}")
            good.append(abs(ours / alone - 1) <= 0.25)
        return judge(all(good), f"median IPR·N: {'; '.join(seen)}", len(rows(table, units=units, source=TOGETHER)))

    @claim(
        "Units of a committee repel each other ({source}, K = {units})",
        at="our question",
        expect="two peaks are farther apart than those of units that learn alone (rank test, 5 %)",
        null=replace_rows({"source": (TOGETHER, FLOW)}, by={"source": ALONE}),
        decided_at="laptop",
        each=[{"units": units, "source": source} for units in UNITS for source in (TOGETHER, FLOW)],
    )
    def repel(table: Frame, units: int, source: str) -> Verdict:
        ours, alone = (numbers(rows(table, units=units, source=name), "nearest") for name in (source, ALONE))
        chance = float(mannwhitneyu(ours, alone, alternative="greater").pvalue)
        seen = f"smallest distance of two peaks: median {np.median(ours):g} sites, alone {np.median(alone):g} (rank "
        return judge(chance < 0.05, f"{seen}test: p = {chance:.2g})", len(ours) + len(alone))

    @claim(
        "The flow with pairs predicts how far apart they end (K = {units})",
        at="our question",
        expect="a median smallest distance within 2 sites of the simulated one",
        null=lambda table: table.assign(nearest=table["nearest"].where(table["source"] != FLOW, 0)),
        decided_at="laptop",
        each=[{"units": units} for units in UNITS],
    )
    def predicted(table: Frame, units: int) -> Verdict:
        seen, flow = (numbers(rows(table, units=units, source=source), "nearest") for source in (TOGETHER, FLOW))
        low, high = np.median(seen), np.median(flow)
        return judge(abs(low - high) <= 2, f"medians: simulated {low:g}, flow {high:g} sites", len(seen) + len(flow))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """The first network of each kind, and the distances of all of them."""
        grid = figure.subplots(len(UNITS), len(COLOURS) + 1, width_ratios=(1, 1, 1, 1.2))
        for row, units in zip(grid, UNITS, strict=True):
            runs = [run for run in results if isinstance(run, Committee | CommitteeFlow) and run.hidden == units]
            titles = (f"simulated, K = {units}", "flow with pairs", "each unit alone, Eq. 5")
            for axes, run, title in zip(row, runs, titles, strict=False):
                for field, colour in zip(results[run].records[-1].tensors["weights"][0], PALETTE, strict=False):
                    axes.plot(field, color=colour)
                axes.set_title(title)
                axes.axhline(0, color=GREY, linewidth=0.5)
            for source, colour in COLOURS.items():
                values = np.sort(numbers(rows(table, units=units, source=source), "nearest"))
                row[-1].step(values, np.arange(1, len(values) + 1) / len(values), color=colour, label=source)
            row[-1].axvline(SITES / units, color=GREY, linestyle=":", label="even spacing")
            row[-1].set(ylabel="share of networks", ylim=(0, 1.02), title="nearest two peaks")
            row[0].set_ylabel("weight")
        for axes in grid[-1]:
            axes.set_xlabel("distance in sites" if axes is grid[-1, -1] else "site i")
        grid[0, -1].legend()
        letter_panels(list(grid.flat))
