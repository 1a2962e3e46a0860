"""Masks as bits: eight entries in a byte, as files and records hold them."""

import json
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.core.files import checksum


def copy_kept(kept: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of the boolean tensors of a mask, on the CPU; arrays of numpy become tensors.

    >>> copy_kept({"weight": np.array([True, False])})
    {'weight': tensor([ True, False])}
    """
    if not isinstance(kept, Mapping):
        raise UsageError(f"a mask is a table {{name: boolean tensor}}, not {type(kept).__name__}")
    found = {name: torch.tensor(part) if isinstance(part, np.ndarray) else part for name, part in kept.items()}
    for name, tensor in found.items():
        if not isinstance(tensor, Tensor) or tensor.dtype != torch.bool:
            kind = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise UsageError(f"a mask holds boolean tensors, but {name!r} is {kind}; write `tensor != 0`")
    return {name: tensor.detach().cpu().clone() for name, tensor in found.items()}


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


def digest_bits(bits: Mapping[str, Tensor], shapes: Mapping[str, Sequence[int]] | None) -> str:
    """A checksum of names, shapes and bits; of the bits alone in the first format, for which `shapes` is None."""
    named = b"" if shapes is None else json.dumps([[*item] for item in shapes.items()]).encode()
    return checksum(named + b"".join(part.numpy().tobytes() for part in bits.values()))
