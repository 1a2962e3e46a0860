"""Section 4.2 of lufkin2024: peak positions by Eq. 5 against those of simulated fields."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.measures.localisation import locate_peak, measure_ring_distance
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import BLACK, BLUE, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.papers.lufkin2024._neurons import MATCHED, TRIED, count_peaks, integrate, judge_peaks, simulate
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp

TASKS = (Ising(), Nlgp(g=3.0, lengthscales=(1.0, 2.0)))
BATCHES: dict[Scale, tuple[int, ...]] = {
    "smoke": (100,),
    "laptop": (100, 500, 2000, 8000),
    "paper": (100, 500, 5000, 50_000),
}
AMPLIFIERS = {"cubic": BLUE, "exact": VERMILION}
BUMP = (
    "With the exact φ the steady bump of Eq. 5 has two equal highest sites here, so its peak is defined only to within "
    "one site."
)
FAR = 3  # sites: a peak that is so far off belongs to another neighbourhood, as ξ₁ ≤ 2


def compare_others(table: Frame) -> Frame:
    """The null: each flow is compared with the simulation of the next initialisation."""
    return table.assign(gap=table["gap_other"])


class Section4_2(Item):
    """Section 4.2 of lufkin2024: peaks of simulated and integrated fields compared, against the batch, in two readings.

    The text says Ising data; the only sweep with 28 initialisations in the authors' code history uses NLGP(3) data.
    """

    title = "Peak positions: Eq. 5 against simulations, by batch size"
    size = (10, 4)
    open_choices = (
        "the batch size is not given, so several are run; other settings as in Fig. 3 (rate 0.05, 2000 steps, "
        "init_scale 1e-3)",
        "two readings: Ising with couplings 0.3 and 0.7 (the text), NLGP(3) with lengthscales 1 and 2 (the sweep; "
        "there rate 0.02 and 10,000 steps with batches of 50,000)",
        "the peak is where |w| is largest; Eq. 5 with the ½ and exact covariances, φ exact and cubic",
        "26 of 28 counts as met unless that few matches have a probability below 5 % at that rate",
        "'substantially different' means 3 sites or more",
        "smoke scale has only one batch size, to save time",
        "all claims are decided from laptop scale on: with the 8 initialisations of smoke scale, 7 of 8 and 26 of 28 "
        "cannot be distinguished; this rule was added after smoke and laptop scale had contradicted each other",
    )

    def runs(self, scale: Scale) -> list[Run]:
        neurons = [simulate(task, batch, scale) for task in TASKS for batch in BATCHES[scale]]
        return [*neurons, *(flow for task in TASKS for flow in integrate(task, scale))]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row for each initialisation; `gap_other` is the distance to the flow of the next one, as by chance."""

        def compare_peaks(neuron: Neuron, result: Result) -> Iterator[dict[str, Any]]:
            for flow in (run for run in results if isinstance(run, Flow) and run.task == neuron.task):
                seen, predicted = (locate_peak(one.records[-1].tensors["weights"]) for one in (result, results[flow]))
                yield from list_fields(
                    {"model": neuron.task.title, "batch": neuron.batch_size, "amplifier": flow.amplifier},
                    init=torch.arange(neuron.inits),
                    gap=measure_ring_distance(seen, predicted, neuron.task.size),
                    gap_other=measure_ring_distance(seen, predicted.roll(1), neuron.task.size),
                )

        return gather(results, compare_peaks, Neuron)

    def ideal(self) -> Frame:
        """In either reading 26 of 28 peaks are equal and two are 10 sites off; those of other initialisations are 7
        sites off.
        """
        settings = product((task.title for task in TASKS), AMPLIFIERS, range(TRIED))
        table = DataFrame(settings, columns=["model", "amplifier", "init"])
        return table.assign(batch=8000, gap=np.where(table["init"] < MATCHED, 0, 10), gap_other=7)

    @claim(
        "On Ising data the peaks of integrated and simulated fields match exactly",
        at="§4.2, following the text",
        expect="26 of 28 (93 %)",
        null=compare_others,
        decided_at="laptop",
    )
    def equal_on_ising_data(table: Frame) -> Verdict:
        return judge_peaks(rows(table, model="Ising"), BUMP)

    @claim(
        "The same for the authors' sweep of NLGP data",
        at="§4.2, following the sweep",
        expect="26 of 28 (93 %); in the authors' files 24 equal and 26 within ±1",
        null=compare_others,
        decided_at="laptop",
    )
    def equal_on_nlgp_data(table: Frame) -> Verdict:
        note = f"{BUMP} In the authors' own files 26 of 28 is the count within ±1."
        return judge_peaks(rows(table, model="NLGP(3)"), note)

    @claim(
        "Where the peaks differ, they differ substantially",
        at="§4.2",
        expect="2 of 28 differ, both substantially",
        null=lambda table: table.assign(gap=1),
        decided_at="laptop",
    )
    def far_apart(table: Frame) -> Verdict:
        largest = table[table["batch"] == table.groupby("model")["batch"].transform("max")]
        missed = sorted(gap for gap in rows(largest, amplifier="cubic")["gap"] if gap > 0)
        shown = ", ".join(map(str, missed)) or "none"
        seen = f"distances of the {len(missed)} peaks that differ at the largest batch, both data: {shown}"
        if not missed:
            return Verdict("not testable at this scale", seen, len(largest), "no peak differs")
        return judge(min(missed) >= FAR, seen, len(missed))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for axes, model in zip(figure.subplots(1, 2, sharey=True), table["model"].unique(), strict=True):
            for (amplifier, colour), shift in zip(AMPLIFIERS.items(), (0.95, 1.05), strict=True):
                counts = count_peaks(rows(table, model=model, amplifier=amplifier))
                batches = [shift * batch for _, batch in counts]  # beside each other where they agree
                same, near = ([found[place] / found[2] for found in counts.values()] for place in (0, 1))
                axes.plot(batches, same, "o-", color=colour, label=f"same site, {amplifier} φ")
                look = {"color": colour, "fillstyle": "none", "label": f"at most one site apart, {amplifier} φ"}
                axes.plot(batches, near, "s--", **look)
            printed = f"printed: {MATCHED} of {TRIED}"
            axes.axhline(MATCHED / TRIED, color=BLACK, linewidth=1, linestyle=":", label=printed)
            axes.set_xticks(sorted(set(table["batch"])), [f"{batch:,}" for batch in sorted(set(table["batch"]))])
            axes.set(xscale="log", ylim=(0, 1.02), title=model, xlabel="batch")
            axes.set_xlim(table["batch"].min() / 2, table["batch"].max() * 2)
        for axes in figure.axes:
            axes.minorticks_off()
        figure.axes[0].set_ylabel("share of initialisations whose peaks agree")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
