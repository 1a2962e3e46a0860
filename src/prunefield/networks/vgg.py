"""VGG with batch normalisation, for small images: a plain chain of 3×3 convolutions."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Vgg(nn.Module):
    """Stages of 3×3 convolutions with bias, each batch-normalised, max-pooled between; mean over places; linear.

    Stage i has `stages[i]` convolutions of min(2ⁱ, 8)·`width` channels. The defaults are VGG-19 of bar2023, Sec. 8.
    Shapes: (n, channels, height, width) to (n, classes).

    >>> Vgg((3, 8, 8), 5, width=4, stages=(1, 1))(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self, shape: Sequence[int], classes: int, *, width: int = 64, stages: Sequence[int] = (2, 2, 4, 4, 4)
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = shape[0]
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
