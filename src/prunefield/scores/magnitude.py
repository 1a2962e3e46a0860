"""The magnitude of a weight."""

from typing import Unpack

import torch
from torch import Tensor, nn

from prunefield.modules.calls import Data, Hooks, Needs
from prunefield.scores import Score


class Magnitude(Score):
    """|w|, compared over all layers without normalisation: the baseline "Magnitude" of bar2023, Table 2.

    It reads no data and no randomness. At initialisation it is p0 of Eq. 2 for inputs whose rows have equal norms.

    >>> net = nn.Linear(2, 1)
    >>> scores = Magnitude()(net, generator=torch.Generator())
    >>> torch.equal(scores["weight"], net.weight.detach().abs())
    True
    """

    @property
    def needs(self) -> Needs:
        return "nothing"

    def __call__(
        self, net: nn.Module, batches: Data = (), *, generator: torch.Generator, **hooks: Unpack[Hooks]
    ) -> dict[str, Tensor]:
        return {name: weight.detach().abs() for name, weight in self.weights(net).items()}
