"""Tasks: where the data comes from. One file is one task."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from prunefield.errors import UsageError
from prunefield.plugin import Plugin

FEWEST = 4  # with fewer examples of a class its kurtosis cannot be estimated


class Batch(NamedTuple):
    """Inputs `x` of shape (n, features) and integer labels `y` of shape (n,)."""

    x: Tensor
    y: Tensor


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

    @property
    def levels(self) -> tuple[Tensor, Tensor] | None:
        """For images: the values of x for black (0) and white (255), scalars or one for each feature; otherwise
        None.
        """
        return None

    @abstractmethod
    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        """`n` independent examples; the same generator state gives the same examples."""

    def held_out(self, n: int, *, generator: torch.Generator) -> Batch:
        """`n` test examples, which training never sees: new ones of a stream, test images of a data set."""
        return self.sample(n, generator=generator)


class Finite(Task):
    """A task with a fixed number of training and test examples."""

    limit: int | None = Field(
        default=None, ge=1, description="train on the first `limit` training examples only [default: all]"
    )

    @abstractmethod
    def labels(self, *, training: bool) -> Tensor:
        """The labels of all training examples (up to `limit`) or of all test examples, int64."""

    @abstractmethod
    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        """The inputs of the examples at `rows`, shape (len(rows), features)."""

    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        """`n` training examples, drawn with replacement."""
        labels = self.labels(training=True)
        rows = torch.randint(len(labels), (n,), generator=generator)
        return Batch(self.take(rows, training=True), labels[rows])

    def held_out(self, n: int, *, generator: torch.Generator) -> Batch:
        """`n` different test examples."""
        labels = self.labels(training=False)
        if n > len(labels):
            raise UsageError(f"{self.kind()} has {len(labels)} test examples, but {n} were requested")
        rows = torch.randperm(len(labels), generator=generator)[:n]
        return Batch(self.take(rows, training=False), labels[rows])


def balanced(task: Task, per_class: int, *, generator: torch.Generator, training: bool = False) -> Batch:
    """`per_class` held-out (or training) examples of each class, sorted by class.

    A finite task gives different examples, and fewer of every class if its smallest class has fewer.
    """
    if isinstance(task, Finite):
        chosen = choose_balanced(task, per_class, generator=generator, training=training)
        return Batch(task.take(chosen, training=training), task.labels(training=training)[chosen])
    draw = task.sample if training else task.held_out
    parts: list[Batch] = []
    counts = torch.zeros(task.classes, dtype=torch.long)
    while int(counts.min()) < per_class:
        parts.append(draw(per_class * task.classes, generator=generator))
        counts += torch.bincount(parts[-1].y, minlength=task.classes)
    x, y = torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])
    chosen = _first(y, per_class, task.classes)
    return Batch(x[chosen], y[chosen])


def choose_balanced(task: Finite, per_class: int, *, generator: torch.Generator, training: bool = False) -> Tensor:
    """The rows of the examples that `balanced` takes of a finite task."""
    y = task.labels(training=training)
    smallest = y.bincount(minlength=task.classes).min(0)
    if (least := int(smallest.values)) < FEWEST:
        what, label = "training" if training else "test", int(smallest.indices)
        raise UsageError(f"{task.kind()} has {least} {what} examples of class {label}; at least {FEWEST} are needed")
    order = torch.randperm(len(y), generator=generator)
    return order[_first(y[order], min(per_class, least), task.classes)]


def _first(y: Tensor, per_class: int, classes: int) -> Tensor:
    """Where the first `per_class` labels of each class are, class by class."""
    return torch.cat([torch.nonzero(y == label).flatten()[:per_class] for label in range(classes)])
