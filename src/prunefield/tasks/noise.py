"""Noise: normal inputs with random labels, a fixed set in the shape of another task."""

from functools import lru_cache

from pydantic import Field
from torch import Tensor

from prunefield.core import seeds
from prunefield.tasks import Batch, Finite, Task
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.normal import Normal


class Noise(Finite):
    """The random data of bar2023, Sec. 8: a fixed set of `normal` examples. N(0, 1) is what "the same expectation and
    standard deviation" is once the data is normalised; the paper does not specify the labels. Test examples are another
    set.

    >>> Noise(of=Leaves(side=8), images=5).sample(2, generator=seeds.generator(0, "any")).x.shape
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

    def count(self) -> int:
        return self.limit or self.images

    def labels(self, *, training: bool) -> Tensor:
        found = self._set(training).y
        return self.cut_to_limit(found) if training else found

    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        return self._set(training).x[rows]

    def _set(self, training: bool) -> Batch:
        return _draw(self.shape, self.classes, self.images, self.seed, "train" if training else "test")


@lru_cache(maxsize=2)
def _draw(shape: tuple[int, ...], classes: int, images: int, seed: int, split: str) -> Batch:
    return Normal(shape=shape, classes=classes).sample(images, generator=seeds.generator(seed, "noise", split))
