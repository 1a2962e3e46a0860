"""Gradients of a network's weights, and what scores refuse."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

import torch
from torch import Tensor, nn

from prunefield.core.errors import UsageError
from prunefield.modules.calls import Fed, Forward, Loss, call_network, compute_loss


def compute_losses(
    net: nn.Module, batches: Sequence[Fed], loss: Loss, forward: Forward | None = None, temperature: float = 1.0
) -> Iterator[Tensor]:
    """The mean loss of outputs / `temperature` on each batch."""
    for fed in batches:
        outputs = call_network(net, fed, forward)
        yield compute_loss(outputs, fed, loss, raw=forward is not None, temperature=temperature)


def differentiate_leaves(value: Tensor, leaves: Mapping[str, Tensor], *, graph: bool = False) -> list[Tensor]:
    """∂value/∂leaf for each leaf; zeros for a leaf that the value does not depend on."""
    if not value.requires_grad:
        raise UsageError(
            "the outputs depend on none of the scored weights: look for detach() or no_grad in the network"
        )
    found = torch.autograd.grad(value, list(leaves.values()), create_graph=graph, allow_unused=True)
    return [torch.zeros_like(leaf) if part is None else part for part, leaf in zip(found, leaves.values(), strict=True)]


def are_finite(scores: Mapping[str, Tensor]) -> bool:
    """Whether no score has overflowed."""
    return all(map(_is_finite, scores.values()))


def check_finite(scores: Mapping[str, Tensor], advice: str) -> None:
    """Refuses scores that overflowed, with the name of the first layer."""
    for name, score in scores.items():
        if not _is_finite(score):
            raise UsageError(f"the scores of {name!r} are not all finite; {advice}")


def _is_finite(score: Tensor) -> bool:
    # The sum of finite numbers may overflow too; then the slower check decides.
    return isfinite(score.sum().item()) or bool(score.isfinite().all())
