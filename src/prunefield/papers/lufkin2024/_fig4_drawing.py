"""The drawing of `lufkin2024/fig4`: fields over time with sinusoids fitted, and the exact flow below."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.measures.sinusoids import fit_sinusoid
from prunefield.papers.lufkin2024._elliptical_runs import number_init
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RED, GREY = "#D55E00", "#777777"
TIMES = "viridis"  # also read by the colour-blind and in grey


def draw(results: Mapping[Run, Result]) -> "Figure":
    """The figure from the finished runs: the neuron above, the flow of Proposition 3.3 until the same time below."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    neurons = [run for run in results if isinstance(run, Neuron) and number_init(run, 0) == 0]
    flows = {run.task: run for run in results if isinstance(run, Flow) and number_init(run, 0) == 0}
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, len(neurons), squeeze=False, sharex=True, sharey="col")
    for (above, below), neuron in zip(axes.T, neurons, strict=True):
        end = neuron.steps * neuron.rate
        errors = _draw_fields(above, results[neuron], end)
        above.set_title(f"{neuron.task.title}, t = {end:g}\nerror of the fit {errors}")
        errors = _draw_fields(below, results[flows[neuron.task]], end)
        below.set_title(f"exact flow\nerror of the fit {errors}")
        below.set_xlabel("site i")
    axes[0, 0].set_ylabel("simulated field")
    axes[1, 0].set_ylabel("integrated field")
    axes[0, 0].legend(loc="best", frameon=False)
    figure.colorbar(ScalarMappable(Normalize(0, 1), TIMES), ax=axes, label="share of the time", aspect=40)
    return figure


def _draw_fields(axis: "Axes", result: Result, end: float) -> str:
    """The fields until `end` and the two sinusoids fitted to the last; their relative errors, as text."""
    from matplotlib import colormaps

    records = [record for record in result.records if record["time"] <= end * (1 + 1e-9)]
    for record in records:
        axis.plot(record.tensors["weights"][0], color=colormaps[TIMES](record["time"] / end), linewidth=1)
    last = records[-1].tensors["weights"][0]
    plain, shifted = fit_sinusoid(last), fit_sinusoid(last, intercept=True)
    axis.plot(shifted.curve(len(last)), "--", color=RED, linewidth=2, label="sinusoid with an intercept")
    axis.plot(plain.curve(len(last)), ":", color="black", linewidth=2, label="without")
    axis.axhline(0, color=GREY, linewidth=0.5)
    return f"{float(shifted.error):.1%} ({float(plain.error):.1%} without)"
