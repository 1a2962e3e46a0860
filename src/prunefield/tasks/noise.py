"""Noise: normal images with random labels, a fixed set in the shape of another task."""

from functools import lru_cache

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core import seeds
from prunefield.tasks import Batch, Finite, Task
from prunefield.tasks.leaves import Leaves


class Noise(Finite):
    """The random data of bar2023, Sec. 8: N(0, 1), which is what "the same expectation and standard deviation" is once
    the data is normalised; the labels, which the paper does not specify, are uniform. Test examples are another set.

    >>> Noise(of=Leaves(side=8), images=5).sample(2, generator=torch.Generator().manual_seed(0)).x.shape
    torch.Size([2, 192])
    """

    of: Task = Field(default=Leaves(), description="the task whose input shape and classes are used")
    images: int = Field(default=10_000, ge=1, description="number of training examples, and of test examples")
    seed: int = Field(default=0, ge=0, description="seed of the examples")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.of.shape

    @property
    def classes(self) -> int:
        return self.of.classes

    def labels(self, *, training: bool) -> Tensor:
        found = self._set(training).y
        return found[: self.limit] if training else found

    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        return self._set(training).x[rows]

    def _set(self, training: bool) -> Batch:
        return _draw(self.shape, self.classes, self.images, self.seed, "train" if training else "test")


@lru_cache(maxsize=2)
def _draw(shape: tuple[int, ...], classes: int, images: int, seed: int, split: str) -> Batch:
    stream = seeds.generator(seed, "noise", split)
    x = torch.randn(images, torch.Size(shape).numel(), generator=stream)
    return Batch(x, torch.randint(classes, (images,), generator=stream))
