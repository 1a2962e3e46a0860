"""Many examples of a task, with their covariance and marginal distribution."""

from collections.abc import Iterator
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core.plugin import Nested
from prunefield.runs import Record, Run, State
from prunefield.tasks import Discrimination

CHUNK = 1000
# No edge is at ±1, where the Ising model has its values.
EDGES = torch.linspace(-4.1, 4.1, 42, dtype=torch.float64)


class Draws(Run):
    """Examples of each class of a task, for Fig. 2 of lufkin2024 and for the sample kurtosis.

    A record is one class: `kurtosis`, pooled over sites, and for each distance along the last axis the `correlation`
    and for each bin between `EDGES` (the first and last reach to infinity) the `share` of sites, averaged over sites
    and examples, each with its standard error over examples, `…_error`; `field` is the first example.
    """

    task: Annotated[Discrimination, Nested()] = Field(description="the data: a lengthscale discrimination task")
    number: int = Field(default=4000, ge=2, description="number of examples of each class")
    seed: int = Field(default=0, ge=0, description="seed of the examples")

    def __call__(self, state: State) -> Iterator[Record | None]:
        task = self.task
        width = task.size // 2 + 1 + len(EDGES) + 1
        for label in range(state.values.get("label", 0), task.classes):
            stream = state.generator(self.seed, "draws", label)
            sums = state.tensor(f"sums {label}", lambda: torch.zeros(2, width, dtype=torch.float64))
            powers = state.tensor(f"powers {label}", lambda: torch.zeros(2, dtype=torch.float64))
            first = state.tensor(f"field {label}", lambda: torch.zeros(task.sites, dtype=torch.float64))
            for drawn in range(state.values.get("drawn", 0), self.number, CHUNK):
                labels = torch.full((min(CHUNK, self.number - drawn),), label)
                x = task.draw(labels, generator=stream)
                each = torch.cat((correlate_examples(x, task.shape), bin_values(x) / task.sites), 1)
                sums += torch.stack((each.sum(0), each.square().sum(0)))
                powers += torch.stack((x.square().mean(1).sum(), x.pow(4).mean(1).sum()))
                if drawn == 0:
                    first.copy_(x[0])
                state.values["drawn"] = drawn + len(labels)
                state.done = (label + (drawn + len(labels)) / self.number) / task.classes
                if drawn + CHUNK < self.number:
                    yield None
            state.values.update(label=label + 1, drawn=0)
            yield self._record(label, sums, powers, first)

    def _record(self, label: int, sums: Tensor, powers: Tensor, field: Tensor) -> Record:
        mean, square = sums / self.number
        error = ((square - mean.square()).clamp(min=0) / (self.number - 1)).sqrt()
        parts = (self.task.size // 2 + 1, len(EDGES) + 1)
        second, fourth = (powers / self.number).tolist()
        found = dict(zip(("correlation", "share"), mean.split(parts), strict=True))
        errors = dict(zip(("correlation_error", "share_error"), error.split(parts), strict=True))
        tensors = {name: part.clone() for name, part in (found | errors).items()}
        return Record({"label": label, "kurtosis": fourth / second**2}, {**tensors, "field": field.clone()})


def correlate_examples(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The mean of x_i·x_{i+d} over the sites of each row, for d = 0, …, size // 2 along the last axis, shape (n, d).

    >>> correlate_examples(torch.tensor([[1.0, -1.0, 1.0, -1.0]]), (4,)).tolist()
    [[1.0, -1.0, 1.0]]
    """
    axes = tuple(range(1, len(shape) + 1))
    modes = torch.fft.fftn(x.unflatten(1, shape), dim=axes).abs().square()
    products = torch.fft.ifftn(modes, dim=axes).real / x.shape[1]
    return products.flatten(1)[:, : shape[-1] // 2 + 1]


def bin_values(x: Tensor) -> Tensor:
    """How many values of each row lie below, between and above `EDGES`, shape (n, bins)."""
    bins = torch.bucketize(x.contiguous(), EDGES.to(x.dtype))
    return torch.zeros(len(x), len(EDGES) + 1, dtype=torch.float64).scatter_add_(1, bins, torch.ones_like(x))
