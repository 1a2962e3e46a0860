"""Inputs of ones, with random labels."""

from typing import ClassVar

import torch
from torch import Tensor

from prunefield.tasks import Synthetic


class Ones(Synthetic):
    """Ones for each coordinate: SynFlow's own input, bar2023, Eq. 3.

    >>> Ones(shape=(3,)).sample(1, generator=torch.Generator()).x.tolist()
    [[1.0, 1.0, 1.0]]
    """

    single: ClassVar[bool] = True

    def draw_inputs(self, n: int, size: int, generator: torch.Generator) -> Tensor:
        return torch.ones(n, size)
