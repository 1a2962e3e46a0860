"""SNIP: how much the removal of a weight changes the loss."""

from typing import Unpack

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.modules.borrowing import Mode, borrow_network
from prunefield.modules.calls import Data, Hooks, LossName, fit_batch, read_batches, take_batches
from prunefield.scores import Score
from prunefield.scores._gradients import check_finite, compute_losses, differentiate_leaves


class Snip(Score):
    """|∂L(m⊙w)/∂m| at m = 1, which is |w·∂L/∂w|: SNIP, bar2023, Section 6. L is the sum of the batches' mean losses.

    SNIP's paper divides by the total; that changes no mask and is left out.

    >>> from prunefield.tasks import Batch
    >>> net = nn.Linear(1, 1, bias=False)
    >>> batch = Batch(torch.tensor([[3.0]]), torch.tensor([[1e6]]))  # far away: ∂|3w − y|/∂w = −3
    >>> scores = Snip(loss="l1")(net, [batch], generator=torch.Generator())
    >>> torch.allclose(scores["weight"], 3 * net.weight.detach().abs())
    True
    """

    mode: Mode = Field(
        default="eval",
        description="batch normalisation with running statistics (eval) or with those of the batch (train)",
    )
    loss: LossName = Field(default="cross-entropy", description="the loss L")

    def __call__(
        self, net: nn.Module, batches: Data = (), *, generator: torch.Generator, **hooks: Unpack[Hooks]
    ) -> dict[str, Tensor]:
        forward, loss = hooks.get("forward"), hooks.get("loss")
        weights = self.weights(net)
        taken = read_batches(take_batches(batches, self.needs, generator=generator))
        fed = [fit_batch(batch, next(iter(weights.values()))) for batch in taken]
        with borrow_network(net, weights, self.mode, generator) as (twin, leaves):
            total: list[Tensor] = []
            for value in compute_losses(twin, fed, loss or self.loss, forward):
                found = differentiate_leaves(value, leaves)
                total = [a.add_(b) for a, b in zip(total, found, strict=True)] if total else found
        pairs = zip(leaves.items(), total, strict=True)
        scores = {name: slope.mul_(leaf.detach()).abs_() for (name, leaf), slope in pairs}
        check_finite(scores, "look for an overflow in the network or its data, or score in float32")
        return scores
