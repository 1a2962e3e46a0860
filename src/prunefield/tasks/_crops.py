"""Images at another size, and an endless stream of random crops of them."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from typing import Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.data.shelf import Shelf
from prunefield.tasks import Batch
from prunefield.tasks._images import Images, make_scale

SAMPLE = 20_000  # crops from which μ and s are estimated
BLOCK = 1000  # images in memory at a time


class Cropping(Images):
    """Images of which every example is a square, scaled to side × side pixels as a mean over areas.

    Without `crops` an example is the largest square in the middle of its image, and the set is finite. With `crops` it
    is an endless stream: a training example is a random square of a random training image. Its size is uniform
    between `smallest` and `largest` times the shorter edge (but at least `side` pixels, as nothing is enlarged), its
    place is uniform, both in fractions of a pixel, and it is mirrored or not; every example has its own. A held-out
    example is such a crop of a test image; images are taken in turn, so n of them show n images if there are as many.
    Then x = (grey level − μ)/s with the μ and s of all whole training images or, with `crops`, of 20,000 fixed crops.
    """

    crops: bool = Field(default=False, description="an endless stream of random crops instead of whole images")
    smallest: float = Field(default=0.625, gt=0, le=1, description="smallest crop, as a fraction of the shorter edge")
    largest: float = Field(default=1.0, gt=0, le=1, description="largest crop, as a fraction of the shorter edge")
    flips: bool = Field(default=True, description="mirror half of the crops, left to right")
    side: int

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.smallest > self.largest:
            raise UsageError(f"smallest ({self.smallest}) must be at most largest ({self.largest})")
        return self

    @property
    def endless(self) -> bool:
        return self.crops

    @abstractmethod
    def _list_edges(self, rows: Tensor, split: str) -> Tensor:
        """Width and height of images of a split, and the edge of which crops are a fraction: (n, 3), float64."""

    @abstractmethod
    def _cut(self, rows: Tensor, split: str, squares: Tensor) -> Tensor:
        """Grey levels of one square of each image, as `cut_squares` gives them."""

    @property
    def _moments(self) -> tuple[Tensor, Tensor]:
        if self._is_stored_so:
            return super()._moments
        whole = self.model_copy(update={"limit": None})
        return _estimate_moments(whole, self._shelf)  # pyright: ignore[reportArgumentType]

    @property
    def _is_stored_so(self) -> bool:
        """Whether examples are in the converted files as they are."""
        return not self.crops and self._shelf.about["shape"] == list(self.shape)

    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        if self._is_stored_so:
            return super().take(rows, training=training)
        mean, deviation = self._moments
        return self._cut_whole(rows, "train" if training else "test").sub_(mean).div_(deviation)

    def _cut_whole(self, rows: Tensor, split: str) -> Tensor:
        """Grey levels of the largest squares."""
        edges = self._list_edges(rows, split)[:, :2]
        size = edges.min(1, keepdim=True).values
        return self._cut(rows, split, torch.cat([((edges - size) / 2).floor(), size, torch.zeros_like(size)], 1))

    def _cut_crops(self, rows: Tensor, split: str, generator: torch.Generator) -> Tensor:
        """Grey levels of one random square of each image."""
        edges = self._list_edges(rows, split)
        chance = torch.rand(len(rows), 4, dtype=torch.float64, generator=generator)
        share = self.smallest + (self.largest - self.smallest) * chance[:, :1]
        size = (edges[:, 2:] * share).clamp_(min=self.side)
        mirrored = (chance[:, 3:] < 0.5) & self.flips
        return self._cut(rows, split, torch.cat([(edges[:, :2] - size) * chance[:, 1:3], size, mirrored], 1))

    def _crop(self, rows: Tensor, split: str, generator: torch.Generator) -> Tensor:
        mean, deviation = self._moments
        return self._cut_crops(rows, split, generator).sub_(mean).div_(deviation)

    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        if not self.crops:
            return super().sample(n, generator=generator)
        labels = self.labels(training=True)
        rows = torch.randint(len(labels), (n,), generator=generator)
        return Batch(self._crop(rows, "train", generator), labels[rows])

    def held_out(self, n: int, *, generator: torch.Generator) -> Batch:
        if not self.crops:
            return super().held_out(n, generator=generator)
        labels = self.labels(training=False)
        rows = _take_turns(len(labels), n, generator)
        return Batch(self._crop(rows, "test", generator), labels[rows])

    def draw_classes(self, n: int, *, generator: torch.Generator, training: bool) -> Iterator[Tensor]:
        """`n` crops of each class, class by class; its images are taken in turn."""
        for rows in take_classes_in_turn(self, n, generator=generator, training=training):
            yield self._crop(rows, "train" if training else "test", generator)


def take_classes_in_turn(task: Images, n: int, *, generator: torch.Generator, training: bool) -> Iterator[Tensor]:
    """The rows of `n` images of each class, class by class; its images are taken in turn."""
    labels = task.labels(training=training)
    members = labels.argsort(stable=True).split(labels.bincount(minlength=task.classes).tolist())
    for label, rows in enumerate(members):
        if not len(rows):
            raise UsageError(f"{task.kind()} has no {'training' if training else 'test'} images of class {label}")
        yield rows[_take_turns(len(rows), n, generator)]


def _take_turns(count: int, n: int, generator: torch.Generator) -> Tensor:
    """`n` of the numbers 0, …, count − 1 in random order, each of them equally often up to one."""
    rounds = [torch.randperm(count, generator=generator) for _ in range(-(-n // count))]
    return torch.cat([*rounds, torch.empty(0, dtype=torch.long)])[:n]


@lru_cache(maxsize=8)
def _estimate_moments(task: Cropping, files: Shelf) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation for each feature, float32: of all training images, or of `SAMPLE` fixed crops."""
    stream = seeds.generator(0, "moments")
    count = files.about["train"]
    rows = _take_turns(count, SAMPLE, stream) if task.crops else torch.arange(count)
    sums = np.zeros((2, torch.Size(task.shape).numel()))
    for part in rows.split(BLOCK):
        grey = task._cut_crops(part, "train", stream) if task.crops else task._cut_whole(part, "train")
        grey = grey.double().numpy()  # numpy adds row by row, whatever the number of threads
        sums += grey.sum(0), np.square(grey).sum(0)
    mean, square = sums / len(rows)
    return make_scale(mean, np.maximum(square - mean**2, 0), task.standardise, task.shape)
