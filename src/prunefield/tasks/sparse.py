"""Sparse inputs: each coordinate is non-zero in one input of a batch, with random labels."""

import torch
from torch import Tensor

from prunefield.tasks import Synthetic


class Sparse(Synthetic):
    """For each coordinate one input of the batch, chosen uniformly, has N(0, 1), all others zero: bar2023, Section 6.

    >>> x = Sparse(shape=(25,)).sample(4, generator=torch.Generator().manual_seed(0)).x
    >>> x.count_nonzero(0).unique().tolist()
    [1]
    """

    def draw_inputs(self, n: int, size: int, generator: torch.Generator) -> Tensor:
        owner = torch.randint(n, (1, size), generator=generator)
        return torch.zeros(n, size).scatter_(0, owner, torch.randn(1, size, generator=generator))
