"""Gabor fits and orientation selectivity of the receptive fields that a pruning run ends with."""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core.plugin import Nested
from prunefield.measures.gabor import find_preference, fit_gabors, flatten_fields
from prunefield.runs import Record, Run, State, Value
from prunefield.runs.imp import METHODS, Imp, read_masks

NAME = "layers.0.weight"


class Gabors(Run):
    """Whether the last masks look like Gabor filters: beyond the locality that redman2025, Fig. 1 shows, orientation.

    One record per method (imp, oneshot, random) at the last round, on the `top` units with most kept inputs, their
    channels summed and their mean subtracted: `units` with any variance; `selectivity` and `explained`, means over them
    of the orientation selectivity and of the share of variance that the fit explains; `frequency`, the median in cycles
    per pixel. Tensors, one entry per unit: selectivity, preferred orientation (`preferred`) and the parameters of the
    fit as in `measures.gabor.GaborFits`; NaN where a field is flat.
    """

    of: Annotated[Imp, Nested()] = Field(description="the imp run whose receptive fields are fitted")
    top: int = Field(default=120, ge=1, description="number of most connected units to fit")
    field: Literal["mask", "weight"] = Field(
        default="mask", description="what is fitted: the mask itself, or the weights θ(rewind)⊙m"
    )

    def __call__(self, state: State) -> Iterator[Record | None]:
        imp = self.of
        records = state.read(imp).records
        for index in range(state.values.get("done", 0), len(METHODS)):
            kept = read_masks(imp, records, METHODS[index])[-1][NAME]
            ranked = kept.sum(1).argsort(descending=True, stable=True)[: self.top]
            shown = kept if self.field == "mask" else kept * records[0].tensors[f"rewind:{NAME}"]
            values, tensors = describe_gabors(shown[ranked].view(-1, *imp.task.shape))
            state.values["done"] = index + 1
            state.done = (index + 1) / len(METHODS)
            yield Record({"method": METHODS[index], "round": imp.rounds, **values}, tensors)


def describe_gabors(fields: Tensor) -> tuple[dict[str, Value], dict[str, Tensor]]:
    """Averages over the fields (units, channels, height, width), and what was found for each of them."""
    flat = flatten_fields(fields)
    chosen, fit = find_preference(flat), fit_gabors(flat)
    tensors = {"selectivity": chosen.selectivity, "preferred": chosen.orientation, **fit._asdict()}
    there = ~(fit.explained.isnan() | chosen.selectivity.isnan())
    values: dict[str, Value] = {"units": int(there.sum()), "selectivity": None, "explained": None, "frequency": None}
    if bool(there.any()):
        for name in ("selectivity", "explained"):
            values[name] = tensors[name][there].mean().item()
        values["frequency"] = tensors["frequency"][there].quantile(0.5).item()
    return values, {name: tensor.to(torch.float64) for name, tensor in tensors.items()}
