"""Tasks: where data come from. One file is one task."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeGuard

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Plugin

FEWEST = 4  # examples of a class that a kurtosis needs at least


class Batch(NamedTuple):
    """Inputs `x` of shape (n, features) and integer labels `y` of shape (n,)."""

    x: Tensor
    y: Tensor

    def fold(self, shape: Sequence[int]) -> "Batch":
        """The same with inputs of the shape (n, *shape), in single precision, as networks take them."""
        return Batch(self.x.view(-1, *shape).float(), self.y)


class Task(Plugin):
    """A labelled distribution: settings, and a way to draw from it."""

    family: ClassVar[str] = "tasks"
    provenance: ClassVar[Literal["made here", "your own files", "published"]] = "made here"

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for name in {"sample", "held_out"} & vars(cls).keys():
            setattr(cls, name, _check_count(vars(cls)[name]))

    if TYPE_CHECKING:  # every task has both, as a property or as a setting, which could not replace a property

        @property
        def shape(self) -> tuple[int, ...]:
            """The shape of one row of `x` as a field: (40,) or (3, 32, 32)."""
            ...

        @property
        def classes(self) -> int:
            """The number of labels 0, 1, …, classes − 1."""
            ...

    @property
    def levels(self) -> tuple[Tensor, Tensor] | None:
        """For images, the values of x for black (0) and white (255), as scalars or one for each feature; else None."""
        return None

    @property
    def ahead(self) -> int:
        """The number of batches that are best drawn at once in training (`Ahead`)."""
        return 1

    @abstractmethod
    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        """`n` independent examples; the same generator state gives the same examples."""

    def held_out(self, n: int, *, generator: torch.Generator) -> Batch:
        """`n` test examples, never used in training: new ones of a stream, test images of a data set."""
        return self.sample(n, generator=generator)


def _check_count(draw: Callable[..., Batch]) -> Callable[..., Batch]:
    """The method, which refuses a number of examples that is not one, whoever has written it."""

    @wraps(draw)
    def checked(task: Task, n: int, **options: Any) -> Batch:
        if not isinstance(n, Integral) or n < 0:
            raise UsageError(f"the number of examples must be a whole number and not negative (got {n!r:.100})")
        return draw(task, n, **options)

    return checked


class Finite(Task):
    """A task with a fixed number of training and test examples."""

    limit: int | None = Field(
        default=None, ge=1, description="train on the first `limit` training examples only [default: all]"
    )

    @property
    def endless(self) -> bool:
        """Whether it makes an endless stream out of its examples, such as random crops (`is_finite`)."""
        return False

    @abstractmethod
    def labels(self, *, training: bool) -> Tensor:
        """The labels of all training examples (up to `limit`) or of all test examples, int64."""

    @abstractmethod
    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        """The inputs of the examples at `rows`, shape (len(rows), features)."""

    def draw_classes(self, n: int, *, generator: torch.Generator, training: bool) -> Iterator[Tensor]:
        """`n` inputs of each class of an endless stream, class by class."""
        raise NotImplementedError

    def count(self) -> int:
        """The number of training examples without reading any; where that is not known, a usual one for estimates."""
        return self.limit or 50_000

    def cut_to_limit(self, labels: Tensor) -> Tensor:
        """The labels of all training examples up to `limit`, which must not ask for more than there are."""
        if self.limit is not None and self.limit > len(labels):
            raise UsageError(
                f"{self.kind()} has {len(labels):,} training examples, but limit is {self.limit:,}; "
                "choose a smaller limit, or none for all of them"
            )
        return labels[: self.limit]

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


def is_finite(task: Task) -> TypeGuard[Finite]:
    """Whether a task has a fixed number of examples, which are seen again and again in training."""
    return isinstance(task, Finite) and not task.endless


class Synthetic(Task):
    """Inputs of any shape that are independent of their labels, which are uniform: bar2023, Sections 5, 6 and 8."""

    single: ClassVar[bool] = False  # whether a score sees one example of it, however many it is given of others
    shape: tuple[Annotated[int, Field(ge=1)], ...] = Field(  # type: ignore[assignment]
        default=(3, 8, 8), min_length=1, description="shape of one input"
    )
    classes: int = Field(default=10, ge=1, description="number of classes")  # type: ignore[assignment]

    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        x = self.draw_inputs(n, math.prod(self.shape), generator)
        return Batch(x, torch.randint(self.classes, (n,), generator=generator))

    @abstractmethod
    def draw_inputs(self, n: int, size: int, generator: torch.Generator) -> Tensor:
        """`n` inputs of `size` numbers each."""


class Fields(Task):
    """Discriminate periodic random fields, all translates and both signs of which are equally probable (lufkin2024, S2
    and S3). Labels are uniform and independent.
    """

    @property
    def sites(self) -> int:
        """The number of values in a field."""
        return math.prod(self.shape)

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Batch:
        """`n` examples. They are drawn in float64 and rounded, so both precisions get the same examples."""
        y = torch.randint(self.classes, (n,), generator=generator)
        return Batch(self.draw(y, generator=generator).to(dtype), y)

    @abstractmethod
    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        """One field for each label, shape (n, sites), float64."""

    @abstractmethod
    def covariance(self, label: int) -> Tensor:
        """The covariance Σ of the class, shape (sites, sites), float64."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Its name in the paper."""


class Discrimination(Fields):
    """Discriminate periodic random fields by their lengthscale (lufkin2024, §2.3); all have the same marginal
    distribution, of unit variance.

    A higher label means a longer lengthscale; the paper has two.
    """

    size: int = Field(default=40, ge=4, description="number of sites N on the ring, or along each side of the torus")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    @abstractmethod
    def kurtosis(self) -> float:
        """κ = m₄/m₂² of a site's marginal law (3 for a Gaussian), `math.inf` if it does not exist."""

    @abstractmethod
    def amplifier(self, a: Tensor) -> Tensor:
        """φ(a) of the marginal law (Eq. 6), element by element."""

    @abstractmethod
    def cdf(self, x: Tensor) -> Tensor:
        """P(X ≤ x) of the marginal law, element by element."""

    @abstractmethod
    def density(self, x: Tensor) -> Tensor:
        """The derivative of `cdf`, element by element; infinite at single values with positive probability."""


def draw_distinct(task: Task, n: int, *, generator: torch.Generator) -> Batch:
    """`n` training examples; those of a finite task are distinct, and all that it has if these are fewer."""
    if not is_finite(task):
        return task.sample(n, generator=generator)
    labels = task.labels(training=True)
    rows = torch.randperm(len(labels), generator=generator)[:n]
    return Batch(task.take(rows, training=True), labels[rows])


def draw_balanced(task: Task, per_class: int, *, generator: torch.Generator, training: bool = False) -> Batch:
    """`per_class` held-out (or training) examples of each class, sorted by class.

    A finite task gives distinct examples, and fewer of every class if its smallest class has fewer.
    """
    parts = list(draw_classes(task, per_class, generator=generator, training=training))
    y = torch.arange(task.classes).repeat_interleave(len(parts[0]))
    return Batch(torch.cat(parts), y)


def draw_classes(task: Task, per_class: int, *, generator: torch.Generator, training: bool = False) -> Iterator[Tensor]:
    """The inputs of `draw_balanced` class by class, so that images need not be in memory all at once."""
    if is_finite(task):
        chosen = choose_balanced(task, per_class, generator=generator, training=training)
        yield from (task.take(rows, training=training) for rows in chosen.split(len(chosen) // task.classes))
    elif isinstance(task, Finite):
        yield from task.draw_classes(per_class, generator=generator, training=training)
    else:
        draw = task.sample if training else task.held_out
        parts: list[Batch] = []
        counts = torch.zeros(task.classes, dtype=torch.long)
        while int(counts.min()) < per_class:
            parts.append(draw(per_class * task.classes, generator=generator))
            counts += torch.bincount(parts[-1].y, minlength=task.classes)
        x, y = torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])
        yield from x[_find_first(y, per_class, task.classes)].split(per_class)


def choose_balanced(task: Finite, per_class: int, *, generator: torch.Generator, training: bool = False) -> Tensor:
    """The rows of the examples that `draw_balanced` takes from a finite task."""
    y = task.labels(training=training)
    smallest = y.bincount(minlength=task.classes).min(0)
    if (least := int(smallest.values)) < FEWEST:
        what, label = "training" if training else "test", int(smallest.indices)
        raise UsageError(f"{task.kind()} has {least} {what} examples of class {label}; at least {FEWEST} are needed")
    order = torch.randperm(len(y), generator=generator)
    return order[_find_first(y[order], min(per_class, least), task.classes)]


def _find_first(y: Tensor, per_class: int, classes: int) -> Tensor:
    """The positions of the first `per_class` labels of each class, class by class."""
    return torch.cat([torch.nonzero(y == label).flatten()[:per_class] for label in range(classes)])
