"""Section 4.2 of lufkin2024: peak positions by Eq. 5 against those of simulated fields."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from prunefield.measures.localisation import locate_peak, measure_ring_distance
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import rows
from prunefield.papers.lufkin2024.fig3 import RATE, SIZES, STEPS
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

ISING, SWEEP = Ising(), Nlgp(g=3.0, lengthscales=(1.0, 2.0))
BATCHES: dict[Scale, tuple[int, ...]] = {
    "smoke": (100,),
    "laptop": (100, 500, 2000, 8000),
    "paper": (100, 500, 5000, 50_000),
}
COLOURS = {"cubic": "#0072B2", "exact": "#D55E00"}
MATCHED, TRIED = 26, 28
FAR = 3  # sites: a peak that is so far off belongs to another neighbourhood, as ξ₁ ≤ 2


def _count(table: "DataFrame", model: str, amplifier: str) -> dict[int, tuple[int, int, int]]:
    """For each batch: how many peaks are equal, how many within one site, of how many."""
    chosen = rows(table, model=model, amplifier=amplifier)
    parts = {int(str(batch)): part["gap"].to_numpy() for batch, part in chosen.groupby("batch")}
    return {batch: (int((gap == 0).sum()), int((gap <= 1).sum()), len(gap)) for batch, gap in parts.items()}


def reach(count: int, n: int) -> float:
    """The probability of at most `count` matches of `n` at the paper's rate of 26 in 28.

    >>> round(reach(28, 28), 3), reach(13, 28) < 1e-6
    (1.0, True)
    """
    rate = MATCHED / TRIED
    return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(count + 1))


def _check_peaks(model: str, note: str):
    def check(table: "DataFrame") -> Verdict:
        counts = {amplifier: _count(table, model, amplifier) for amplifier in COLOURS}
        seen = "; ".join(
            f"batch {batch}, {amplifier} φ: {same} of {n} equal, {near} within ±1"
            for amplifier, count in counts.items()
            for batch, (same, near, n) in count.items()
        )
        # The cubic is the paper's; the flow is the limit of large batches, so the largest is the kindest to the paper.
        same, near, n = counts["cubic"][max(counts["cubic"])]
        exact, close = reach(same, n), reach(near, n)
        status = "reproduced" if exact >= 0.05 else "corrected" if close >= 0.05 else "not reproduced"
        odds = (
            f"P(this few | 26/28) = {exact:.2g} for equal, {close:.2g} for within ±1 (cubic φ, largest batch). With "
            "the exact φ the steady bump of Eq. 5 has two equal highest sites here, so its peak is defined only to "
            "within one site. "
        )
        return Verdict(status, seen, n, (odds + note).strip())

    return check


def _check_far(table: "DataFrame") -> Verdict:
    largest = table.assign(most=table.groupby("model")["batch"].transform("max")).query("batch == most")
    missed = largest.query("gap > 0 and amplifier == 'cubic'")["gap"].to_numpy()
    shown = ", ".join(str(gap) for gap in sorted(missed)) or "none"
    seen = f"distances of the {len(missed)} peaks that differ at the largest batch, both data: {shown}"
    if not len(missed):
        return Verdict("not testable at this scale", seen, len(largest), "no peak differs")
    return Verdict("reproduced" if (missed >= FAR).all() else "not reproduced", seen, len(missed))


def _shift(table: "DataFrame") -> "DataFrame":
    """Each flow is compared with the simulation of the next initialisation."""
    return table.assign(gap=table["gap_other"])


class Section4_2(Item):
    """Section 4.2 of lufkin2024: peaks of simulated and integrated fields compared, against the batch, in two readings.

    The text says Ising data; the only sweep with 28 initialisations in the authors' code history uses NLGP(3) data.
    """

    title = "Peak positions: Eq. 5 against simulations, by batch size"
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
    claims = (
        Claim(
            "On Ising data the peaks of integrated and simulated fields match exactly",
            "§4.2, following the text",
            "26 of 28 (93 %)",
            _check_peaks("Ising", ""),
            _shift,
            decided_at="laptop",
        ),
        Claim(
            "The same for the authors' sweep of NLGP data",
            "§4.2, following the sweep",
            "26 of 28 (93 %); in the authors' files 24 equal and 26 within ±1",
            _check_peaks("NLGP(3)", "In the authors' own files 26 of 28 is the count within ±1."),
            _shift,
            decided_at="laptop",
        ),
        Claim(
            "Where the peaks differ, they differ substantially",
            "§4.2",
            "2 of 28 differ, both substantially",
            _check_far,
            lambda table: table.assign(gap=1),
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        inits, *_, records = SIZES[scale]
        time = STEPS * RATE
        tasks: tuple[Discrimination, ...] = (ISING, SWEEP)
        neurons = [
            Neuron(task=task, inits=inits, rate=RATE, batch=batch, steps=STEPS, record_every=STEPS // records)
            for task in tasks
            for batch in BATCHES[scale]
        ]
        flows = [
            Flow(task=task, inits=inits, amplifier=amplifier, time=time, record_every=time / records)
            for task in tasks
            for amplifier in ("exact", "cubic")
        ]
        return [*neurons, *flows]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        import pandas as pd

        pairs = [
            (neuron, flow)
            for neuron in results
            for flow in results
            if isinstance(neuron, Neuron) and isinstance(flow, Flow) and neuron.task == flow.task
        ]
        return pd.DataFrame([row for neuron, flow in pairs for row in _rows(neuron, flow, results)])

    def ideal(self) -> "DataFrame":
        """In either reading 26 of 28 peaks are equal and two are 10 sites off; those of other initialisations are 7
        sites off.
        """
        import pandas as pd

        settings = product(("Ising", "NLGP(3)"), COLOURS, range(TRIED))
        table = pd.DataFrame(settings, columns=["model", "amplifier", "init"])
        return table.assign(batch=8000, gap=np.where(table["init"] < MATCHED, 0, 10), gap_other=7)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        for axis, model in zip(figure.subplots(1, 2, sharey=True), ("Ising", "NLGP(3)"), strict=True):
            for amplifier, colour in COLOURS.items():
                count = _count(table, model, amplifier)
                same, near = (np.array([row[which] / row[2] for row in count.values()]) for which in (0, 1))
                axis.plot(list(count), same, "o-", color=colour, label=f"equal, {amplifier} φ")
                axis.plot(list(count), near, "s--", color=colour, fillstyle="none", label=f"within ±1, {amplifier} φ")
            axis.axhline(MATCHED / TRIED, color="#777777", linewidth=0.8, label="26 of 28")
            axis.set_xscale("log")
            axis.set_ylim(0, 1.02)
            axis.set_title(model)
            axis.set_xlabel("batch")
        figure.axes[0].set_ylabel("share of initialisations")
        figure.axes[0].legend(frameon=False)
        return figure


def _rows(neuron: Neuron, flow: Flow, results: Mapping[Run, Result]) -> Iterator[dict[str, Any]]:
    """One row for each initialisation; `gap_other` is the distance to the flow of the next one, as expected by
    chance.
    """
    seen, told = (locate_peak(results[run].records[-1].tensors["weights"]) for run in (neuron, flow))
    gaps = (
        measure_ring_distance(seen, told, neuron.task.size),
        measure_ring_distance(seen, told.roll(1), neuron.task.size),
    )
    for init, (gap, other) in enumerate(zip(*(each.tolist() for each in gaps), strict=True)):
        known = {"model": neuron.task.title, "batch": neuron.batch, "amplifier": flow.amplifier}
        yield {**known, "init": init, "gap": gap, "gap_other": other}
