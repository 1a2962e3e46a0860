"""The score `grasp`: how much a weight holds up the flow of the gradient."""

from collections.abc import Sequence

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.scores import Score
from prunefield.scores._gradients import Loss, Mode, borrow, check_finite, differentiate, losses
from prunefield.tasks import Batch


class Grasp(Score):
    """w⊙Hg with the gradient g and the Hessian H of the loss of outputs/T: GraSP, bar2023, Table 2. It has signs.

    The largest are kept: to remove w changes ‖g‖² by −2·w⊙Hg to first order. g and H are of the prunable weights, and
    of the sum of the batches' mean losses.

    >>> net = nn.Linear(1, 1, bias=False)
    >>> batch = Batch(torch.ones(1, 1), torch.zeros(1, 1))  # L = w², so w·Hg = w·2·2w
    >>> scores = Grasp(loss="squared", temperature=1)(net, [batch], generator=torch.Generator())
    >>> torch.allclose(scores["weight"], 4 * net.weight.detach().square())
    True
    """

    mode: Mode = Field(default="eval", description="batch normalisation as it stands (eval) or by the batch (train)")
    loss: Loss = Field(default="cross-entropy", description="the loss L")
    temperature: float = Field(default=200.0, gt=0, description="T, by which outputs are divided")

    def __call__(
        self, net: nn.Module, batches: Sequence[Batch] = (), *, generator: torch.Generator
    ) -> dict[str, Tensor]:
        with borrow(net, self.weights(net), self.mode, generator) as (call, leaves):
            slopes = list(leaves.values())[:0]
            single = len(batches) == 1  # then one graph serves both derivatives
            for loss in losses(call, batches, self.loss, self.temperature):
                found = differentiate(loss, leaves, graph=single)
                slopes = [a.add_(b) for a, b in zip(slopes, found, strict=True)] if slopes else found
            fixed = [slope.detach() for slope in slopes]
            if single:
                curved = differentiate(_dot(fixed, slopes), leaves)
            else:
                curved = [torch.zeros_like(slope) for slope in fixed]
                for loss in losses(call, batches, self.loss, self.temperature):
                    parts = differentiate(_dot(fixed, differentiate(loss, leaves, graph=True)), leaves)
                    curved = [a.add_(b) for a, b in zip(curved, parts, strict=True)]
        pairs = zip(leaves.items(), curved, strict=True)
        scores = {name: part.mul_(leaf.detach()) for (name, leaf), part in pairs}
        check_finite(scores, "look for an overflow in the network or its data, or score in float32")
        return scores


def _dot(fixed: list[Tensor], slopes: list[Tensor]) -> Tensor:
    return torch.stack([(a * b).sum() for a, b in zip(fixed, slopes, strict=True)]).sum()
