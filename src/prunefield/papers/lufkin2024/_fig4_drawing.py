"""The drawing of `lufkin2024/fig4`: fields over time with the sinusoid fitted, and the exact flow below."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.measure.sinusoids import fit_sinusoid
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RED, GREY = "#D55E00", "#777777"
TIMES = "viridis"  # also read by the colour-blind and in grey
INIT = 0  # whose fields are drawn


def draw(results: Mapping[Run, Result]) -> "Figure":
    """The figure from the finished runs: the neuron above, the flow of Proposition 3.3 until the same time below."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    neurons = [run for run in results if isinstance(run, Neuron)]
    flows = {run.task: run for run in results if isinstance(run, Flow)}
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, len(neurons), squeeze=False, sharex=True, sharey="col")
    for (above, below), neuron in zip(axes.T, neurons, strict=True):
        end = neuron.steps * neuron.rate
        error = _draw_fields(above, results[neuron], end)
        above.set_title(f"{neuron.task.title}, t = {end:g}: error of the fit {error:.1%}")
        error = _draw_fields(below, results[flows[neuron.task]], end)
        below.set_title(f"exact flow: error of the fit {error:.1%}")
        below.set_xlabel("site i")
    axes[0, 0].set_ylabel("simulated field")
    axes[1, 0].set_ylabel("integrated field")
    figure.colorbar(ScalarMappable(Normalize(0, 1), TIMES), ax=axes, label="share of the time", aspect=40)
    return figure


def _draw_fields(axis: "Axes", result: Result, end: float) -> float:
    """The fields until `end` and, dashed, the sinusoid fitted to the last; its relative error."""
    from matplotlib import colormaps

    records = [record for record in result.records if record["time"] <= end * (1 + 1e-9)]
    for record in records:
        axis.plot(record.tensors["weights"][INIT], color=colormaps[TIMES](record["time"] / end), linewidth=1)
    last = records[-1].tensors["weights"][INIT]
    found = fit_sinusoid(last)
    axis.plot(found.curve(len(last)), "--", color=RED, linewidth=2)
    axis.axhline(0, color=GREY, linewidth=0.5)
    return float(found.error)
