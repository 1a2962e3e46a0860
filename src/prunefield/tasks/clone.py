"""The Gaussian clone of another task, with only its class means and covariances."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.tasks import Batch, Task, draw_classes
from prunefield.tasks.leaves import Leaves

WHITE = 255
LARGE = 2**28  # values of the factors from which on reading them for each batch would take most of the time


class Clone(Task):
    """ImageNet32-GP for any task (redman2025, Fig. 3 and App. C.1): one Gaussian for each class and channel.

    The Gaussian is fitted to n = `per_class` training examples, in grey levels from 0 to 255 for tasks that have them
    (`Task.levels`) and in units of x otherwise: x = μ + ZᵀA/√(n−1) + √jitter·ε, with A the n centred examples of the
    class and Z, ε standard normal. Its covariance is AᵀA/(n−1) + jitter·I exactly, without any factorisation.
    `shrinkage` λ makes it (1−λ)·AᵀA/(n−1) + (λv + jitter)·I, with v the mean variance of the class and channel.
    As in the paper the channels are independent of each other unless `joint`. The clone is exactly Gaussian within a
    class unless `clip`, which rounds to grey levels 0, 1, …, 255 as the authors' earlier code does.

    >>> clone = Clone(of="gaussian", per_class=50)
    >>> clone.shape, clone.classes, clone.sample(3, generator=torch.Generator().manual_seed(0)).x.shape
    ((40,), 2, torch.Size([3, 40]))
    """

    of: Task = Field(default=Leaves(), description="the task to clone")
    per_class: int = Field(
        default=100, ge=2, description="number of examples of each class to which the Gaussian is fitted"
    )
    joint: bool = Field(default=False, description="also keep the covariance between channels")
    clip: bool = Field(default=False, description="round to grey levels and clip to 0 … 255 (images only)")
    shrinkage: float = Field(default=0.0, ge=0, le=1, description="weight λ of the white component in the covariance")
    jitter: float = Field(default=1e-3, ge=0, description="variance added to each value, in grey levels squared")
    seed: int = Field(default=0, description="seed that selects the examples to which the Gaussian is fitted")

    @model_validator(mode="after")
    def _check_clip(self) -> "Clone":
        if self.clip and type(self.of).levels is Task.levels:
            raise UsageError(
                f"clip needs a task of images with grey levels, which {self.of.kind()!r} does not have; set clip = "
                "false"
            )
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return self.of.shape

    @property
    def classes(self) -> int:
        return self.of.classes

    @property
    def levels(self) -> tuple[Tensor, Tensor] | None:
        return self.of.levels

    @property
    def ahead(self) -> int:
        return 100 if self.classes * math.prod(_find_shape(self)) > LARGE else 1

    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        y = torch.randint(self.classes, (n,), generator=generator)
        return Batch(self.draw(y, generator=generator), y)

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        """One example of each label, shape (n, features): one product for each class that occurs and each channel."""
        factor, noise, unit, black = _fit_clone(self)  # pyright: ignore[reportArgumentType]
        _, channels, count, pixels = factor.shape
        order = labels.argsort(stable=True)
        z = torch.randn(channels, len(labels), count, generator=generator)
        z[..., -1] = 1  # multiplies the mean, the last row of the factor
        x = torch.randn(channels, len(labels), pixels, generator=generator)
        x *= noise[:, labels[order], None]
        start = 0
        for label, size in enumerate(labels.bincount(minlength=self.classes).tolist()):
            if size:
                part = slice(start, start + size)
                x[:, part].baddbmm_(z[:, part], factor[label])
                start += size
        x = torch.empty(len(labels), channels, pixels).index_copy_(0, order, x.transpose(0, 1)).flatten(1)
        if self.clip:
            x.round_().clamp_(0, WHITE)
        return x.mul_(unit).add_(black)


class CloneFit(NamedTuple):
    """What `draw` needs, in grey levels.

    `factor`: A·√((1−λ)/(n−1)), with the mean as an additional last row, (classes, channels, n + 1, pixels). `noise`:
    standard deviation of the white part, (channels, classes). `unit`, `black`: the x of one grey level and of black.
    """

    factor: Tensor
    noise: Tensor
    unit: Tensor
    black: Tensor


@lru_cache(maxsize=2)
def _fit_clone(clone: Clone) -> CloneFit:
    """Fitted once per process for each setting."""
    task, n = clone.of, clone.per_class
    levels = task.levels
    if clone.clip and levels is None:
        raise UsageError(
            f"clip needs images with grey levels, which those of {task.kind()!r} do not have; set clip = false"
        )
    black, white = levels or (torch.zeros(()), torch.tensor(float(WHITE)))
    unit = (white - black) / WHITE
    channels, count, pixels = _find_shape(clone)
    factor = torch.empty(task.classes, channels, count, pixels)
    variance = torch.empty(task.classes, channels)
    for label, x in enumerate(_draw_classes(clone)):
        grey = x.sub_(black).div_(unit).view(n, channels, pixels).transpose(0, 1)
        factor[label, :, -1] = mean = grey.mean(1)
        centred = grey.sub_(mean[:, None]).div_(math.sqrt(n - 1))
        variance[label] = centred.square().sum(1).mean(1)
        if n > pixels:  # A = QR, and ZᵀQ is distributed as Z, so fewer rows suffice
            centred = torch.linalg.qr(centred, mode="r").R
        torch.mul(centred, math.sqrt(1 - clone.shrinkage), out=factor[label, :, :-1])
    noise = (clone.shrinkage * variance + clone.jitter).sqrt()
    return CloneFit(factor, noise.T, unit, black)


def _find_shape(clone: Clone) -> tuple[int, int, int]:
    """The channels, and the rows and columns of the factor of one class and channel."""
    shape = clone.of.shape
    channels = shape[0] if len(shape) == 3 and not clone.joint else 1
    pixels = math.prod(shape) // channels
    return channels, min(clone.per_class, pixels) + 1, pixels


def _draw_classes(clone: Clone) -> Iterator[Tensor]:
    """The examples of each class, (n, features); of images only one class is in memory at a time."""
    task, n, stream = clone.of, clone.per_class, seeds.generator(clone.seed, "clone")
    for x in draw_classes(task, n, generator=stream, training=True):
        if len(x) < n:
            raise UsageError(
                f"{task.kind()} has only {len(x)} training examples of some class; set per_class to at most {len(x)}"
            )
        yield x
