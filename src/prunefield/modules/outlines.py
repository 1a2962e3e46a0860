"""Outlines: modules on the meta device, with names and shapes but without numbers."""

from typing import TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)


def allocate_(outline: M) -> M:
    """Gives an outline memory on the CPU, with whatever is in it; a tensor that is shared stays shared.

    torch's `to_empty` does the same, but the first call of it imports a part of the compiler, which takes a second.

    >>> allocate_(nn.Linear(3, 2, device="meta")).weight.device
    device(type='cpu')
    """
    made: dict[Tensor, Tensor] = {}
    for part in outline.modules():
        tensors = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]
        for name, old in tensors:
            if old not in made:
                new = torch.empty(old.shape, dtype=old.dtype)
                made[old] = nn.Parameter(new, old.requires_grad) if isinstance(old, nn.Parameter) else new
            setattr(part, name, made[old])
    return outline
