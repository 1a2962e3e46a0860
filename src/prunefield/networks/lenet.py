"""LeNet-300-100: two hidden ReLU layers, for images of any shape."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn


class Lenet(nn.Module):
    """Linear layers to 3·`width`, `width` and `classes` units with ReLU between; the width 100 is bar2023, Fig. 2.

    Shapes: (n, *shape) to (n, classes). Initial weights are torch's own; `Architecture.build` draws those of the paper.

    >>> Lenet((1, 28, 28), 10)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(self, shape: Sequence[int], classes: int, *, width: int = 100) -> None:
        super().__init__()
        self.first = nn.Linear(prod(shape), 3 * width)
        self.second = nn.Linear(3 * width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.second(torch.relu(self.first(x.flatten(1))))))
