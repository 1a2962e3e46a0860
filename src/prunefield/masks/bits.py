"""Masks as bits: eight entries in a byte, as files and records hold them."""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor

from prunefield.core.errors import UsageError


def pack_bits(kept: Tensor) -> Tensor:
    """Eight entries of a boolean tensor in a byte."""
    return torch.from_numpy(np.packbits(kept.cpu().flatten().numpy()))


def unpack_bits(bits: Tensor, shape: Sequence[int]) -> Tensor:
    """The boolean tensor of a shape that `pack_bits` has packed.

    >>> unpack_bits(pack_bits(torch.tensor([[True, False, True]])), (1, 3)).tolist()
    [[True, False, True]]
    """
    is_shape = all(type(side) is int and side >= 0 for side in shape) and prod(filter(None, shape)) < 2**63
    if not is_shape or bits.dtype != torch.uint8 or bits.ndim != 1:
        raise UsageError(
            f"{bits.dtype} of shape {tuple(bits.shape)} are not the packed bits of a mask of shape {shape}"
        )
    if len(bits) != -(-prod(shape) // 8):  # what is missing would be zeros in memory, however many
        raise UsageError(f"{len(bits)} bytes are not the bits of a mask of shape {tuple(shape)}")
    return torch.from_numpy(np.unpackbits(bits.numpy(), count=prod(shape)).view(bool)).reshape(tuple(shape))
