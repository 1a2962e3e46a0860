"""The fields of many units: what `lufkin2024/fig1`, `fig6` and `fig7` share.

The units of one network differ, so where the paper makes a statement about all of them, more than expected by chance
must satisfy it (a one-sided sign test at 5%).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from scipy.stats import binomtest, mannwhitneyu
from torch import Tensor

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import Frame, Verdict, gather, judge, numbers
from prunefield.papers._kit import GREY, SEQUENCE
from prunefield.papers.lufkin2024._fields import LOCAL, NOISE, list_fields
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee
from prunefield.runs.ica import Ica
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination

LEVEL = 0.05
WIDTH = 11.0  # inches of a drawing of units
WHITE = 0.25  # the mean wave number of white noise over N
Network = Committee | Ica | Neuron


def tabulate_units(results: Mapping[Run, Result]) -> Frame:
    """One row for each unit."""
    return gather(results, _describe, (Committee, Ica, Neuron))


def _describe(run: Network, result: Result) -> Iterator[dict[str, Any]]:
    fields = list_weights(run, result).to(torch.float64)
    size = fields.shape[-1]
    return list_fields(
        {
            "network": name_network(run),
            "data": name_data(run),
            "size": size,
            "rate": 0.0 if isinstance(run, Ica) else run.lr,
            "time": result.records[-1].values.get("time", 0.0),
        },
        unit=torch.arange(len(fields)),
        ipr_n=compute_ipr(fields) * size,
        wave=average_waves(fields),
        height=fields.abs().amax(-1),
    )


def name_network(run: Network) -> str:
    """What a run trains, as the tables call it."""
    if isinstance(run, Committee):
        kind = "soft committee" if run.second == "fixed" else f"two-layer, K = {run.hidden}"
        return f"{kind}, {run.activation}"
    return "ICA" if isinstance(run, Ica) else "neuron"


def name_data(run: Network) -> str:
    assert isinstance(run.task, Discrimination)
    return run.task.title


def list_weights(run: Network, result: Result) -> Tensor:
    """The learnt fields, shape (units, N)."""
    tensors = result.records[-1].tensors
    return tensors["components"] if isinstance(run, Ica) else tensors["weights"].flatten(0, -2)


def imagine_units(network: str, data: str, ipr_n: float, number: int = 20, **known: float) -> list[dict[str, Any]]:
    """The rows of units that are all alike, for a table of what the paper says; by default waves of period 1."""
    row = {"network": network, "data": data, "size": 40, "rate": 100.0, "wave": 1 / 40, "ipr_n": ipr_n, **known}
    return [row | {"unit": unit} for unit in range(number)]


def average_waves(fields: Tensor) -> Tensor:
    """The mean wave number over N, weighted by power, of fields (units, N), shape (units,): 0 is flat, ½ alternates.

    >>> average_waves(torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])).tolist()
    [0.0, 0.5]
    """
    power = torch.fft.fft(fields).abs().square()
    return (power * torch.fft.fftfreq(fields.shape[-1]).abs().to(power)).sum(-1) / power.sum(-1)


def whiten(table: Frame) -> Frame:
    """The null: fields with the mean wave number of white noise, neither low nor high."""
    return table.assign(wave=WHITE)


def show_median_range(values: np.ndarray) -> str:
    """Median and range, as the ledger shows them."""
    return f"median {np.median(values):.1f} ({values.min():.1f}–{values.max():.1f})"


def judge_signs(good: np.ndarray, observed: str, note: str = "") -> Verdict:
    """Reproduced if a one-sided sign test over the units is significant at 5%."""
    chance = binomtest(int(good.sum()), len(good), alternative="greater").pvalue
    seen = f"{observed}: {good.sum()} of {len(good)} units (sign test: p = {chance:.2g})"
    return judge(chance < LEVEL, seen, len(good), note)


def judge_ranks(first: np.ndarray, second: np.ndarray, observed: str) -> Verdict:
    """Reproduced if the first values are larger than the second ones by a one-sided rank test at 5%."""
    chance = float(mannwhitneyu(first, second, alternative="greater").pvalue)
    return judge(chance < LEVEL, f"{observed} (rank test: p = {chance:.2g})", len(first) + len(second))


def judge_local(units: Frame, note: str = "") -> Verdict:
    """Are more of the units above the IPR × N of noise than expected by chance?"""
    ipr = numbers(units, "ipr_n")
    return judge_signs(ipr > NOISE, f"IPR·N {show_median_range(ipr)}, above the {NOISE:g} of noise", note)


def judge_diffuse(units: Frame) -> Verdict:
    """Are more of the units at or below the IPR × N of noise than expected by chance?"""
    ipr = numbers(units, "ipr_n")
    return judge_signs(ipr <= NOISE, f"IPR·N {show_median_range(ipr)}, at most the {NOISE:g} of noise")


def judge_low(units: Frame) -> Verdict:
    """Do more of the units have less than half the mean wave number of white noise than expected by chance?"""
    wave, limit = numbers(units, "wave") * numbers(units, "size"), WHITE / 2 * numbers(units, "size")
    return judge_signs(
        wave < limit, f"mean wave number {show_median_range(wave)}, below {limit[0]:g}, half that of white noise"
    )


def draw_units(figure: Figure, results: Mapping[Run, Result], shown: int) -> None:
    """One panel for each run: the first units of its first network, one above the other, each to its own height."""
    columns = len(results) if len(results) <= 5 else min(-(-len(results) // 2), 4)
    lines = -(-len(results) // columns)
    figure.set_size_inches(WIDTH, 0.6 + lines * (0.9 + 0.46 * shown))
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in panels[len(results) :]:
        axes.set_axis_off()
    for axes, (run, result) in zip(panels, results.items(), strict=False):
        assert isinstance(run, Network)
        fields = list_weights(run, result)[:shown]
        for row, field in enumerate(fields):
            height, local = float(field.abs().max()), float(compute_ipr(field)) * len(field)
            axes.axhline(-row, color=GREY, linewidth=0.5, alpha=0.5)
            colour = colormaps[SEQUENCE](min(local / 2 / LOCAL, 0.9))
            axes.plot(field / height / 2.2 - row, color=colour, linewidth=1.2)
            text = f"{local:.1f}\n({height:.2g})"
            axes.text(1.01, -row, text, va="center", transform=axes.get_yaxis_transform(), fontsize="small")
        rate = "" if isinstance(run, Ica) else f", rate {run.lr:g}"
        name = name_network(run).replace(", ", ",\n", 1) if columns > 3 else name_network(run)
        rate += f", seed {run.seed}" if run.seed else ""
        axes.set_title(f"{name}\n{name_data(run)}, N = {fields.shape[-1]}{rate}", fontsize="small")
        axes.set(xlabel="site i", yticks=[], ylim=(0.35 - len(fields), 0.65))
    figure.suptitle(
        "first units, each scaled to its largest |weight|, which is in parentheses;\n"
        "above it and as colour (light: local) IPR × N (1 flat, 1.5 sinusoid, 3 noise)",
        fontsize="small",
    )
