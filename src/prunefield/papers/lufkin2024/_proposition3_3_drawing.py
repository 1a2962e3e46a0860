"""The drawing of `lufkin2024/proposition3.3`: ratios, steady states and the share of each frequency over time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from prunefield.papers.lufkin2024._elliptical_runs import LONG
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

GREY, INIT = "#777777", 0


def draw(table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
    """The theory above, the exact flow of each kind of data from one initialisation below."""
    from matplotlib.figure import Figure

    found = [run for run in results if isinstance(run, Flow) and run.time == LONG]
    flows = [run for index, run in enumerate(found) if run.task not in [other.task for other in found[:index]]]
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    axes = figure.subplots(2, len(flows), squeeze=False)
    theory = table.query("source == 'theory'")
    first = theory.query("model == @flows[0].task.title")
    axes[0, 0].semilogy(first["frequency"], first["ratio"], "o-", color="black")
    axes[0, 0].set(title="ratio λ(Σ₀)/λ(Σ₁)", xlabel="frequency k")
    axes[0, 1].semilogy(first["frequency"][1:], first["rate"][1:], "o-", color="black")
    axes[0, 1].set(title="escape rate (k = 0: stable)", xlabel="frequency k")
    for run in flows:
        rows = theory.query("model == @run.task.title")
        axes[0, 2].plot(rows["frequency"], rows["height"], "o-", markersize=3, label=run.task.title)
        records = results[run].records
        weights = torch.stack([record.tensors["weights"][INIT] for record in records])
        axes[0, 3].plot(weights[-1], label=run.task.title)
    axes[0, 2].set(title="amplitude of the steady state", xlabel="frequency k")
    axes[0, 2].legend(frameon=False)
    axes[0, 3].set(title=f"field at t = {LONG:g}", xlabel="site i")
    axes[0, 3].axhline(0, color=GREY, linewidth=0.5)
    for axis, run in zip(axes[1], flows, strict=True):
        records = results[run].records
        weights = torch.stack([record.tensors["weights"][INIT] for record in records])
        power = torch.fft.rfft(weights).abs().square()
        power[:, 1 : (weights.shape[1] + 1) // 2] *= 2
        share = power / power.sum(1, keepdim=True)
        for frequency in range(5):
            axis.plot([record["time"] for record in records], share[:, frequency], label=f"k = {frequency}")
        axis.set(title=run.task.title, xlabel="time t", ylim=(0, 1.02))
    axes[1, 0].set_ylabel("share of the frequency in w²")
    axes[1, -1].legend(frameon=False)
    return figure
