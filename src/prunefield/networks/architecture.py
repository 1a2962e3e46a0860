"""Architectures: a network of bar2023 as frozen settings, and its initial weights from an explicit generator."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import BaseModel, Field, model_validator
from torch import nn

from prunefield.core.errors import UsageError
from prunefield.modules.naming import LAYERS
from prunefield.networks.lenet import Lenet
from prunefield.networks.resnet import Resnet
from prunefield.networks.vgg import Vgg


class Architecture(BaseModel, frozen=True, extra="forbid"):
    """A network by its family, width and depth (bar2023, Sec. 8); the width is always explicit.

    >>> net = Architecture(family="resnet", width=16)
    >>> sum(weight.numel() for weight in net.outline((3, 32, 32), 10).parameters())
    272474
    """

    family: Literal["lenet", "vgg", "resnet"] = Field(description="family of the network")
    width: int = Field(
        ge=1, description="number of channels of the first stage; for lenet, of units of the second layer"
    )
    stages: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(),
        description="number of layers (vgg) or blocks (resnet) of each stage; by default those of VGG-19 and ResNet-20",
    )

    @model_validator(mode="after")
    def _check_stages(self) -> "Architecture":
        if self.stages and self.family == "lenet":
            raise UsageError(f"lenet has two hidden layers and no stages (got {self.stages})")
        return self

    def outline(self, shape: Sequence[int], classes: int) -> nn.Module:
        """The network on the meta device: names and shapes without numbers."""
        if self.family != "lenet" and len(shape) != 3:
            raise UsageError(f"{self.family} takes images of three axes, channels first, not of shape {tuple(shape)}")
        depth = {"stages": self.stages} if self.stages else {}
        with torch.device("meta"):
            if self.family == "lenet":
                return Lenet(shape, classes, width=self.width)
            return {"vgg": Vgg, "resnet": Resnet}[self.family](shape, classes, width=self.width, **depth)

    def build(self, shape: Sequence[int], classes: int, *, generator: torch.Generator) -> nn.Module:
        """The network with Kaiming-normal weights of variance 2/fan in, zero biases, γ = 1 and β = 0."""
        net = self.outline(shape, classes).to_empty(device="cpu")
        for part in net.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.reset_parameters()
            elif isinstance(part, LAYERS):
                with torch.no_grad():
                    part.weight.normal_(0, math.sqrt(2 / part.weight[0].numel()), generator=generator)
                    if part.bias is not None:
                        part.bias.zero_()
        return net


NAMED = {
    "lenet-300-100": Architecture(family="lenet", width=100),
    "vgg19": Architecture(family="vgg", width=64),
    "resnet20": Architecture(family="resnet", width=16),
    "resnet18": Architecture(family="resnet", width=64, stages=(2, 2, 2, 2)),
}
