"""The neurons of Fig. 3, which `lufkin2024/lemma3.1`, `lemmaB.1` and `section4.2` use too, and where their fields peak.

The flow is the limit of large batches, so the largest batch is the kindest to the paper; the cubic φ is the paper's.
"""

from math import comb
from typing import NamedTuple

from prunefield.papers import Frame, Scale, Verdict, judge
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

TASKS = (Ising(), Nlgp(g=0.01), Kur(k=5.0))
RATE, STEPS = 0.05, 2000
TIME = RATE * STEPS
MATCHED, TRIED = 26, 28  # the peaks of §4.2


class NeuronSizes(NamedTuple):
    """Of the simulations, at one scale."""

    inits: int
    ising_batches: tuple[int, ...]
    batch: int  # for the two other kinds of data
    records: int  # in the whole time


SIZES: dict[Scale, NeuronSizes] = {
    "smoke": NeuronSizes(8, (500,), 500, 20),
    "laptop": NeuronSizes(28, (500, 8000), 5000, 40),
    "paper": NeuronSizes(28, (500, 50_000), 10_000, 200),
}


def train_neuron(task: Discrimination, batch: int, scale: Scale) -> Neuron:
    """A neuron trained by gradient descent, from several initialisations."""
    inits, *_, records = SIZES[scale]
    return Neuron(task=task, inits=inits, lr=RATE, batch_size=batch, steps=STEPS, record_every=STEPS // records)


def solve_flows(task: Discrimination, scale: Scale) -> list[Flow]:
    """Eq. 5 from the same initialisations to the same time, with the exact φ and with its cubic."""
    inits, *_, records = SIZES[scale]
    return [
        Flow(task=task, inits=inits, amplifier=amplifier, time=TIME, record_every=TIME / records)
        for amplifier in ("exact", "cubic")
    ]


def count_peaks(gaps: Frame) -> dict[tuple[str, int], tuple[int, int, int]]:
    """For each `amplifier` and `batch`: how many peaks have the `gap` 0, how many at most one site, of how many."""
    groups = gaps.groupby(["amplifier", "batch"])["gap"]
    return {key: (int((gap == 0).sum()), int((gap <= 1).sum()), len(gap)) for key, gap in groups}


def reach(count: int, n: int) -> float:
    """The probability of at most `count` matches of `n` at the paper's rate of 26 in 28.

    >>> round(reach(28, 28), 3), reach(13, 28) < 1e-6
    (1.0, True)
    """
    rate = MATCHED / TRIED
    return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(count + 1))


def judge_peaks(gaps: Frame, note: str) -> Verdict:
    """Are as many peaks of simulated and integrated fields equal as the paper says, or at least within one site?"""
    counts = count_peaks(gaps)
    seen = "; ".join(
        f"batch {batch}, {amplifier} φ: {same} of {n} equal, {near} within ±1"
        for (amplifier, batch), (same, near, n) in counts.items()
    )
    same, near, n = counts["cubic", gaps["batch"].max()]
    exact, close = reach(same, n), reach(near, n)
    odds = f"P(this few | 26/28) = {exact:.2g} for equal, {close:.2g} for within ±1 (cubic φ, largest batch)."
    return judge(exact >= 0.05, seen, n, f"{odds} {note}", corrected=close >= 0.05)
