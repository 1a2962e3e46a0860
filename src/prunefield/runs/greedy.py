"""Greedy pruning: each round removes the weights whose removal raises the kurtosis of the pre-activations most."""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.plugin import Nested
from prunefield.masks.mask import keep_largest, pack_bits, unpack_bits
from prunefield.measures.cavity import score_weights
from prunefield.measures.kurtosis import kurtosis_per_class
from prunefield.measures.widths import measure_widths
from prunefield.runs import Record, Result, Run, State
from prunefield.runs.imp import Imp, read_masks
from prunefield.runs.kurtosis import rewound_weight
from prunefield.runs.widths import summarise_widths
from prunefield.tasks import Batch, draw_balanced

Goal = Literal["kurtosis", "excess", "corrected"]
NAME = "layers.0.weight"


class Greedy(Run):
    """A pruning of the first layer that maximises only the kurtosis: the control for H* of redman2025 (Sec. 1).

    It begins at θ(rewind) of an imp run. In every round all remaining weights are scored once, as IMP prunes, or in
    equal `parts`, and the highest are removed until as many remain as IMP keeps. The goal `excess` takes the cavity
    scores (eq. 5), `corrected` those without their bias for few images (see `Halves`); `kurtosis` the relative change
    of the unit's kurtosis within classes, without the sign that eq. 5 has below 3. Weights without a score are removed
    last. Scores are computed on training images; what is recorded is measured on the held-out images of `kurtosis`:
    `within`, the kurtosis within classes averaged over classes and units, that on the images used for selection
    (`scored`), the units without variance (`bare`), and the widths of `widths`. Tensor: the mask, packed.
    """

    of: Annotated[Imp, Nested()] = Field(
        description="the imp run that gives the rewind point and the number of weights to keep"
    )
    goal: Goal = Field(default="kurtosis", description="the quantity to increase")
    scored: int = Field(default=500, ge=8, description="training images of each class to score with")
    parts: int = Field(default=1, ge=1, description="scoring passes per round; more of them make the search greedier")
    per_class: int = Field(default=50, ge=4, description="held-out images of each class to measure with")
    top: int = Field(default=120, ge=1, description="number of most connected units over which the width is averaged")

    def seconds(self) -> float:
        # Measured: a scoring as in `cavity`, a fit of widths as in `widths`, and products for the kurtosis.
        imp = self.of
        images, scored = self.per_class * imp.task.classes, self.scored * imp.task.classes
        weights = imp.hidden[0] * imp.widths[0]
        each = self.parts * scored * 3.2e-10 + images * 8e-11 + 2e-7
        return imp.rounds * weights * each + 4e-5 * (images + scored) + 1

    def __call__(self, state: State) -> Iterator[Record | None]:
        imp = self.of
        records = state.read(imp).records
        counts = [int(mask[NAME].sum()) for mask in read_masks(imp, records, "imp")]
        stream, other = (seeds.generator(imp.seed, name) for name in ("greedy", "kurtosis"))
        seen = draw_balanced(imp.task, self.scored, generator=stream, training=True)
        weight = rewound_weight(imp, records[0].tensors, seen.x)
        kept = state.tensor("mask", lambda: torch.ones_like(weight, dtype=torch.bool))
        test = draw_balanced(imp.task, self.per_class, generator=other)
        for n in range(state.values.get("round", 0), imp.rounds + 1):
            for part in range(1, self.parts + 1) if n else ():
                stay = -self._score(weight, kept, seen)
                stay = torch.where(kept, stay.nan_to_num(torch.inf), -torch.inf)
                count = counts[n - 1] - (counts[n - 1] - counts[n]) * part // self.parts
                kept.copy_(keep_largest(stay.flatten(), count).view_as(kept))
            state.values["round"] = n + 1
            state.done = (n + 1) / (imp.rounds + 1)
            own = self._within(weight, kept, seen).nanmean().item()
            yield Record({"round": n, "scored": own, **self._measure(weight, kept, test)}, {"mask": pack_bits(kept)})

    def _score(self, weight: Tensor, kept: Tensor, seen: Batch) -> Tensor:
        if self.goal != "kurtosis":
            column = "exact" if self.goal == "excess" else "corrected"
            return score_weights(weight, seen.x, seen.y, mask=kept, columns=(column,))[column]
        scores = score_weights(weight, seen.x, seen.y, mask=kept, columns=("of_mean",))["of_mean"]
        within = self._within(weight, kept, seen).nanmean(0)
        return scores * torch.where(within > 3, 1.0, -1.0)[:, None]

    def _within(self, weight: Tensor, kept: Tensor, batch: Batch) -> Tensor:
        return kurtosis_per_class(batch.x @ (weight * kept).T, batch.y, self.of.task.classes)

    def _measure(self, weight: Tensor, kept: Tensor, test: Batch) -> dict:
        within = self._within(weight, kept, test)
        fields = kept.view(-1, *self.of.task.shape)
        widths, _ = summarise_widths(fields, measure_widths(fields), self.top, least=10)
        del widths["bare"]  # of the masks; here those of the pre-activations
        return {"within": within.nanmean().item(), "bare": int(within.isnan().all(0).sum()), **widths}


def read_fields(run: Greedy, result: Result) -> Tensor:
    """The last masks of the units with most kept inputs first: (units, channels, height, width)."""
    fields = unpack_bits(result.records[-1].tensors["mask"], (run.of.hidden[0], *run.of.task.shape))
    return fields[fields.flatten(1).sum(1).argsort(descending=True, stable=True)]
