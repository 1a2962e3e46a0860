"""Section 4.2 of lufkin2024: peak positions by Eq. 5 against those of simulated fields."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.measures.localisation import locate_peak, measure_ring_distance
from prunefield.papers import OPEN, Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.papers.lufkin2024._neurons import (
    MATCHED,
    TRIED,
    count_peaks,
    judge_peaks,
    reach,
    solve_flows,
    train_neuron,
)
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp

TASKS = (Ising(), Nlgp(g=3.0, lengthscales=(1.0, 2.0)))
# For each scale: batches; the one that is also taken with all translates and signs.
BATCHES: dict[Scale, tuple[tuple[int, ...], int]] = {
    "smoke": ((100,), 20),
    "laptop": ((100, 500, 2000), 500),
    "paper": ((100, 500, 5000, 50_000), 5000),
}
ITSELF = "simulation"
KINDS = {"cubic": BLUE, "exact": VERMILION, ITSELF: GREEN}
FAR = 3  # sites: a peak that is so far off belongs to another neighbourhood, as ξ₁ ≤ 2


def compare_others(table: Frame) -> Frame:
    """The null: each flow is compared with the simulation of the next initialisation."""
    return table.assign(gap=table["gap_other"])


def split_rows(table: Frame, model: str) -> tuple[Frame, str]:
    """The rows of a model that are judged, and a sentence on the agreement of two simulations."""
    table = rows(table, model=model, symmetric=True)
    parts = rows(table, amplifier=("cubic", "exact")), rows(table, amplifier=ITSELF)
    ((same, near, n),) = count_peaks(parts[1]).values()
    return parts[0], f"Two simulations on different examples: {same} of {n} equal, {near} within ±1."


class Section4_2(Item):
    """Section 4.2 of lufkin2024: peaks of simulated and integrated fields compared, in two readings.

    The text says Ising data; the only sweep with 28 initialisations in the authors' code history uses NLGP(3) data.
    """

    title = "Peak positions: Eq. 5 against simulations"
    size = (10, 5.6)
    open_choices = (
        "the batch size is not given. Eq. 5 is the limit of large batches, so the verdict is that of batches of 500 "
        "with all translates and both signs of each example (40,000 in a step), which S2 and S3 allow; plain batches "
        "are shown for comparison. Other settings as in Fig. 3 (rate 0.05, 2000 steps, init_scale 1e-3)",
        "two readings: Ising with couplings 0.3 and 0.7 and equal sites (the text); NLGP(3) with lengthscales 1 and 2 "
        "and at most one site apart (the only sweep of 28 in the authors' history, where 26 is that count, and 24 are "
        "equal; there rate 0.02 and 10,000 steps with batches of 50,000)",
        "the peak is where |w| is largest; Eq. 5 with the ½ and exact covariances, φ exact and cubic; verdicts are "
        "those of the cubic, which is the paper's",
        "a second simulation from the same initial weights on other examples shows how many matches are possible",
        "26 of 28 counts as met unless so few matches would have a probability below 5% at that rate",
        "'substantially different' means 3 sites or more",
        "all claims are decided from laptop scale on: with the 8 initialisations of smoke scale, 7 of 8 and 26 of 28 "
        "cannot be distinguished; this rule was added after smoke and laptop scale had contradicted each other",
        "changed after results had been seen: plain batches of up to 8,000 were judged first, and both readings by "
        "equal sites; batches with all translates, and ±1 for the sweep, came after a trial with them",
    )

    def runs(self, scale: Scale) -> list[Run]:
        batches, symmetric = BATCHES[scale]
        runs: list[Run] = []
        for task in TASKS:
            runs += [train_neuron(task, batch, scale) for batch in batches]
            quiet = train_neuron(task, symmetric, scale)
            runs += [quiet.model_copy(update={"symmetric": True, "stream": stream}) for stream in (0, 1)]
            runs += solve_flows(task, scale)
        return runs

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row for each initialisation; `gap_other` is the distance to the peak of the next one, as by chance."""

        def compare_peaks(neuron: Neuron, result: Result) -> Iterator[dict[str, Any]]:
            if neuron.stream:
                return
            flows = {run.amplifier: run for run in results if isinstance(run, Flow) and run.task == neuron.task}
            others: dict[str, Run] = {**flows, ITSELF: neuron.model_copy(update={"stream": 1})}
            for name, other in others.items():
                if other in results:
                    seen, found = (locate_peak(one.records[-1].tensors["weights"]) for one in (result, results[other]))
                    known = {"model": neuron.task.title, "batch": neuron.batch_size, "symmetric": neuron.symmetric}
                    yield from list_fields(
                        known | {"amplifier": name, "copies": 2 * neuron.task.sites if neuron.symmetric else 1},
                        init=torch.arange(neuron.inits),
                        gap=measure_ring_distance(seen, found, neuron.task.sites),
                        gap_other=measure_ring_distance(seen, found.roll(1), neuron.task.sites),
                    )

        return gather(results, compare_peaks, Neuron)

    def ideal(self) -> Frame:
        """In either reading 26 of 28 peaks are equal and two are 10 sites off; those of other initialisations are 7
        sites off.
        """
        settings = product((task.title for task in TASKS), KINDS, range(TRIED))
        table = DataFrame(settings, columns=["model", "amplifier", "init"])
        table = table.assign(batch=500, symmetric=True, copies=80)
        return table.assign(gap=np.where(table["init"] < MATCHED, 0, 10), gap_other=7)

    @claim(
        "On Ising data the peaks of integrated and simulated fields match exactly",
        at="§4.2, following the text",
        expect="26 of 28 (93%)",
        null=compare_others,
        decided_at="laptop",
    )
    def equal_on_ising_data(table: Frame) -> Verdict:
        gaps, ceiling = split_rows(table, "Ising")
        return judge_peaks(gaps, ceiling)

    @claim(
        "In the authors' sweep of NLGP data the peaks match to within one site",
        at="§4.2, following the sweep",
        expect="26 of 28 (93%) within ±1 (criterion); in the authors' files 24 of them are equal, which is not judged",
        null=compare_others,
        decided_at="laptop",
    )
    def near_on_nlgp_data(table: Frame) -> Verdict:
        gaps, ceiling = split_rows(table, "NLGP(3)")
        found = judge_peaks(gaps, ceiling)
        _, near, n = count_peaks(gaps)["cubic", gaps["batch"].max()]
        return judge(reach(near, n) >= 0.05, found.observed, n, found.note)

    @claim(
        "Where the peaks differ, they differ substantially ({reading})",
        at="§4.2",
        expect="2 of 28 differ, both substantially (criterion: 3 sites or more)",
        null=lambda table: table.assign(gap=2),
        decided_at="laptop",
        each=[
            {"reading": "Ising, not at the same site"},
            {"reading": "NLGP(3), more than one site apart"},
        ],
    )
    def far_apart(table: Frame, reading: str) -> Verdict:
        model = reading.partition(",")[0]
        gaps, _ = split_rows(table, model)
        missed = sorted(gap for gap in rows(gaps, amplifier="cubic")["gap"] if gap > (model != "Ising"))
        seen = f"distances of the {len(missed)} of 28 peaks that differ: {', '.join(map(str, missed)) or 'none'}"
        if not missed:
            return Verdict(OPEN, seen, len(gaps), "no peak differs")
        return judge(min(missed) >= FAR, seen, len(missed))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        batches = table.groupby(["copies", "batch"]).size().index.tolist()
        names = [f"{batch:,}" + f"\n× {copies}" * (copies > 1) for copies, batch in batches]
        for axes, model in zip(figure.subplots(1, 2, sharey=True), table["model"].unique(), strict=True):
            for (kind, colour), shift in zip(KINDS.items(), (-0.06, 0.06, 0.0), strict=True):
                found = rows(table, model=model, amplifier=kind)
                groups = [rows(found, copies=copies, batch=batch)["gap"] for copies, batch in batches]
                places = [place + shift for place, gaps in enumerate(groups) if len(gaps)]
                same, near = ([(gaps <= most).mean() for gaps in groups if len(gaps)] for most in (0, 1))
                name = "simulation on other examples" if kind == ITSELF else f"Eq. 5, {kind} φ"
                axes.plot(places, same, "o", color=colour, label=f"same site, {name}")
                axes.plot(places, near, "s", color=colour, fillstyle="none", label=f"within one site, {name}")
            printed = f"printed: {MATCHED} of {TRIED}"
            axes.axhline(MATCHED / TRIED, color=BLACK, linewidth=1, linestyle=":", label=printed)
            axes.set_xticks(range(len(names)), names)
            axes.set(ylim=(0, 1.04), xlim=(-0.5, len(names) - 0.5), title=model)
            axes.set_xlabel("batch (× translates and signs)")
        figure.axes[0].set_ylabel("share of initialisations whose peaks agree")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
