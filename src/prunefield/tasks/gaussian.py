"""A Gaussian field on a ring or a torus."""

import math

import torch
from torch import Tensor

from prunefield.tasks._latent import Latent
from prunefield.theory import amplifier, fields


class Gaussian(Latent):
    """The Gaussian field itself (lufkin2024, §2.3: NLGP for g → 0), for which Eq. 5 holds exactly.

    >>> Gaussian(size=8, lengthscales=(0.5, 1.0)).kurtosis()
    3.0
    """

    @property
    def title(self) -> str:
        return "Gaussian"

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        return self.draw_latent(labels, generator=generator)

    def covariance(self, label: int) -> Tensor:
        return fields.make_circulant(self.correlate(label))

    def kurtosis(self) -> float:
        return 3.0

    def amplifier(self, a: Tensor) -> Tensor:
        return amplifier.amplify_gaussian(a)

    def cdf(self, x: Tensor) -> Tensor:
        return torch.special.ndtr(x)

    def density(self, x: Tensor) -> Tensor:
        return torch.exp(-x.square() / 2) / math.sqrt(2 * math.pi)
