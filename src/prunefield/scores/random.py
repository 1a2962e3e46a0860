"""Random noise."""

from typing import Unpack

import torch
from torch import Tensor, nn

from prunefield.modules.calls import Data, Hooks, Needs
from prunefield.scores import Score


class Random(Score):
    """Independent noise, so that every mask of a given size is equally likely: "Random" of bar2023, Table 2.

    The noise is uniform on [0, 1): the choice of a continuous distribution does not change the masks that are kept,
    and non-negative scores can also be sampled from.

    >>> scores = Random()(nn.Linear(3, 2), generator=torch.Generator().manual_seed(0))
    >>> scores["weight"].shape
    torch.Size([2, 3])
    """

    @property
    def needs(self) -> Needs:
        return "nothing"

    def __call__(
        self, net: nn.Module, batches: Data = (), *, generator: torch.Generator, **hooks: Unpack[Hooks]
    ) -> dict[str, Tensor]:
        return {
            name: torch.rand(weight.shape, generator=generator, device=generator.device).to(weight.device)
            for name, weight in self.weights(net).items()
        }
