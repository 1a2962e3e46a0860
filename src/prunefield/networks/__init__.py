"""Networks: layers and their widths as frozen settings. One file is one network.

A file may also give names to common settings: `NAMED = {"resnet20": {"width": 16}}`, a literal, as names are read
without executing the file. Each such name can be used wherever a network is asked for.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Plugin
from prunefield.modules.naming import LAYERS
from prunefield.modules.outlines import allocate_


class Network(Plugin):
    """A network for inputs of any shape and any number of classes; its initial weights come from a generator."""

    family: ClassVar[str] = "networks"
    images_only: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The usual shape of one input, where there is no data to ask."""
        return (3, 32, 32)

    @abstractmethod
    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """The layers, from (n, *shape) to (n, classes), with whatever weights torch gives them."""

    def outline(self, shape: Sequence[int], classes: int) -> nn.Module:
        """The network on the meta device: names and shapes without numbers."""
        if self.images_only and len(shape) != 3:
            raise UsageError(f"{self.kind()} takes images of three axes, channels first, not of shape {tuple(shape)}")
        with torch.device("meta"):
            return self.module(tuple(shape), classes)

    def build(self, shape: Sequence[int], classes: int, *, generator: torch.Generator) -> nn.Module:
        """The network with its initial weights; the same generator state gives the same ones."""
        net = allocate_(self.outline(shape, classes))
        with torch.no_grad():
            for part in net.modules():
                if isinstance(part, LAYERS):
                    self.initialise_(part, generator)
                elif any(True for _ in part.parameters(recurse=False)):
                    part.reset_parameters()  # type: ignore[operator]
        return net

    def initialise_(self, layer: nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d, generator: torch.Generator) -> None:
        """Kaiming-normal weights, of variance 2/(fan in), and zero biases."""
        layer.weight.normal_(0, math.sqrt(2 / layer.weight[0].numel()), generator=generator)
        if layer.bias is not None:
            layer.bias.zero_()
