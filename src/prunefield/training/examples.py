"""Training examples that are reused in every epoch, in the shape of images."""

from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor

from prunefield.core import seeds
from prunefield.modules.calls import map_tensors
from prunefield.tasks import Batch, Finite, Task, is_finite

LARGEST = 2**26  # numbers that are kept in memory as float32, a quarter of a gigabyte


@dataclass(frozen=True)
class TrainingExamples:
    """Inputs `x` (a tensor, or several in a dict or tuple), labels `y`, and `black`, the value outside of an image.

    The examples of a large data set stay in its files: then `x` is None, and they are read on demand.
    """

    x: Any
    y: Tensor
    black: Tensor = field(default_factory=lambda: torch.zeros(1))
    source: Finite | None = None

    @classmethod
    def of(cls, task: Task, images: int, seed: int) -> Self:
        """All training examples of a data set, or `images` examples of an endless task."""
        black = _black(task)
        if not is_finite(task):
            return cls(*task.sample(images, generator=seeds.generator(seed, "pool")).fold(task.shape), black)
        y = task.labels(training=True)
        if len(y) * torch.Size(task.shape).numel() > LARGEST:
            return cls(None, y, black, task)
        x = task.take(torch.arange(len(y)), training=True)
        return cls(x.view(-1, *task.shape).float(), y, black)

    def take(self, rows: Tensor) -> Batch:
        """The examples at `rows`."""
        if self.x is not None:
            return Batch(map_tensors(self.x, lambda part: part[rows] if part.ndim else part), self.y[rows])
        assert self.source is not None
        return Batch(self.source.take(rows, training=True).view(-1, *self.source.shape).float(), self.y[rows])


def hold_out(task: Task, n: int, seed: int) -> Batch:
    """`n` test examples in the shape of images."""
    return task.held_out(n, generator=seeds.generator(seed, "held-out")).fold(task.shape)


def _black(task: Task) -> Tensor:
    """The value of black in each channel: its mean where every pixel has its own scale, zero where nothing is known."""
    channels = task.shape[0] if len(task.shape) == 3 else 1
    if task.levels is None:
        return torch.zeros(channels)
    return task.levels[0].float().expand(torch.Size(task.shape).numel()).reshape(channels, -1).mean(1)
