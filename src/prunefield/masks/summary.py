"""Summaries of masks: what each layer keeps, and what one input costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from prunefield.core.display import Displayed
from prunefield.core.errors import UsageError, show_line
from prunefield.modules.calls import Data, change_batch, read_batches, take_batches
from prunefield.modules.flops import count_flops

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LABEL = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # so that the dashed line does not cross the numbers


@dataclass(frozen=True, repr=False)
class Summary(Displayed):
    """One row per layer, the totals, and the parameters of the network (None if it was not given).

    `operations` are those for one input, dense and pruned, or None without an input. Layers that the mask does not name
    are not in its rows, but in the totals of the operations.
    """

    layers: tuple[dict[str, Any], ...]
    parameters: int | None = None
    operations: tuple[int, int] | None = None

    @property
    def weights(self) -> int:
        return sum(row["weights"] for row in self.layers)

    @property
    def kept(self) -> int:
        return sum(row["kept"] for row in self.layers)

    @property
    def density(self) -> float:
        return self.kept / max(self.weights, 1)

    @property
    def title(self) -> str:
        parts = [f"{self.kept:,} of {self.weights:,} weights, density {self.density:.6g}"]
        if self.parameters is not None:
            parts.append(f"{self.parameters:,} parameters in all")
        if self.operations is not None:
            dense, kept = self.operations
            parts.append(f"{kept:,} of {dense:,} operations for one input")
        return "; ".join(parts)

    def frame(self) -> "DataFrame":
        from pandas import DataFrame

        return DataFrame(list(self.layers), columns=None if self.layers else ["layer", "weights", "kept", "density"])

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        flops = {} if self.operations is None else dict(zip(("flops", "kept_flops"), self.operations, strict=True))
        totals = {"density": self.density, "weights": self.weights, "kept": self.kept, "parameters": self.parameters}
        return {**totals, **flops, "layers": list(self.layers)}

    def draw(self, figure: "Figure") -> None:
        """The density of each layer, and of all."""
        figure.set_size_inches(self.size[0], 0.9 + 0.2 * len(self.layers))
        axes = figure.subplots()
        names, densities = [show_line(row["layer"], 80) for row in self.layers], [row["density"] for row in self.layers]
        bars = axes.barh(range(len(names)), densities, color="0.45")
        axes.bar_label(bars, [f"{row['kept']:,} of {row['weights']:,}" for row in self.layers], padding=3, bbox=LABEL)
        axes.axvline(self.density, color="black", linestyle="--", linewidth=1, zorder=0)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set(xlabel="density; dashed: of all layers", xlim=(0, 1.25 * max(densities, default=1) or 1))


def summarise_mask(
    mask: Mapping[str, Tensor], net: nn.Module | None, shape: Sequence[int] | None, data: Data
) -> Summary:
    """The summary of a mask; see `Mask.summary`."""
    if net is None and (shape is not None or data is not None):
        raise UsageError("operations are counted by running the network: give it too, as in mask.summary(net, shape=…)")
    rows = []
    for name, part in mask.items():
        kept = int(part.count_nonzero())
        rows.append({"layer": name, "weights": part.numel(), "kept": kept, "density": kept / max(part.numel(), 1)})
    if net is None:
        return Summary(tuple(rows))
    if shape is not None and not (isinstance(shape, Sequence) and all(isinstance(side, Integral) for side in shape)):
        raise UsageError(f"shape must be whole numbers, as in (3, 32, 32), not {shape!r:.100}")
    parameters = sum(parameter.numel() for parameter in net.parameters())
    if shape is None and data is None:
        return Summary(tuple(rows), parameters)
    given = torch.zeros(1, *shape) if shape is not None else data
    fed = read_batches(take_batches(given, "shape", generator=torch.Generator()))[0]
    one = [change_batch(fed, lambda item: item[:1] if item.ndim else item).given]
    dense, pruned = count_flops(net, one), count_flops(net, one, mask)
    rows = [row | {"flops": dense.get(row["layer"], 0), "kept_flops": pruned.get(row["layer"], 0)} for row in rows]
    return Summary(tuple(rows), parameters, (sum(dense.values()), sum(pruned.values())))
