"""Scores: how important each weight is. One file is one rule; a larger score is kept."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from prunefield.plugin import Plugin
from prunefield.tasks import Batch


class Score(Plugin):
    """A rule that rates the weights of any `nn.Module` and leaves the module as it was."""

    family: ClassVar[str] = "scores"

    @abstractmethod
    def __call__(
        self, net: nn.Module, batches: Sequence[Batch] = (), *, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """One tensor per prunable weight, keyed by its parameter name and of its shape."""


def prunable(net: nn.Module) -> dict[str, Tensor]:
    """The weights that pruning may remove: those of linear and convolution layers, biases left out."""
    layers = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    return {
        f"{name}.weight" if name else "weight": module.weight
        for name, module in net.named_modules()
        if isinstance(module, layers)
    }
