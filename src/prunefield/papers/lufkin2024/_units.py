"""The fields of many units: what `lufkin2024/fig1`, `fig6` and `fig7` share.

As in `_fig3_claims.py`: IPR × N is 1 for a flat field, 1.5 for a sinusoid and 3 for noise; at least 6 is localised. The
units of one network differ, so where the paper makes a statement about all of them, more than expected by chance must
satisfy it (a one-sided sign test at 5 %).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import Verdict
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee
from prunefield.runs.ica import Ica
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LOCAL, NOISE = 6.0, 3.0  # IPR × N
LEVEL = 0.05
WHITE = 0.25  # the mean wave number of white noise over N


def name_network(run: Run) -> str:
    """What a run trains, as the tables call it."""
    if isinstance(run, Committee):
        kind = "soft committee" if run.second == "fixed" else f"two-layer, K = {run.hidden}"
        return f"{kind}, {run.activation}"
    return "ICA" if isinstance(run, Ica) else "neuron"


def fields_of(run: Run, result: Result) -> Tensor:
    """The learnt fields, shape (units, N)."""
    tensors = result.records[-1].tensors
    return tensors["components"] if isinstance(run, Ica) else tensors["weights"].flatten(0, -2)


def list_units(run: Run, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each unit."""
    assert isinstance(run, Committee | Ica | Neuron)
    assert isinstance(run.task, Discrimination)
    fields = fields_of(run, result).to(torch.float64)
    time = result.records[-1].values.get("time", 0.0)
    rate = 0.0 if isinstance(run, Ica) else run.rate
    known = {"network": name_network(run), "data": run.task.title, "size": fields.shape[-1], "rate": rate, "time": time}
    ipr, wave, height = compute_ipr(fields) * fields.shape[-1], average_waves(fields), fields.abs().amax(-1)
    for unit in range(len(fields)):
        values = {"ipr_n": ipr[unit].item(), "wave": wave[unit].item(), "height": height[unit].item()}
        yield {**known, "unit": unit, **values}


def imagine(network: str, data: str, ipr_n: float, number: int = 20, **known: float) -> list[dict[str, Any]]:
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


def whiten(table: "DataFrame") -> "DataFrame":
    """Fields with the mean wave number of white noise, neither low nor high."""
    return table.assign(wave=WHITE)


def pick(table: "DataFrame", network: str, data: str, size: int | None = None) -> "DataFrame":
    """The rows of a network on some data, of one number of sites if it is given."""
    rows = table.query("network == @network and data == @data")
    return rows if size is None else rows.query("size == @size")


def put(network: str, data: str, other: str, other_network: str = "") -> "Callable[[DataFrame], DataFrame]":
    """What replaces the rows of a network on `data` by those on `other`, of the same or of another network."""

    def replace(table: "DataFrame") -> "DataFrame":
        import pandas as pd

        new = pick(table, other_network or network, other).assign(network=network, data=data)
        return pd.DataFrame(pd.concat([table.drop(pick(table, network, data).index), new], ignore_index=True))

    return replace


def numbers(rows: "DataFrame", name: str = "ipr_n") -> np.ndarray:
    return rows[name].to_numpy(dtype=float)


def describe(values: np.ndarray, digits: int = 1) -> str:
    """Median and range, as the ledger shows them."""
    return f"median {np.median(values):.{digits}f} ({values.min():.{digits}f}–{values.max():.{digits}f})"


def count_signs(good: np.ndarray, observed: str, note: str = "") -> Verdict:
    """Reproduced if a one-sided sign test over the units is significant at 5 %."""
    from scipy.stats import binomtest

    chance = binomtest(int(good.sum()), len(good), alternative="greater").pvalue
    seen = f"{observed}: {good.sum()} of {len(good)} units (sign test: p = {chance:.2g})"
    return Verdict("reproduced" if chance < LEVEL else "not reproduced", seen, len(good), note)


def compare_ranks(first: np.ndarray, second: np.ndarray, observed: str, note: str = "") -> Verdict:
    """Reproduced if the first values are larger than the second ones by a one-sided rank test at 5 %."""
    from scipy.stats import mannwhitneyu

    chance = float(mannwhitneyu(first, second, alternative="greater").pvalue)
    status = "reproduced" if chance < LEVEL else "not reproduced"
    return Verdict(status, f"{observed} (rank test: p = {chance:.2g})", len(first) + len(second), note)


def draw_units(results: Mapping[Run, Result], shown: int) -> "Figure":
    """One panel for each run: the first units of its first network, one above the other, each to its own height."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.4 * len(results), 1.2 + 0.55 * shown), layout="constrained")
    for axis, (run, result) in zip(figure.subplots(1, len(results), squeeze=False)[0], results.items(), strict=True):
        assert isinstance(run, Committee | Ica | Neuron)
        assert isinstance(run.task, Discrimination)
        fields = fields_of(run, result)[:shown]
        for row, field in enumerate(fields):
            height, local = float(field.abs().max()), float(compute_ipr(field)) * len(field)
            axis.axhline(-row, color="#bbbbbb", linewidth=0.5)
            axis.plot(
                field / height / 2.2 - row, color=colormaps["viridis"](min(local / 2 / LOCAL, 0.9)), linewidth=1.2
            )
            axis.text(1.01, -row, f"{local:.1f}\n±{height:.2g}", va="center", transform=axis.get_yaxis_transform())
        rate = "" if isinstance(run, Ica) else f", rate {run.rate:g}"
        axis.set_title(f"{name_network(run)}\n{run.task.title}, N = {fields.shape[-1]}{rate}")
        axis.set(xlabel="site i", yticks=[])
    figure.suptitle("first units; beside each its IPR × N (1 flat, 1.5 sinusoid, 3 noise) and its largest weight")
    return figure
