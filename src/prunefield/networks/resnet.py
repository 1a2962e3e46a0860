"""Residual networks for small images, of any width and depth."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.networks import Network

NAMED = {"resnet20": {"width": 16, "stages": [3, 3, 3]}, "resnet18": {"width": 64, "stages": [2, 2, 2, 2]}}


class Resnet(Network):
    """A 3×3 convolution, stages of `stages[i]` blocks with 2ⁱ·`width` channels, mean over positions, linear.

    Every stage but the first halves the image. The defaults are ResNet-20 of bar2023, Sec. 8, and WRN-20-32 has
    width 32; ResNet-18 for Tiny ImageNet has width 64 and stages (2, 2, 2, 2), and one that is really twice as wide has
    width 128.

    >>> net = Resnet()
    >>> sum(weight.numel() for weight in net.outline(net.shape, 10).parameters())
    272474
    """

    images_only: ClassVar[bool] = True
    width: int = Field(default=16, ge=1, description="number of channels of the first stage")
    stages: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(3, 3, 3), min_length=1, description="number of blocks of each stage"
    )

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, 32, 32) if len(self.stages) < 4 else (3, 64, 64)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        return ResnetModule(shape[0], self.width, self.stages, classes)


class ResnetModule(nn.Module):
    """The layers. Shapes: (n, channels, height, width) to (n, classes)."""

    def __init__(self, channels: int, width: int, stages: Sequence[int], classes: int) -> None:
        super().__init__()
        self.stem = make_convolution(channels, width, 3, 1)
        widths = [width * 2**stage for stage, depth in enumerate(stages) for _ in range(depth)]
        pairs = zip([width, *widths], widths, strict=False)
        self.blocks = nn.Sequential(*(Block(before, after) for before, after in pairs))
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(torch.relu(self.stem(x))).mean((2, 3)))


class Block(nn.Module):
    """ReLU(main + shortcut): two 3×3 convolutions in parallel with the identity, or a 1×1 convolution where the size
    changes.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        stride = 1 if before == after else 2
        self.main = nn.Sequential(
            make_convolution(before, after, 3, stride), nn.ReLU(), make_convolution(after, after, 3, 1)
        )
        self.shortcut = nn.Identity() if before == after else make_convolution(before, after, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.main(x) + self.shortcut(x))


def make_convolution(before: int, after: int, side: int, stride: int) -> nn.Sequential:
    """A convolution without bias, batch-normalised."""
    return nn.Sequential(nn.Conv2d(before, after, side, stride, padding=side // 2, bias=False), nn.BatchNorm2d(after))
