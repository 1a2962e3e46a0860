"""The runs on elliptical data that `lufkin2024/fig4` and `lufkin2024/proposition3.3` share."""

from typing import NamedTuple

import torch
from torch import Tensor

from prunefield.papers import Scale
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.elliptical import Elliptical
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.ising import Ising

LONG = 500.0  # after LONG the flow has left its saddles: their rates are 0.04 and more
INITS = 8  # initialisations of the flow in each panel


class EllipticalPanel(NamedTuple):
    """Of one panel of Fig. 4."""

    task: Elliptical
    seed: int
    init_scale: float
    time: float
    printed: float  # the relative error of the fit
    noise: float  # rate/batch of the authors

    def seeds(self, count: int) -> range:
        """The authors' seed and the ones after it: each has its own initialisation and data stream."""
        return range(self.seed, self.seed + count)


PANELS = (
    EllipticalPanel(Elliptical(law="student-t", nu=3.0), 0, 1.0, 100.0, 0.0977, 0.01 / 1000),
    EllipticalPanel(Elliptical(law="shell"), 0, 1e-3, 250.0, 0.0375, 0.05 / 10_000),
    EllipticalPanel(Elliptical(law="extreme"), 42, 1e-3, 250.0, 0.0414, 0.05 / 10_000),
)
# For each scale and panel: rate, batch and the number of streams. From laptop scale on rate and batch are the authors'.
STEPS: dict[Scale, tuple[tuple[float, int, int], ...]] = {
    "smoke": ((0.05, 200, 3), (0.1, 500, 2), (0.1, 500, 2)),
    "laptop": ((0.01, 1000, 8), (0.05, 10_000, 3), (0.05, 10_000, 3)),
    "paper": ((0.01, 1000, 8), (0.05, 10_000, 8), (0.05, 10_000, 8)),
}


def find_panel(run: Neuron | Flow) -> EllipticalPanel | None:
    """The panel whose data a run has."""
    return next((panel for panel in PANELS if panel.task == run.task), None)


def number_inits(run: Neuron | Flow) -> Tensor:
    """The numbers of initialisations within their panel, from 0; equal for the neuron and the flow that start there."""
    panel = find_panel(run)
    return torch.arange(run.inits) + (run.seed - panel.seed if panel else 0)


def simulate_panels(scale: Scale) -> list[Neuron]:
    """The neurons of the three panels, one run for each stream of data."""
    return [
        Neuron(
            task=panel.task,
            seed=seed,
            inits=1,
            init_scale=panel.init_scale,
            lr=rate,
            batch_size=batch,
            steps=round(panel.time / rate),
            record_every=round(panel.time / rate / 25),
        )
        for panel, (rate, batch, streams) in zip(PANELS, STEPS[scale], strict=True)
        for seed in panel.seeds(streams)
    ]


def integrate_panels() -> list[Flow]:
    """The exact flow from the same initialisations and more, until it is over."""
    return [
        Flow(
            task=panel.task,
            seed=seed,
            inits=1,
            init_scale=panel.init_scale,
            amplifier="linear",
            time=LONG,
            record_every=panel.time / 10,
        )
        for panel in PANELS
        for seed in panel.seeds(INITS)
    ]


def integrate_controls() -> tuple[Flow, Flow]:
    """Gaussian data, for which Eq. 5 is also exact, and Ising data, which localise; the latter is a run of fig3."""
    return Flow(task=Gaussian(), time=LONG, record_every=25.0), Flow(task=Ising(), time=100.0, record_every=5.0)
