"""The drawing of `lufkin2024/fig3`: marginal, amplifier, simulated and integrated fields of each data model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination
from prunefield.theory.amplifier import SLOPE, expand_amplifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREY = "#0072B2", "#D55E00", "#777777"
TIMES = "viridis"  # also read by the colour-blind and in grey
INIT = 0  # whose fields are drawn


def draw(results: Mapping[Run, Result]) -> "Figure":
    """The figure from the finished runs; of several batches the smallest, which is that of the paper, is shown."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    neurons = sorted((run for run in results if isinstance(run, Neuron)), key=lambda run: -run.batch)
    shown = {run.task.title: run for run in neurons}
    names = [run.task.title for run in results if isinstance(run, Neuron)]
    figure = Figure(figsize=(13, 7), layout="constrained")
    rows = figure.subplots(len(shown), 5, squeeze=False)
    for axes, name in zip(rows, dict.fromkeys(names), strict=True):
        neuron = shown[name]
        task = neuron.task
        _draw_marginal(axes[0], task)
        _draw_amplifier(axes[1], task)
        _draw_fields(axes[2], results[neuron])
        for flow in (run for run in results if isinstance(run, Flow) and run.task == neuron.task):
            _draw_fields(axes[3 if flow.amplifier == "exact" else 4], results[flow])
        axes[0].set_ylabel(task.title, fontweight="bold")
    titles = ("marginal of a pixel", "amplifier φ(a)", "simulated field", "Eq. 5, exact φ", "Eq. 5, cubic φ")
    for axis, title in zip(rows[0], titles, strict=True):
        axis.set_title(title)
    for axis in rows[:-1, 1:].flat:
        axis.tick_params(labelbottom=False)
    for axis, label in zip(rows[-1], ("pixel value", "a", "site i", "site i", "site i"), strict=True):
        axis.set_xlabel(label)
    end = max(run.steps * run.rate for run in neurons)
    figure.colorbar(ScalarMappable(Normalize(0, end), TIMES), ax=rows[:, 2:], label="time t = steps × rate", aspect=40)
    return figure


def _draw_marginal(axis: "Axes", task: Discrimination) -> None:
    """The probability of each bin, from the distribution function."""
    reach, bins = (1.5, 31) if task.kurtosis() == 1 else (4.0, 80)
    edges = torch.linspace(-reach, reach, bins + 1, dtype=torch.float64)
    axis.stairs(task.cdf(edges).diff().numpy(), edges.numpy(), fill=True, color=BLUE)


def _draw_amplifier(axis: "Axes", task: Discrimination) -> None:
    a = torch.linspace(-1, 1, 201, dtype=torch.float64)
    axis.plot(a, SLOPE * a, "--", color=GREY, label="√(2/π) a")
    axis.plot(a, task.amplifier(a), color="black", label="φ")
    axis.plot(a, expand_amplifier(a, task.kurtosis()), ":", color=RED, linewidth=2, label="cubic")
    axis.text(0.97, 0.05, f"κ = {task.kurtosis():.4g}", ha="right", transform=axis.transAxes)
    axis.legend(frameon=False, loc="upper left")


def _draw_fields(axis: "Axes", result: Result) -> None:
    from matplotlib import colormaps

    last = max(record["time"] for record in result.records)
    # No more than 40 lines: more cannot be told apart and make the file large.
    every = max(1, len(result.records) // 40)
    for record in result.records[::-1][::every][::-1]:
        field = record.tensors["weights"][INIT]
        axis.plot(field, color=colormaps[TIMES](record["time"] / last), linewidth=1)
    axis.axhline(0, color=GREY, linewidth=0.5)
