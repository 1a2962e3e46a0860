"""Width of the receptive fields in the masks of a pruning run."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core.plugin import Nested
from prunefield.measures.widths import WidthFit, bound_widths, measure_widths
from prunefield.runs import Record, Run, State
from prunefield.runs.imp import METHODS, Imp, read_masks


class Widths(Run):
    """Gaussian fits to S_i(d) of every first-layer unit (redman2025, eq. 1, Sec. 2.2 and Fig. 4A).

    One record per method (imp, oneshot, random) and round: mean and median of σx and σy over the `top` units with most
    kept inputs and over all units with at least `least` of them; how many units those are and how many are left out,
    because they keep at most one input or because their fit diverged; and how many mask entries of all pruned layers
    differ from IMP's. Tensors: σx, σy, the fit's mean squared error and the kept count of each unit.
    """

    version: ClassVar[int] = 2  # fits stop unit by unit, which changes the last digits

    of: Annotated[Imp, Nested()] = Field(description="the imp run whose masks are measured")
    top: int = Field(default=120, ge=1, description="number of most connected units in the first average")
    least: int = Field(
        default=10, ge=2, description="minimum number of kept inputs for a unit to enter the second average"
    )

    def __call__(self, state: State) -> Iterator[Record | None]:
        imp = self.of
        records = state.read(imp).records
        ours = read_masks(imp, records, "imp")
        for index, method in enumerate(METHODS):
            begun = state.values.get("done", 0) - index * len(records)
            theirs = read_masks(imp, records, method) if begun < len(records) else []
            for n in range(max(0, begun), len(theirs)):
                fields = theirs[n]["layers.0.weight"].view(-1, *imp.task.shape)
                differ = sum(int((mask != ours[n][name]).sum()) for name, mask in theirs[n].items())
                values, tensors = summarise_widths(fields, measure_widths(fields), self.top, self.least)
                state.values["done"] = index * len(records) + n + 1
                state.done = state.values["done"] / (len(METHODS) * len(records))
                yield Record({"method": method, "round": n, "differ": differ, **values}, tensors)


def summarise_widths(fields: Tensor, fit: WidthFit, top: int, least: int) -> tuple[dict, dict[str, Tensor]]:
    """The averages of one set of masks (units, channels, height, width)."""
    kept = fields.flatten(1).sum(1)
    narrow, wide = bound_widths(fields.shape[-2:])
    both = torch.stack([fit.width_x, fit.width_y])
    fitted = ((both > 1.001 * narrow) & (both < 0.999 * wide)).all(0)  # at a bound a fit has run away
    ranked = kept.argsort(descending=True, stable=True)
    best = ranked[fitted[ranked]][:top]
    groups = {"top": best, "all": torch.nonzero(fitted & (kept >= least)).flatten()}
    values: dict[str, int | float | None] = {
        "density": kept.sum().item() / fields.numel(),
        "bare": int((kept <= 1).sum()),
        "unfitted": int(((kept > 1) & ~fitted).sum()),
    }
    for group, units in groups.items():
        values[f"units_{group}"] = len(units)
        for axis, widths in (("x", fit.width_x[units]), ("y", fit.width_y[units])):
            values[f"mean_{axis}_{group}"] = widths.mean().item() if len(units) else None
            values[f"median_{axis}_{group}"] = widths.quantile(0.5).item() if len(units) else None
    return values, {"width_x": fit.width_x, "width_y": fit.width_y, "misfit": fit.misfit, "kept": kept.int()}
