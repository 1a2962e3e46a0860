"""Dead leaves: an endless stream of images made of occluding ellipses, whose orientation is the class."""

import math
from functools import cached_property

import numpy as np
import torch
from pydantic import Field, model_validator

from prunefield.core.compilation import compile_loop
from prunefield.core.errors import UsageError
from prunefield.tasks import Batch, Task

CHANNELS = 3
UNIFORMS = 7  # per leaf: centre x, centre y, size, three colours, their common grey


class Leaves(Task):
    """The stand-in for the natural images of redman2025 (Sec. 3 and App. B): sharp edges, and no image twice.

    An image of class k is `count` ellipses painted one over the other on black. Each has its centre uniform in
    [−margin, side + margin]², a size r with p(r) ∝ r^−power between `smallest` and `largest`, half-axes `long`·r and
    `short`·r, an orientation kπ/classes plus a normal angle of standard deviation `jitter`, and the colour
    (1 − grey)·(u₁, u₂, u₃) + grey·u₀ with u uniform in (0, 1). Then x = (colour − μ)/s, where μ and s are the mean and
    the standard deviation of a pixel far from all edges, so that x has zero mean and unit variance there.
    Shapes: x is (n, 3·side²), channel-major; y is (n,).

    >>> batch = Leaves(side=8).sample(5, generator=torch.Generator().manual_seed(0))
    >>> batch.x.shape, batch.x.dtype, batch.y.tolist()
    (torch.Size([5, 192]), torch.float32, [4, 9, 3, 0, 3])
    """

    side: int = Field(default=32, ge=2, le=1024, description="pixels along an edge")
    categories: int = Field(default=10, ge=2, description="number of classes, that is, of orientations between 0 and π")
    count: int = Field(default=70, ge=1, description="number of ellipses per image")
    smallest: float = Field(default=1.2, gt=0, description="smallest size r of an ellipse, in pixels")
    largest: float = Field(default=10.0, gt=0, description="largest size r of an ellipse, in pixels")
    power: float = Field(default=3.0, gt=1, description="exponent of the size distribution, p(r) ∝ r^−power")
    long: float = Field(default=2.0, gt=0, description="semi-major axis, in units of r")
    short: float = Field(default=0.6, gt=0, description="semi-minor axis, in units of r")
    margin: float = Field(default=6.0, ge=0, description="how far outside the image a centre may lie, in pixels")
    jitter: float = Field(default=0.15, ge=0, description="standard deviation of an ellipse's angle, in radians")
    grey: float = Field(default=0.4, ge=0, le=1, description="fraction of the colour that the three channels share")

    @model_validator(mode="after")
    def _check_sizes(self) -> "Leaves":
        if self.smallest >= self.largest:
            raise UsageError(f"smallest ({self.smallest}) must be less than largest ({self.largest})")
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return (CHANNELS, self.side, self.side)

    @property
    def classes(self) -> int:
        return self.categories

    @property
    def levels(self) -> tuple[torch.Tensor, torch.Tensor]:
        mean, deviation = self.moments
        return torch.tensor(-mean / deviation), torch.tensor((1 - mean) / deviation)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """μ and s: mean and standard deviation of a raw pixel that every ellipse may reach.

        Such a pixel is covered with probability c = 1 − (1 − π·long·short·E[r²]/(side + 2·margin)²)^count, by a colour
        with mean ½ and variance v = ((1 − grey)² + grey²)/12; hence μ = c/2 and s² = c(v + ¼) − c²/4.
        """
        area = math.pi * self.long * self.short * self._mean_square_size() / (self.side + 2 * self.margin) ** 2
        covered = 1 - max(0.0, 1 - area) ** self.count
        variance = ((1 - self.grey) ** 2 + self.grey**2) / 12
        return covered / 2, math.sqrt(covered * (variance + 0.25) - covered**2 / 4)

    def _mean_square_size(self) -> float:
        def integral(exponent: float) -> float:
            if exponent == -1:
                return math.log(self.largest / self.smallest)
            return (self.largest ** (exponent + 1) - self.smallest ** (exponent + 1)) / (exponent + 1)

        return integral(2 - self.power) / integral(-self.power)

    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        y = torch.randint(self.categories, (n,), generator=generator)
        return Batch(self.paint(self.draw(y, generator=generator)), y)

    def draw(self, y: torch.Tensor, *, generator: torch.Generator) -> torch.Tensor:
        """The ellipses of images of the classes `y`, front first: (n, count, 8).

        The columns are the centre's x and y, the long and the short half-axis, the angle and the three colours.
        """
        uniform = torch.rand((len(y), self.count, UNIFORMS), generator=generator)
        normal = torch.randn((len(y), self.count), generator=generator)
        angle = y[:, None] * (math.pi / self.categories) + self.jitter * normal
        centre = uniform[..., :2] * (self.side + 2 * self.margin) - self.margin
        near, far = self.smallest ** (1 - self.power), self.largest ** (1 - self.power)
        size = (near + (far - near) * uniform[..., 2:3]) ** (1 / (1 - self.power))
        colour = (1 - self.grey) * uniform[..., 3:6] + self.grey * uniform[..., 6:]
        return torch.cat([centre, self.long * size, self.short * size, angle[..., None], colour], -1)

    def paint(self, leaves: torch.Tensor) -> torch.Tensor:
        """The images x (n, 3·side²) of ellipses (n, count, 8); at each pixel the first one covering it is visible."""
        mean, deviation = self.moments
        colours = (leaves[..., 5:] - mean) / deviation
        # Torch aligns memory, numpy does not, and the last bits of a product may depend on that.
        images = torch.full((len(leaves), *self.shape), -mean / deviation)
        paint = compile_loop(_paint_leaves, exact=True)
        paint(leaves[..., :5].contiguous().numpy(), colours.contiguous().numpy(), images.numpy())
        return images.flatten(1)


def _paint_leaves(leaves: np.ndarray, colours: np.ndarray, images: np.ndarray) -> None:
    side = images.shape[2]
    free = np.empty((side, side), dtype=np.bool_)
    for image in range(len(leaves)):
        free[:] = True
        left = side * side
        for leaf in range(leaves.shape[1]):
            x, y, long, short, angle = leaves[image, leaf]
            cos, sin = math.cos(angle), math.sin(angle)
            reach_x, reach_y = math.hypot(long * cos, short * sin), math.hypot(long * sin, short * cos)
            for row in range(max(0, math.ceil(y - reach_y)), min(side - 1, math.floor(y + reach_y)) + 1):
                for column in range(max(0, math.ceil(x - reach_x)), min(side - 1, math.floor(x + reach_x)) + 1):
                    if not free[row, column]:
                        continue
                    along = ((column - x) * cos + (row - y) * sin) / long
                    across = ((row - y) * cos - (column - x) * sin) / short
                    if along * along + across * across <= 1:
                        free[row, column] = False
                        left -= 1
                        for channel in range(CHANNELS):
                            images[image, channel, row, column] = colours[image, leaf, channel]
            if left == 0:
                break
