"""Normal inputs: independent standard normal numbers, with random labels."""

import torch
from torch import Tensor

from prunefield.tasks import Synthetic


class Normal(Synthetic):
    """N(0, 1) for each coordinate: the random data of bar2023, Section 8.

    >>> Normal(shape=(1, 5, 5)).sample(4, generator=torch.Generator()).x.shape
    torch.Size([4, 25])
    """

    def draw_inputs(self, n: int, size: int, generator: torch.Generator) -> Tensor:
        return torch.randn(n, size, generator=generator)
