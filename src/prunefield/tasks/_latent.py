"""Tasks made from a Gaussian field (lufkin2024, §2.3)."""

from functools import cache
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.tasks import Discrimination
from prunefield.theory import fields


class Latent(Discrimination):
    """A task whose fields come from a Gaussian field z with the covariance exp(−d²/ξ²), on a ring or a torus."""

    lengthscales: tuple[float, ...] = Field(
        default=(1.0, 3.0), min_length=2, description="lengthscale ξ of each class, in increasing order"
    )
    dimensions: Literal[1, 2] = Field(default=1, description="1: a ring of sites, 2: a torus of size × size sites")

    @model_validator(mode="after")
    def _check_lengthscales(self) -> Self:
        steps = zip((0.0, *self.lengthscales), self.lengthscales, strict=False)
        if not all(short < long for short, long in steps):
            got = ", ".join(f"{lengthscale:g}" for lengthscale in self.lengthscales)
            raise UsageError(
                f"lengthscales must be 0 < ξ0 < ξ1 < …: class 1 has a longer lengthscale than class 0 (got {got})"
            )
        _stack_roots(self.size, self.lengthscales)
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,) * self.dimensions

    @property
    def classes(self) -> int:
        return len(self.lengthscales)

    def correlate(self, label: int) -> Tensor:
        """The covariance of site 0 of z with every site, shape `shape`."""
        return fields.correlate_sites(self.size, self.lengthscales[label], self.dimensions)

    def draw_latent(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        """The field z for each label, shape (n, sites)."""
        roots = _stack_roots(self.size, self.lengthscales)
        return fields.draw_fields(labels, roots, dimensions=self.dimensions, generator=generator)

    def correlate_noise(self, noise: Tensor, labels: Tensor) -> Tensor:
        """The fields made from white noise of shape (n, sites)."""
        return fields.correlate_noise(noise, labels, _stack_roots(self.size, self.lengthscales), self.dimensions)


@cache
def _stack_roots(size: int, lengthscales: tuple[float, ...]) -> Tensor:
    """The square roots of the covariances on the ring, shape (classes, size, size)."""
    return torch.stack([fields.root_covariance(size, lengthscale) for lengthscale in lengthscales])
