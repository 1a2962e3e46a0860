"""Kurtosis of the pre-activations that the masks of a pruning run give at the rewind point."""

from collections.abc import Iterator
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from prunefield import seeds
from prunefield.measure.kurtosis import gaussian_kurtosis, kurtosis, kurtosis_per_class
from prunefield.plugin import Nested
from prunefield.runs import Record, Run, State, Value
from prunefield.runs.imp import METHODS, Imp, read_masks
from prunefield.tasks import Batch, Task


class Kurtosis(Run):
    """kurt(λ_i) of the first layer's λ = W⊙m·x̃ at θ(rewind), on new images (redman2025, eqs 3 and 4, Fig. 4B).

    x̃ is the input after batch norm, with its running moments at the rewind point. One record per method (imp, oneshot,
    random) and round: `within`, the kurtosis within each class averaged over classes and units, as Fig. 4B;
    `pooled`, over all images; and the number of units without variance, which are left out. `gaussian` is what
    Gaussian pre-activations give for as many images. Tensors: both per unit. Biases only translate λ and are left out.
    """

    of: Annotated[Imp, Nested()] = Field(description="the imp run whose masks are measured")
    per_class: int = Field(default=50, ge=2, description="images of each class")

    def seconds(self) -> float:
        # Measured: products at 5e10 a second and moments of 30 ns a pre-activation on one core; images 30 µs each.
        imp = self.of
        images = self.per_class * imp.task.classes
        each = images * imp.hidden[0] * (4e-11 * imp.widths[0] + 3e-8)
        return each * len(METHODS) * (imp.rounds + 1) + 4e-5 * images + 0.5

    def __call__(self, state: State) -> Iterator[Record | None]:
        imp = self.of
        records = state.read(imp).records
        batch = balanced(imp.task, self.per_class, generator=seeds.generator(imp.seed, "kurtosis"))
        weight = rewound_weight(imp, records[0].tensors)
        for index, method in enumerate(METHODS):
            begun = state.values.get("done", 0) - index * len(records)
            masks = read_masks(imp, records, method) if begun < len(records) else []
            for n in range(max(0, begun), len(masks)):
                mask = masks[n]["layers.0.weight"]
                record = self._record(batch.x @ (weight * mask).T, batch.y, imp.task.classes)
                record.values.update(method=method, round=n, density=mask.float().mean().item())
                state.values["done"] = index * len(records) + n + 1
                state.done = state.values["done"] / (len(METHODS) * len(records))
                yield record

    def _record(self, values: Tensor, y: Tensor, classes: int) -> Record:
        within, pooled = kurtosis_per_class(values, y, classes), kurtosis(values)
        found: dict[str, Value] = {
            "within": _mean(within),
            "pooled": _mean(pooled),
            "gaussian": gaussian_kurtosis(self.per_class),
            "gaussian_pooled": gaussian_kurtosis(len(y)),
            "bare": int(pooled.isnan().sum()),
        }
        return Record(found, {"within": within.nanmean(0), "pooled": pooled})


def balanced(task: Task, per_class: int, *, generator: torch.Generator) -> Batch:
    """`per_class` images of each class, sorted by class."""
    parts: list[Batch] = []
    counts = torch.zeros(task.classes, dtype=torch.long)
    while int(counts.min()) < per_class:
        parts.append(task.sample(per_class * task.classes, generator=generator))
        counts += torch.bincount(parts[-1].y, minlength=task.classes)
    x, y = torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])
    chosen = torch.cat([torch.nonzero(y == label).flatten()[:per_class] for label in range(task.classes)])
    return Batch(x[chosen], y[chosen])


def rewound_weight(imp: Imp, tensors: dict[str, Tensor]) -> Tensor:
    """First-layer weights of θ(rewind) with batch norm folded in: W·γ/√(v + ε); its shifts only translate λ."""
    weight = tensors["rewind:layers.0.weight"]
    if not imp.batch_norm:
        return weight
    return weight * tensors["rewind:norms.0.weight"] * (tensors["rewind:norms.0.variance"] + 1e-10).rsqrt()


def _mean(values: Tensor) -> float | None:
    mean = values.nanmean().item()
    return None if mean != mean else mean
