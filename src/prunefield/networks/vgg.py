"""VGG with batch normalisation, for small images: a plain chain of 3×3 convolutions."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.networks import Network

NAMED = {"vgg19": {"width": 64, "stages": [2, 2, 4, 4, 4]}}


class Vgg(Network):
    """Stages of 3×3 convolutions with bias, each batch-normalised, max-pooled between; mean over positions; linear.

    Stage i has `stages[i]` convolutions of min(2ⁱ, 8)·`width` channels. The defaults are VGG-19 of bar2023, Sec. 8.

    >>> net = Vgg(width=4, stages=(1, 1)).build((3, 8, 8), 5, generator=torch.Generator())
    >>> net(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 5])
    """

    images_only: ClassVar[bool] = True
    width: int = Field(default=64, ge=1, description="number of channels of the first stage")
    stages: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(2, 2, 4, 4, 4), min_length=1, description="number of convolutions of each stage"
    )

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        return VggModule(shape[0], self.width, self.stages, classes)


class VggModule(nn.Module):
    """The layers. Shapes: (n, channels, height, width) to (n, classes)."""

    def __init__(self, channels: int, width: int, stages: Sequence[int], classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = channels
        for stage, depth in enumerate(stages):
            layers += [nn.MaxPool2d(2)] if stage else []
            for _ in range(depth):
                after = width * min(2**stage, 8)
                layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
                before = after
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(before, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.mean(self.layers(x), (2, 3)))
