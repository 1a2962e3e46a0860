"""Residual networks for small images, of any width and depth."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Resnet(nn.Module):
    """A 3×3 convolution, stages of `stages[i]` blocks with 2ⁱ·`width` channels, mean over places, linear.

    Every stage but the first halves the image. ResNet-20 of bar2023, Sec. 8, has the width 16 and stages (3, 3, 3),
    WRN-20-32 the width 32; ResNet-18 for Tiny-ImageNet has the width 64 and stages (2, 2, 2, 2), and its truly twice
    as wide form the width 128. Shapes: (n, channels, height, width) to (n, classes).

    >>> Resnet((3, 8, 8), 5, width=4, stages=(1, 1))(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 5])
    """

    def __init__(self, shape: Sequence[int], classes: int, *, width: int, stages: Sequence[int] = (3, 3, 3)) -> None:
        super().__init__()
        self.stem = normalised(shape[0], width, 3, 1)
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
        self.main = nn.Sequential(normalised(before, after, 3, stride), nn.ReLU(), normalised(after, after, 3, 1))
        self.shortcut = nn.Identity() if before == after else normalised(before, after, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.main(x) + self.shortcut(x))


def normalised(before: int, after: int, side: int, stride: int) -> nn.Sequential:
    """A convolution without bias, batch-normalised."""
    return nn.Sequential(nn.Conv2d(before, after, side, stride, padding=side // 2, bias=False), nn.BatchNorm2d(after))
