"""The drawing of `lufkin2024/fig2`: long and short samples, covariance and marginal of each data model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.runs import Result, Run
from prunefield.runs.draws import EDGES, Draws
from prunefield.tasks.ising import Ising

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, RED, GREY = "#0072B2", "#D55E00", "#777777"


def draw(results: Mapping[Run, Result]) -> "Figure":
    """The figure from the finished runs; the Markov chain is drawn over the exact covariance of the Ising model."""
    from matplotlib.figure import Figure

    runs = [run for run in results if isinstance(run, Draws)]
    chains = [run for run in runs if isinstance(run.task, Ising) and run.task.sampler == "gibbs"]
    shown = [run for run in runs if run not in chains]
    figure = Figure(figsize=(14, 7), layout="constrained")
    rows = figure.subplots(len(shown), 5, squeeze=False)
    for axes, run in zip(rows, shown, strict=True):
        short, long = results[run].records
        for axis, record in zip(axes, (long, short), strict=False):
            axis.plot(record.tensors["field"], color=BLUE, linewidth=1)
        # The picture keeps every other site: the ring is the same all along, and the file stays small.
        axes[2].imshow(
            run.task.covariance(1)[::2, ::2].numpy(), cmap="viridis", vmin=0, vmax=1, extent=(0, 100, 100, 0)
        )
        axes[3].plot(run.task.covariance(1)[0, :51], color="black", linewidth=1, label="closed form")
        axes[3].plot(long.tensors["correlation"], ".", color=BLUE, label="exact sampler")
        for chain in (chain for chain in chains if chain.task.title == run.task.title):
            record = results[chain].records[1]
            axes[3].plot(record.tensors["correlation"], ".", color=RED, label="Gibbs, 10 sweeps")
        axes[3].legend(frameon=False)
        axes[4].stairs(long.tensors["share"][1:-1].numpy(), EDGES.numpy(), fill=True, color=BLUE, label="samples")
        axes[4].margins(y=0.5)
        axes[4].stairs(run.task.cdf(EDGES).diff().numpy(), EDGES.numpy(), color="black", label="closed form")
        axes[0].set_ylabel(run.task.title, fontweight="bold")
    rows[1, 4].legend(frameon=False, loc="upper left")
    titles = (
        "a long-lengthscale sample",
        "a short-lengthscale sample",
        "covariance Σ, long",
        "its first row",
        "marginal",
    )
    labels = ("site i", "site i", "site i", "distance d", "value of a site")
    for top, bottom, title, label in zip(rows[0], rows[-1], titles, labels, strict=True):
        top.set_title(title)
        bottom.set_xlabel(label)
    return figure
