"""Chi inputs: the norm of a normal vector for each coordinate, with random labels."""

from typing import ClassVar

import torch
from torch import Tensor

from prunefield.tasks import Synthetic

DEGREES = 128  # n of bar2023, Section 8


class Chi(Synthetic):
    """‖v‖₂ of a normal vector v of 128 entries, for each coordinate: SynFlow's inputs of bar2023, Sections 5 and 8.

    >>> Chi(shape=(5,)).sample(1, generator=torch.Generator().manual_seed(0)).x.min() > 5
    tensor(True)
    """

    single: ClassVar[bool] = True

    def draw_inputs(self, n: int, size: int, generator: torch.Generator) -> Tensor:
        rows = [torch.randn(size, DEGREES, generator=generator).norm(dim=-1) for _ in range(n)]  # all would be large
        return torch.stack(rows)
