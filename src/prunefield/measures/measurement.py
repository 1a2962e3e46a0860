"""Measuring the receptive fields of a user's network: every measure of every unit, as a table and a picture."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from prunefield.core.display import Displayed
from prunefield.core.errors import UsageError, show_line
from prunefield.core.figures import encode_figure
from prunefield.core.files import make_folder, write_whole
from prunefield.measures.checkpoints import KeptWeights, NetworkOrFile, find_layer
from prunefield.measures.examples import has_channels_last
from prunefield.measures.pictures import show_fields
from prunefield.measures.portrait import describe_responses, measure_fields
from prunefield.modules.calls import Data, join_batches, list_tensors, read_batches, take_batches

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SHOWN, ACROSS = 120, 15  # fields in the picture, as in Fig. 1 of redman2025
STATISTICS = ("mean", "median", "least", "greatest")


@dataclass(frozen=True, repr=False)
class Measurement(Displayed):
    """The fields of one layer: its `weight` and `mask` (units, inputs), and measures (units,) of them by name.

    `units` are those of `portrait.measure_fields` and, with data, of `portrait.describe_responses`, NaN where a unit
    has none; `scores` (units, inputs) are the cavity scores of every weight, None without data.
    """

    layer: str
    shape: tuple[int, ...]
    weight: Tensor
    mask: Tensor
    units: dict[str, Tensor]
    scores: Tensor | None

    @property
    def density(self) -> float:
        return self.mask.float().mean().item()

    @property
    def title(self) -> str:
        return f"{show_line(self.layer, 200)}: {len(self.weight)} units, density {self.density:.4g}"

    def frame(self) -> "DataFrame":
        """One row per unit."""
        from pandas import DataFrame

        return DataFrame({"unit": range(len(self.weight)), **{name: item.numpy() for name, item in self.units.items()}})

    def overview(self) -> "DataFrame":
        """One row per measure: statistics over the units that have a value, and how many those are."""
        from pandas import DataFrame

        return DataFrame([{"measure": name, **_summarise_values(values)} for name, values in self.units.items()])

    def notes(self) -> list[str]:
        full = "Nothing is masked, and all full masks have the same width, so widths are those of |w|."
        bare = "Kurtosis and cavity scores need data."
        notes = [full] * (self.density == 1) + [bare] * (self.scores is None)
        if has_channels_last(self.shape) and self.shape[0] == self.shape[1] != self.shape[2]:
            channels, height, width = self.shape
            notes.append(
                f"The shape {channels},{height},{width} means {channels} channels of {height} × {width} pixels; if "
                "channels come last, move them to the front, in the data and the weights."
            )
        return notes

    def as_json(self) -> dict[str, Any]:
        """The overview as plain values."""
        head = {"layer": self.layer, "shape": list(self.shape), "units": len(self.weight), "density": self.density}
        rows = [{"measure": name, **_summarise_values(values)} for name, values in self.units.items()]
        return {
            **head,
            "measures": [{key: None if item != item else item for key, item in row.items()} for row in rows],
        }

    def save(self, folder: str | Path) -> None:
        """Writes units.json (all values of all units), scores.safetensors (with data) and fields.svg."""
        from safetensors.torch import save

        folder = Path(folder)
        make_folder(folder)
        units = {name: [None if item != item else item for item in part.tolist()] for name, part in self.units.items()}
        text = json.dumps({**self.as_json(), "per_unit": units}, indent=1, allow_nan=False)
        write_whole(folder / "units.json", text.encode())
        if self.scores is not None:
            write_whole(folder / "scores.safetensors", save({self.layer: self.scores.contiguous()}))
        write_whole(folder / "fields.svg", encode_figure(self.plot(), "svg"))

    def draw(self, figure: "Figure") -> None:
        """The weights of the most connected units as pictures: grey is zero; colours if there are three channels."""
        kept = self.mask.sum(1)
        shown = min(SHOWN, max(1, int(kept.count_nonzero())))
        fields = (self.weight * self.mask)[kept.argsort(descending=True, stable=True)[:shown]]
        title = f"{show_line(self.layer, 80)}: the {len(fields)} units with most kept inputs"
        if len(self.shape) == 1:
            axes, most = figure.subplots(), float(fields.abs().max())
            image = axes.imshow(
                fields.numpy(), cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest"
            )
            axes.set(xlabel="input", ylabel="unit, most connected first", title=title)
            axes.locator_params(integer=True)
            figure.colorbar(image, label="weight")
            return
        fields = fields.view(len(fields), *(1,) * (3 - len(self.shape)), *self.shape)
        if fields.shape[1] != 3:
            fields = fields.mean(1, keepdim=True).expand(-1, 3, -1, -1)
        greatest = fields.abs().amax((1, 2, 3), keepdim=True).clamp(min=1e-30)
        figure.set_size_inches(10, 0.4 + 0.67 * -(-len(fields) // ACROSS))
        show_fields(figure.subplots(), 0.5 + 0.5 * fields / greatest, min(ACROSS, len(fields)), title)


def measure(
    net: NetworkOrFile,
    layer: str | None = None,
    shape: Sequence[int] | None = None,
    *,
    mask: KeptWeights = None,
    data: Data = None,
) -> Measurement:
    """Widths, IPR, orientation and, with data, kurtosis and cavity scores of every unit of a linear layer.

    `net` is a network, a state dict, a matrix (units, inputs) or a file of one of these (.safetensors, .npy, or what
    `torch.save(net.state_dict(), …)` writes; nothing in it is executed). `layer` is a name, as in "0" or "0.weight"
    [default: the first linear layer whose inputs fit the shape]. `shape` is that of one input, (N,), (height, width) or
    (channels, height, width) [default: that of the data, or (N,)]. `mask` is a mask or a file of one [default: the
    non-zero weights are kept]. `data` are examples of what the layer receives: a pair (x, y), x alone, or batches as
    `prune` takes them; all of them are used.

    >>> net = torch.nn.Sequential(torch.nn.Linear(16, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    >>> found = measure(net, shape=(4, 4))
    >>> found, list(found.frame().columns)[:4]
    (<Measurement: 0.weight: 3 units, density 1>, ['unit', 'kept', 'weight_width_x', 'weight_width_y'])
    """
    x, y = (None, None) if data is None else _join_examples(data)
    if shape is None and x is not None and 1 < x.ndim <= 4:
        shape = tuple(x.shape[1:])
    if shape is not None and not (
        isinstance(shape, Sequence)
        and 1 <= len(shape) <= 3
        and all(isinstance(side, Integral) and side > 0 for side in shape)
    ):
        raise UsageError(f"shape must have one to three positive sides, as in (3, 32, 32), not {shape!r:.100}")
    name, weight, kept = find_layer(net, layer, shape, mask)
    shape = tuple(shape or (weight.shape[1],))
    units, scores = measure_fields(weight, kept, shape), None
    if x is not None and y is not None:
        if prod(x.shape[1:]) != weight.shape[1]:
            raise UsageError(
                f"an example of the data has {prod(x.shape[1:])} numbers, but {name} has {weight.shape[1]} inputs"
            )
        more, scores = describe_responses(weight, kept, x.flatten(1).to(weight), y)
        units |= more
    return Measurement(name, shape, weight, kept, units, scores)


def _join_examples(data: Data) -> tuple[Tensor, Tensor]:
    """Inputs (n, …) and classes (n,) of all batches; without labels there is one class."""
    whole = join_batches(read_batches(take_batches(data, "all", generator=torch.Generator())))
    inputs = list(list_tensors(whole.inputs))
    if len(inputs) != 1:
        raise UsageError(f"a layer has one input, but a batch of the data has {len(inputs)}; give pairs (x, y)")
    x = inputs[0].detach().cpu()
    y = torch.zeros(len(x), dtype=torch.long) if whole.labels is None else whole.labels.detach().cpu()
    if y.shape != (len(x),):
        raise UsageError(f"y must have one class per example, shape ({len(x)},), not {tuple(y.shape)}")
    if not bool(y.isfinite().all()):
        raise UsageError("the labels contain numbers that are not finite; leave those examples out")
    if not bool(x.isfinite().all()):
        raise UsageError("the data contain numbers that are not finite; leave those examples out or fill them in")
    return x, y


def _summarise_values(values: Tensor) -> dict[str, Any]:
    """Mean, median, least and greatest over the units that have a value, and how many those are."""
    values = values[~values.isnan()]
    found = (values.mean(), values.quantile(0.5), values.min(), values.max()) if len(values) else [torch.nan] * 4
    return {name: float(value) for name, value in zip(STATISTICS, found, strict=True)} | {"units": len(values)}
