"""LeNet: two hidden ReLU layers, for images of any shape."""

from math import prod

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.networks import Network

NAMED = {"lenet-300-100": {"width": 100}}


class Lenet(Network):
    """Linear layers to 3·`width`, `width` and `classes` units with ReLU between; the width 100 is bar2023, Fig. 2.

    >>> Lenet(width=5).build((1, 28, 28), 10, generator=torch.Generator())(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    width: int = Field(
        default=100, ge=1, description="number of units of the second layer; the first has 3 times as many"
    )

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, 28, 28)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        return LenetModule(prod(shape), self.width, classes)


class LenetModule(nn.Module):
    """The layers. Shapes: (n, …) to (n, classes)."""

    def __init__(self, inputs: int, width: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, 3 * width)
        self.second = nn.Linear(3 * width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.second(torch.relu(self.first(x.flatten(1))))))
