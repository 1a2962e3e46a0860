"""Holding: weights that are zero stay zero, whatever optimizers do to them."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.graph import increment_version
from torch.utils.hooks import RemovableHandle

from prunefield.core.errors import UsageError

Pairs = Sequence[tuple[Tensor, Tensor]]  # a weight, and True where it is kept, on the same device
BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # integers by their size in bytes


class Handle:
    """The hooks of several optimizers as one."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Removes them all."""
        for handle in self._handles:
            handle.remove()


def hold_zeros(names: Sequence[str], pairs: Pairs, optimizers: Sequence[torch.optim.Optimizer]) -> Handle:
    """Sets zeros now and after every step; refuses optimizers that do not update all weights that are not frozen."""
    if not optimizers:
        raise UsageError("hold_ needs the optimizers, as in mask.hold_(net, optimizer); to set zeros once, use apply_")
    held: list[tuple[torch.optim.Optimizer, Pairs]] = []
    for optimizer in optimizers:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise UsageError(f"hold_ takes torch optimizers, not {type(optimizer).__name__}")
        if isinstance(optimizer, torch.optim.LBFGS):
            raise UsageError("LBFGS evaluates losses inside its step, where pruned weights move; use another optimizer")
        moved = {id(item) for group in optimizer.param_groups for item in group["params"]}
        held.append((optimizer, [pair for pair in pairs if id(pair[0]) in moved]))
    safe = {id(weight) for _, part in held for weight, _ in part}
    if pairs and not safe:
        raise UsageError("the optimizer updates no weight of this mask: it belongs to another network")
    missing = [
        name for name, (weight, _) in zip(names, pairs, strict=True) if weight.requires_grad and id(weight) not in safe
    ]
    if missing:
        some = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        advice = "give all optimizers, as in mask.hold_(net, first, second), or freeze these weights"
        raise UsageError(
            f"none of these optimizers updates {some}, and another one could revive pruned weights: {advice}"
        )
    set_zeros(pairs)
    return Handle([item.register_step_post_hook(lambda *_, part=part: set_zeros(part)) for item, part in held])


@torch.no_grad()
def set_zeros(pairs: Pairs) -> None:
    """Sets to zero what is not kept: the one way in which masks are applied here."""
    for weight, kept in pairs:
        bits = BITS.get(weight.element_size())
        if bits is not None and weight.device.type == "cpu" and type(weight) in (Tensor, nn.Parameter):
            # Bit patterns times 0 or 1: eight times as fast as torch's fill, and right for infinite weights, too.
            numbers = weight.detach().view(bits).numpy()
            np.multiply(numbers, kept.numpy(), out=numbers)
            if not weight.is_inference():
                increment_version(weight)  # autograd refuses gradients of outputs from before
        else:
            weight.masked_fill_(~kept, 0)
