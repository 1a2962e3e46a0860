"""Kurtosis of the pre-activations that the masks of a pruning run give at the rewind point."""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.core.plugin import Nested
from prunefield.masks.mask import Mask
from prunefield.measures.kurtosis import correct_kurtosis, gaussian_kurtosis, kurtosis, kurtosis_per_class
from prunefield.networks.fcn import Norm
from prunefield.runs import Record, Run, State, Value
from prunefield.runs.imp import METHODS, Imp, read_masks
from prunefield.tasks import draw_balanced


class Kurtosis(Run):
    """kurt(λ_i) of a layer's λ = W⊙m·x̃ at θ(rewind), on held-out images (redman2025, eqs 3 and 4, Figs 4B and S3).

    x̃ is the input of the layer after batch norm. The pixels' moments are the running ones of the rewind point; those
    of later layers belong to the dense net, so `statistics` are recomputed for each mask by default. One record per
    method (imp, oneshot, random) and round: `within`, the kurtosis within each class averaged over classes and units,
    as Fig. 4B; `pooled`, over all images; both again `corrected` for the number of images; and the counts of what has
    no variance and is left out: units (`bare`) and pairs of unit and class (`bare_within`). `gaussian` is what Gaussian
    pre-activations give for as many images; corrected they give 3. Tensors: `within` and `pooled` per unit. Biases only
    translate λ and are left out.
    """

    of: Annotated[Imp, Nested()] = Field(description="the imp run whose masks are measured")
    per_class: int = Field(default=50, ge=4, description="held-out images of each class")
    layer: int = Field(default=0, ge=0, description="index of the hidden layer, starting at 0")
    statistics: Literal["masked", "dense"] = Field(
        default="masked",
        description="batch norm after layer 0: use the moments of the masked net's activity, or the dense net's",
    )

    @model_validator(mode="after")
    def _check_layer(self) -> "Kurtosis":
        if self.layer >= len(self.of.hidden):
            raise UsageError(
                f"layer must be below {len(self.of.hidden)}, the number of hidden layers (got {self.layer})"
            )
        return self

    def seconds(self) -> float:
        # Measured: products at 5e10 a second and moments of 30 ns a pre-activation on one core; images 30 µs each.
        imp = self.of
        images = self.per_class * imp.task.classes
        each = images * imp.hidden[0] * (4e-11 * imp.widths[0] + 3e-8)
        return each * len(METHODS) * (imp.rounds + 1) + 4e-5 * images + 0.5

    def __call__(self, state: State) -> Iterator[Record | None]:
        imp = self.of
        records = state.read(imp).records
        batch = draw_balanced(imp.task, self.per_class, generator=seeds.generator(imp.seed, "kurtosis"))
        for index, method in enumerate(METHODS):
            begun = state.values.get("done", 0) - index * len(records)
            masks = read_masks(imp, records, method) if begun < len(records) else []
            for n in range(max(0, begun), len(masks)):
                values = self._forward(records[0].tensors, masks[n], batch.x)
                record = self._record(values, batch.y, imp.task.classes)
                density = masks[n][f"layers.{self.layer}.weight"].float().mean().item()
                record.values.update(method=method, round=n, density=density)
                state.values["done"] = index * len(records) + n + 1
                state.done = state.values["done"] / (len(METHODS) * len(records))
                yield record

    def _forward(self, tensors: dict[str, Tensor], masks: Mask, x: Tensor) -> Tensor:
        """λ of the layer, (n, units), but for its bias."""
        imp = self.of
        if self.layer == 0:
            return x @ (rewound_weight(imp, tensors, x) * masks["layers.0.weight"]).T
        net = imp.build()
        net.load_state_dict(
            {key.removeprefix("rewind:"): item for key, item in tensors.items() if key.startswith("rewind:")}
        )
        masks.apply_(net)
        net.eval()
        with torch.no_grad():
            for index in range(self.layer + 1):
                x = torch.relu(x) if index else x
                norm, linear = net.norms[index] if net.norms else None, net.layers[index]
                assert isinstance(linear, nn.Linear)
                if isinstance(norm, Norm):
                    if not norm.seen or (index and self.statistics == "masked"):
                        norm.mean.copy_(x.mean(0))
                        norm.variance.copy_(x.var(0, correction=0))
                    x = norm(x)
                x = x @ linear.weight.T if index == self.layer else linear(x)
        return x

    def _record(self, values: Tensor, y: Tensor, classes: int) -> Record:
        within, pooled = kurtosis_per_class(values, y, classes), kurtosis(values)
        found: dict[str, Value] = {
            "within": _mean(within),
            "pooled": _mean(pooled),
            "within_corrected": _mean(correct_kurtosis(within, len(y) // classes)),
            "pooled_corrected": _mean(correct_kurtosis(pooled, len(y))),
            "gaussian": gaussian_kurtosis(len(y) // classes),
            "gaussian_pooled": gaussian_kurtosis(len(y)),
            "bare": int(pooled.isnan().sum()),
            "bare_within": int(within.isnan().sum()),
        }
        return Record(found, {"within": within.nanmean(0), "pooled": pooled})


def rewound_weight(imp: Imp, tensors: dict[str, Tensor], x: Tensor) -> Tensor:
    """First-layer weights of θ(rewind) with batch norm folded in: W·γ/√(v + ε); its shifts only translate λ.

    At step 0 batch norm has seen nothing yet; then v is the variance of the images x.
    """
    weight = tensors["rewind:layers.0.weight"]
    if not imp.batch_norm:
        return weight
    seen, variance = tensors["rewind:norms.0.seen"], tensors["rewind:norms.0.variance"]
    variance = variance if seen else x.var(0, correction=0)
    return weight * tensors["rewind:norms.0.weight"] * (variance + 1e-10).rsqrt()


def _mean(values: Tensor) -> float | None:
    mean = values.nanmean().item()
    return None if mean != mean else mean
