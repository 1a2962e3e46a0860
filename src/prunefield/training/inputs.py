"""Synthetic data to score a network with, where no real data is needed: bar2023, Sections 5, 6 and 8."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal, get_args

import torch
from torch import Tensor

from prunefield.core.errors import UsageError, unknown
from prunefield.tasks import Batch, Task

Source = Literal["normal", "sparse", "chi", "ones"]
CHI_DEGREES = 128  # n of bar2023, Section 8


def draw_batch(source: Source, n: int, shape: Sequence[int], classes: int, *, generator: torch.Generator) -> Batch:
    """`n` inputs of a shape with uniformly random labels.

    `normal`: N(0, 1). `sparse`: for each input coordinate one image of the batch, chosen uniformly, has N(0, 1), all
    others zero. `chi`: ‖v‖₂ of a normal v of 128 entries, for each coordinate. `ones`: ones.

    >>> batch = draw_batch("sparse", 4, (1, 5, 5), 10, generator=torch.Generator().manual_seed(0))
    >>> batch.x.shape, batch.x.count_nonzero(0).unique().tolist()
    (torch.Size([4, 1, 5, 5]), [1])
    """
    if source not in get_args(Source):
        raise unknown("source of inputs", source, get_args(Source))
    if n < 1 or classes < 1 or any(side < 1 for side in shape):
        raise UsageError(
            f"n, classes and the sides of a shape must be at least 1 (got {n}, {classes} and {tuple(shape)})"
        )
    x = _draw(source, n, prod(shape), generator).reshape(n, *shape)
    return Batch(x, torch.randint(classes, (n,), generator=generator))


def stream_batches(
    source: Source | Task, n: int, shape: Sequence[int], classes: int, *, generator: torch.Generator
) -> Callable[[], list[Batch]]:
    """A function that draws new data every time, for each iteration of `prune`: from a task, or synthetic.

    A task's inputs get the shape, which must have as many numbers. Of `chi` and `ones` one input is enough.

    >>> draw = stream_batches("chi", 256, (1, 5, 5), 10, generator=torch.Generator().manual_seed(0))
    >>> draw()[0].x.shape, torch.equal(draw()[0].x, draw()[0].x)
    (torch.Size([1, 1, 5, 5]), False)
    """

    def draw() -> list[Batch]:
        if not isinstance(source, Task):
            return [draw_batch(source, 1 if source in ("chi", "ones") else n, shape, classes, generator=generator)]
        x, y = source.sample(n, generator=generator)
        return [Batch(x.reshape(len(x), *shape), y)]

    return draw


def _draw(source: Source, n: int, size: int, generator: torch.Generator) -> Tensor:
    if source == "normal":
        return torch.randn(n, size, generator=generator)
    if source == "chi":
        return torch.randn(n, size, CHI_DEGREES, generator=generator).norm(dim=-1)
    if source == "ones":
        return torch.ones(n, size)
    owner = torch.randint(n, (1, size), generator=generator)
    return torch.zeros(n, size).scatter_(0, owner, torch.randn(1, size, generator=generator))
