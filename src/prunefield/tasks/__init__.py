"""Tasks: where the data comes from. One file is one task."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import torch

from prunefield.plugin import Plugin


class Batch(NamedTuple):
    """Inputs `x` of shape (n, features) and integer labels `y` of shape (n,)."""

    x: torch.Tensor
    y: torch.Tensor


class Task(Plugin):
    """A labelled distribution: settings, and a way to draw from it."""

    family: ClassVar[str] = "tasks"

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """How one row of `x` folds back into a field: (40,) or (3, 32, 32)."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many labels there are: 0, 1, …, classes − 1."""

    @abstractmethod
    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        """`n` independent examples; the same generator state gives the same examples."""
