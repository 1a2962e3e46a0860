"""The networks of bar2023's tables, for benchmarks: VGG-19 with batch normalisation and ResNet-20 of width 16."""

from itertools import pairwise

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """Two 3×3 convolutions beside the identity, or beside a 1×1 convolution where the size changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(_conv(inputs, outputs, 3, stride), nn.ReLU(), _conv(outputs, outputs, 3, 1))
        self.shortcut = nn.Identity() if inputs == outputs else _conv(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.main(x) + self.shortcut(x))


def resnet20(width: int = 16, classes: int = 10) -> nn.Module:
    """270,896 prunable weights with the width 16."""
    torch.manual_seed(0)
    widths = [width] * 4 + [2 * width] * 3 + [4 * width] * 3
    pairs = pairwise(widths)
    blocks = [Block(before, after, 1 if before == after else 2) for before, after in pairs]
    return nn.Sequential(
        _conv(3, width, 3, 1), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes)
    )


def vgg19(classes: int = 10) -> nn.Module:
    """20,024,000 prunable weights."""
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    before = 3
    for index, (width, depth) in enumerate(((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))):
        parts += [nn.MaxPool2d(2)] if index else []
        for _ in range(depth):
            parts += [_conv(before, width, 3, 1), nn.ReLU()]
            before = width
    return nn.Sequential(*parts, nn.AvgPool2d(2), nn.Flatten(), nn.Linear(512, classes))


def _conv(inputs: int, outputs: int, side: int, stride: int) -> nn.Module:
    conv = nn.Conv2d(inputs, outputs, side, stride, padding=side // 2, bias=False)
    nn.init.kaiming_normal_(conv.weight)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))
