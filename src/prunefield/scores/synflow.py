"""The score `synflow`: how much of a positive flow goes through a weight."""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.errors import UsageError
from prunefield.scores import Score
from prunefield.scores._gradients import Mode, borrow, check_finite, differentiate, read_batches
from prunefield.tasks import Batch


class Synflow(Score):
    """|w|·∂R/∂|w| with R = 1ᵀf(1; |θ|): SynFlow, bar2023, Eq. 3; with the inputs of the batches, Eq. 4.

    θ is all that the network holds, biases and buffers included. From the batches it takes the shape of an input, or,
    with `inputs="batch"`, the inputs themselves: ones, χ or ‖X_(i)‖. In a net of ReLU layers without biases the scores
    of each layer have the same sum R. One call is one iteration; `schedules.shrink` makes 100 of them.

    >>> net = nn.Linear(2, 1)
    >>> scores = Synflow(shape=(2,))(net, generator=torch.Generator())
    >>> torch.equal(scores["weight"], net.weight.detach().abs())
    True
    """

    mode: Mode = Field(default="eval", description="batch normalisation as it stands (eval) or by the batch (train)")
    inputs: Literal["ones", "batch"] = Field(default="ones", description="one input of ones, or the batches' own")
    shape: tuple[int, ...] = Field(default=(), description="of one input; empty: that of the first batch's")
    double: bool = Field(default=False, description="compute in double precision, for deep nets that overflow")

    def __call__(
        self, net: nn.Module, batches: Sequence[Batch] = (), *, generator: torch.Generator
    ) -> dict[str, Tensor]:
        weights = self.weights(net)
        first = next(iter(weights.values()))
        inputs = [x.to(first) if x.is_floating_point() else x.to(first.device) for x in self._inputs(batches)]
        with borrow(net, weights, self.mode, generator, positive=True, double=self.double) as (call, leaves):
            total: list[Tensor] = []
            for x in inputs:
                wide = self.double and x.is_floating_point()
                found = differentiate(call(x.double() if wide else x).sum(), leaves)
                total = [a.add_(b) for a, b in zip(total, found, strict=True)] if total else found
        pairs = zip(leaves.items(), total, strict=True)
        scores = {name: slope.mul_(leaf.detach()) for (name, leaf), slope in pairs}
        check_finite(scores, "the flow overflows: score with double=True")
        return scores

    def _inputs(self, batches: Sequence[Batch]) -> list[Tensor]:
        if self.inputs == "batch" and batches:
            return [x for x, _ in read_batches(batches)]
        if self.inputs == "batch" or not (self.shape or batches):
            raise UsageError("synflow needs an input's shape: give it a batch, or set shape, as in shape=[3, 32, 32]")
        return [torch.ones(1, *(self.shape or read_batches(batches)[0].x.shape[1:]))]
