"""What the lengthscale discrimination tasks of lufkin2024 (§2.3) have in common."""

import math
from abc import abstractmethod

import torch
from pydantic import Field
from torch import Tensor

from prunefield.tasks import Batch, Task


class Discrimination(Task):
    """Discriminate periodic random fields by their lengthscale; all have the same marginal, of unit variance.

    A higher label has a longer lengthscale; the paper has two. Labels are drawn uniformly and independently, one for
    each example.
    """

    size: int = Field(default=40, ge=4, description="number of sites N on the ring, or along each side of the torus")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def sites(self) -> int:
        """How many values a field has."""
        return math.prod(self.shape)

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Batch:
        """`n` examples. They are drawn in float64 and rounded, so that both precisions see the same examples."""
        y = torch.randint(self.classes, (n,), generator=generator)
        return Batch(self.draw(y, generator=generator).to(dtype), y)

    @abstractmethod
    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        """One field for each label, shape (n, sites), float64."""

    @abstractmethod
    def covariance(self, label: int) -> Tensor:
        """The covariance Σ of the class, shape (sites, sites), float64."""

    @abstractmethod
    def kurtosis(self) -> float:
        """κ = m₄/m₂² of a site's marginal law (a Gaussian has 3), `math.inf` where it does not exist."""

    @abstractmethod
    def amplifier(self, a: Tensor) -> Tensor:
        """φ(a) of the marginal law (Eq. 6), element by element."""

    @abstractmethod
    def cdf(self, x: Tensor) -> Tensor:
        """P(X ≤ x) of the marginal law, element by element."""

    @abstractmethod
    def density(self, x: Tensor) -> Tensor:
        """The derivative of `cdf`, element by element; infinite where single values have a probability."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Its name in the paper."""
