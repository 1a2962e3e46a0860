"""Our own question: do the units of a committee repel each other, and does a flow with pairs of units predict it?"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import mannwhitneyu
from torch.nn import functional

from prunefield.core.figures import letter_panels
from prunefield.measures.localisation import compute_ipr, locate_peak, measure_ring_distance
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, replace_rows, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee
from prunefield.runs.committee_flow import CommitteeFlow
from prunefield.tasks.ising import Ising

SITES = 40
UNITS = (2, 4)  # of a committee
TOGETHER, FLOW, ALONE = "simulated", "flow", "each alone"
COLOURS = {TOGETHER: BLUE, FLOW: VERMILION, ALONE: GREY}
OF_UNITS = (BLACK, GREEN, PURPLE, ORANGE)  # others than those
# For each scale: networks, examples of a batch, rate and steps for each unit.
SIZES: dict[Scale, tuple[int, int, float, int]] = {
    "smoke": (4, 10, 0.2, 200),
    "laptop": (20, 40, 0.1, 2000),
    "paper": (100, 200, 0.05, 8000),
}


def measure_gaps(peaks: torch.Tensor, size: int) -> torch.Tensor:
    """The smallest distance on a ring between any two of the positions (nets, units), shape (nets,).

    >>> measure_gaps(torch.tensor([[0, 5, 38], [1, 1, 9]]), 40).tolist()
    [2, 0]
    """
    gaps = measure_ring_distance(peaks[:, :, None], peaks[:, None], size)
    return gaps.masked_fill(torch.eye(peaks.shape[1], dtype=torch.bool), size).flatten(1).amin(1)


def average_cosines(fields: torch.Tensor) -> torch.Tensor:
    """The mean cosine of the angle between two units of each network, of fields (nets, units, sites), shape (nets,).

    >>> average_cosines(torch.tensor([[[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]])).double().round(decimals=4).tolist()
    [-0.3333]
    """
    unit, count = functional.normalize(fields, dim=-1), fields.shape[1]
    return (unit.sum(1).square().sum(-1) - count) / max(1, count * (count - 1))


def name_committee(run: Committee | CommitteeFlow) -> str:
    return TOGETHER if isinstance(run, Committee) else FLOW if run.together else ALONE


def read_last_weights(result: Result) -> torch.Tensor:
    return result.records[-1].tensors["weights"].to(torch.float64)


class Tiling(Item):
    """Our own question about lufkin2024, §5: units of a committee together and alone, simulated and by a flow."""

    title = "Units of a committee: distances and angles between them"
    size = (11, 7)
    open_choices = (
        "This item is not in the paper. §5 says that interactions between neurons seem to play no significant role in "
        "shaping localisation; this item asks whether units divide the ring among themselves.",
        "Ising data, N = 40, couplings 0.3 and 0.7; soft committees of 2 and 4 ReLU units without biases, second layer "
        "1/K, init_scale 0.001, batches with all translates and both signs of each example",
        "the flow is Eq. 5 with moments over the orthant of each pair of units, which is exact for Gaussian data "
        "(theory/committee_flow.py); 'each alone' integrates Eq. 5 for every unit from the same initial weights",
        "criteria, set before anything was run: 'no significant role' is a median IPR × N within a quarter of that of "
        "units alone; 'repel' a one-sided rank test at 5% of the smallest distance between two peaks in a network "
        "against units alone",
        "added after these results, which had shown pairs of opposite sign at one site: the angles between units "
        "(criterion: mean cosines within 0.1 of −1/(K − 1), the value for fields that sum to zero), and whether the "
        "flow predicts the simulated fields unit by unit (rank test at 5% against those of the next network)",
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
        """One row for each network; `alike` is the median cosine of its units and those of the flow."""
        runs = [run for run in results if isinstance(run, Committee | CommitteeFlow)]
        places = {(name_committee(run), run.hidden): read_last_weights(results[run]) for run in runs}

        def describe_networks(run: Committee | CommitteeFlow, result: Result) -> Iterator[dict[str, Any]]:
            w = read_last_weights(result)
            flow = places.get((FLOW, run.hidden), w) if isinstance(run, Committee) else w
            return list_fields(
                {"source": name_committee(run), "units": run.hidden, "size": run.task.sites},
                net=torch.arange(run.inits),
                nearest=measure_gaps(locate_peak(w), run.task.sites),
                ipr_n=(compute_ipr(w) * run.task.sites).median(-1).values,
                cosine=average_cosines(w),
                alike=functional.cosine_similarity(w, flow, dim=-1).median(-1).values,
                alike_other=functional.cosine_similarity(w, flow.roll(1, 0), dim=-1).median(-1).values,
            )

        return gather(results, describe_networks, (Committee, CommitteeFlow))

    def ideal(self) -> Frame:
        """Units together are as local as alone, far from each other and from the same direction."""
        found = []
        for units, source, net in product(UNITS, (TOGETHER, FLOW, ALONE), range(20)):
            known = {"units": units, "source": source, "net": net}
            far = {"nearest": net % 10, "cosine": 0.0} if source == ALONE else {"nearest": 9 + net % 3}
            found.append({"cosine": -1 / (units - 1)} | known | far)
        found += [{"units": 1, "source": TOGETHER, "net": net, "nearest": SITES, "cosine": 0.0} for net in range(20)]
        return DataFrame(found).assign(size=SITES, ipr_n=14.0, alike=0.9, alike_other=0.0)

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
        "The peaks of a committee repel each other ({source}, K = {units})",
        at="our question",
        expect="two peaks are farther apart than those of units that learn alone (rank test, 5%)",
        null=replace_rows({"source": (TOGETHER, FLOW)}, by={"source": ALONE}),
        decided_at="laptop",
        each=[{"units": units, "source": source} for units in UNITS for source in (TOGETHER, FLOW)],
    )
    def repel(table: Frame, units: int, source: str) -> Verdict:
        ours, alone = (numbers(rows(table, units=units, source=name), "nearest") for name in (source, ALONE))
        chance = float(mannwhitneyu(ours, alone, alternative="greater").pvalue)
        seen = f"smallest distance between two peaks: median {np.median(ours):g}, alone {np.median(alone):g} (rank "
        return judge(chance < 0.05, f"{seen}test: p = {chance:.2g})", len(ours) + len(alone))

    @claim(
        "The fields of a committee point away from each other (K = {units})",
        at="our question",
        expect="fields that sum to zero: a mean cosine of −1/(K − 1) in simulation and flow (criterion: within 0.1)",
        null=replace_rows({"source": (TOGETHER, FLOW)}, by={"source": ALONE}),
        decided_at="laptop",
        each=[{"units": units} for units in UNITS],
    )
    def opposed(table: Frame, units: int) -> Verdict:
        medians = {source: rows(table, units=units, source=source)["cosine"].median() for source in COLOURS}
        seen = ", ".join(f"{source} {value:+.2f}" for source, value in medians.items())
        good = all(abs(medians[source] + 1 / (units - 1)) <= 0.1 for source in (TOGETHER, FLOW))
        note = "The classes do not depend on the sign of x, and the only part of ŷ that does is ½ Σ wₖ·x/K."
        return judge(good, f"median of the mean cosines: {seen}", len(rows(table, units=units, source=TOGETHER)), note)

    @claim(
        "The flow with pairs predicts the fields, unit by unit (K = {units})",
        at="our question",
        expect="more like the simulated fields than those of the next network are (rank test, 5%)",
        null=lambda table: table.assign(alike=table["alike_other"]),
        decided_at="laptop",
        each=[{"units": units} for units in UNITS],
    )
    def predicted(table: Frame, units: int) -> Verdict:
        found = rows(table, units=units, source=TOGETHER)
        ours, other = numbers(found, "alike"), numbers(found, "alike_other")
        chance = float(mannwhitneyu(ours, other, alternative="greater").pvalue)
        seen = f"median cosine {np.median(ours):.2f}, with the next network {np.median(other):.2f} (rank test: p = "
        return judge(chance < 0.05, f"{seen}{chance:.2g})", len(found))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """The first network of each kind, and distances and angles in all of them."""
        grid = figure.subplots(len(UNITS), len(COLOURS) + 1, width_ratios=(1, 1, 1, 1.2))
        for row, units in zip(grid, UNITS, strict=True):
            runs = [run for run in results if isinstance(run, Committee | CommitteeFlow) and run.hidden == units]
            titles = (f"simulated, K = {units}", "flow with pairs", "each alone, Eq. 5")
            for axes, run, title in zip(row, runs, titles, strict=False):
                fields = results[run].records[-1].tensors["weights"][0]
                for unit, (field, colour) in enumerate(zip(fields, OF_UNITS, strict=False), start=1):
                    axes.plot(field, color=colour, label=f"unit {unit}")
                axes.set_title(title)
                axes.axhline(0, color=GREY, linewidth=0.5)
            for (source, colour), mark in zip(COLOURS.items(), ("o", "+", "x"), strict=True):
                found = rows(table, units=units, source=source)
                look = {"color": colour, "label": source, "fillstyle": "none"}
                row[-1].plot(found["cosine"], found["nearest"], mark, **look)
            row[-1].axvline(-1 / (units - 1), color=GREY, linestyle=":", label="fields that sum to zero")
            row[-1].set(ylabel="nearest peaks (sites)", xlim=(-1.05, 1.05), title="all networks")
            row[0].set_ylabel("weight")
        for axes in grid[-1]:
            axes.set_xlabel("mean cosine of two units" if axes is grid[-1, -1] else "site i")
        units, sources = (axes.get_legend_handles_labels() for axes in grid[-1, [0, -1]])
        # A legend is filled column by column: units are above, and what the points are below.
        handles, labels = (
            [entry for pair in zip(*both, strict=True) for entry in pair] for both in zip(units, sources, strict=True)
        )
        figure.legend(handles, labels, loc="outside upper right", ncols=4)
        letter_panels(list(grid.flat))
