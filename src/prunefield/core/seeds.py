"""Randomness: every stream of random numbers has its own generator, derived from a seed and the stream's name.

Streams with different names are independent, so a new one never shifts the numbers of another.
"""

import hashlib
import json
import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def derive_seed(seed: int, *names: str | int) -> int:
    """A seed of 63 bits for the stream `names` of `seed`.

    >>> derive_seed(0, "data") == derive_seed(0, "data"), derive_seed(0, "data") == derive_seed(0, "init")
    (True, False)
    """
    text = json.dumps([seed, *names], default=operator.index)  # whole numbers of numpy and torch, too
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> "torch.Generator":
    """A CPU generator for the stream `names` of `seed`; the numbers are the same on every device."""
    import torch

    return torch.Generator().manual_seed(derive_seed(seed, *names))
