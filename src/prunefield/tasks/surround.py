"""Fields seen through an on-centre, off-surround filter."""

from functools import cached_property
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core.plugin import Nested
from prunefield.tasks import Discrimination, Fields
from prunefield.tasks.ising import Ising
from prunefield.theory import fields


class Surround(Fields):
    """Lengthscale discrimination of filtered inputs (lufkin2024, §5): x' = (x − strength·g⋆x)/c on the ring or torus.

    g is Gaussian in the distance, with standard deviation `width` and sum 1: the surround. A strength of 1 removes the
    mean of every field. c is common to all classes, so that their mean variance is 1; filtering takes more from long
    lengthscales, and the classes differ in variance, too. The paper gives no formula; this one is the usual choice.
    With h = (δ − strength·g)/c the covariance of a class is h⋆Σ⋆h.

    >>> task = Surround(width=2.0)
    >>> [round(float(task.covariance(label)[0, 0]), 3) for label in (0, 1)]
    [1.24, 0.76]
    """

    of: Annotated[Discrimination, Nested()] = Field(default=Ising(), description="the task whose inputs are filtered")
    width: float = Field(default=2.0, gt=0, le=1e6, description="standard deviation of the surround, in sites")
    strength: float = Field(default=1.0, ge=0, le=1, description="weight of the surround; that of the centre is 1")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.of.shape

    @property
    def classes(self) -> int:
        return self.of.classes

    @property
    def title(self) -> str:
        return f"filtered {self.of.title}"

    @cached_property
    def transfer(self) -> Tensor:
        """The Fourier transform of h, real, shape `shape`."""
        squares = torch.zeros(self.shape, dtype=torch.float64)
        for axis, size in enumerate(self.shape):
            squares += fields.measure_distances(size).square().view(-1, *[1] * (len(self.shape) - 1 - axis))
        surround = torch.exp(-squares / (2 * self.width**2))
        plain = 1 - self.strength * torch.fft.fftn(surround / surround.sum()).real
        powers = [torch.fft.fftn(self.of.covariance(label)[0].view(self.shape)).real for label in range(self.classes)]
        variance = (torch.stack(powers).mean(0) * plain.square()).mean()
        return plain / variance.sqrt()

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        x = self.of.draw(labels, generator=generator).unflatten(1, self.shape)
        axes = tuple(range(1, x.ndim))
        return torch.fft.ifftn(torch.fft.fftn(x, dim=axes) * self.transfer, dim=axes).real.flatten(1)

    def covariance(self, label: int) -> Tensor:
        """h⋆Σ⋆h, from the row of Σ: circulant, as Σ is."""
        row = self.of.covariance(label)[0].view(self.shape)
        return fields.make_circulant(torch.fft.ifftn(torch.fft.fftn(row).real * self.transfer.square()).real)
