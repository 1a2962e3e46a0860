"""The runs on elliptical data that `lufkin2024/fig4` and `lufkin2024/proposition3.3` share."""

from typing import NamedTuple

from prunefield.papers import Scale
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.elliptical import Elliptical
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.ising import Ising

INITS, LONG = 8, 500.0  # after LONG the flow has left its saddles: their rates are 0.04 and more


class Settings(NamedTuple):
    """Of one panel of Fig. 4."""

    task: Elliptical
    seed: int
    init_scale: float
    time: float
    printed: float  # the relative error of the fit
    noise: float  # rate/batch of the authors


PANELS = (
    Settings(Elliptical(law="student-t", nu=3.0), 0, 1.0, 100.0, 0.0977, 0.01 / 1000),
    Settings(Elliptical(law="shell"), 0, 1e-3, 250.0, 0.0375, 0.05 / 10_000),
    Settings(Elliptical(law="extreme"), 42, 1e-3, 250.0, 0.0414, 0.05 / 10_000),
)
# For each scale and panel: rate and batch. From laptop scale on they are the authors'.
STEPS: dict[Scale, tuple[tuple[float, int], ...]] = {
    "smoke": ((0.05, 200), (0.1, 500), (0.1, 500)),
    "laptop": ((0.01, 1000), (0.05, 10_000), (0.05, 10_000)),
    "paper": ((0.01, 1000), (0.05, 10_000), (0.05, 10_000)),
}


def simulate(scale: Scale) -> list[Neuron]:
    """The neurons of the three panels."""
    return [
        Neuron(
            task=panel.task,
            seed=panel.seed,
            inits=INITS,
            init_scale=panel.init_scale,
            rate=rate,
            batch=batch,
            steps=round(panel.time / rate),
            record_every=round(panel.time / rate / 25),
        )
        for panel, (rate, batch) in zip(PANELS, STEPS[scale], strict=True)
    ]


def integrate() -> list[Flow]:
    """The exact flow from the same first weights, until it is over."""
    return [
        Flow(
            task=panel.task,
            seed=panel.seed,
            inits=INITS,
            init_scale=panel.init_scale,
            amplifier="linear",
            time=LONG,
            record_every=panel.time / 10,
        )
        for panel in PANELS
    ]


def compare() -> tuple[Flow, Flow]:
    """Gaussian data, for which Eq. 5 is exact as well, and Ising data, which localise; the latter is a run of fig3."""
    return Flow(task=Gaussian(), time=LONG, record_every=25.0), Flow(task=Ising(), time=100.0, record_every=5.0)
