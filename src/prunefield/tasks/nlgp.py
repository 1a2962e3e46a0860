"""A Gaussian field on a ring or a torus, squashed towards ±1."""

import math
from functools import cache

import torch
from pydantic import Field
from torch import Tensor

from prunefield.tasks._latent import Latent
from prunefield.theory import amplifier, fields
from prunefield.theory.quadrature import half_normal


class Nlgp(Latent):
    """The nonlinear Gaussian process (lufkin2024, Eq. 3): x = erf(g z)/Z, Z² = (2/π) asin(2g²/(1+2g²)).

    z has the covariance exp(−d²/ξ²). A small g leaves x Gaussian, a large g makes it ±1.

    >>> task = Nlgp(g=100.0, size=8, lengthscales=(0.5, 1.0))
    >>> task.sample(3, generator=torch.Generator().manual_seed(0)).x.shape
    torch.Size([3, 8])
    """

    g: float = Field(
        default=0.01, gt=0, description="the gain: near 0 gives Gaussian data, large values give binary data"
    )

    @property
    def title(self) -> str:
        return f"NLGP({self.g:g})"

    @property
    def _gain(self) -> float:
        # 2g²/(1+2g²) without overflow for the largest g.
        return 1 / (1 + 0.5 / self.g / self.g)

    @property
    def _top(self) -> float:
        """Z; x lies between −1/Z and 1/Z."""
        return math.sqrt(2 / math.pi * math.asin(self._gain))

    def squash(self, z: Tensor) -> Tensor:
        """x = erf(g z)/Z, of unit variance for a standard normal z."""
        return torch.erf(self.g * z) / self._top

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        return self.squash(self.draw_latent(labels, generator=generator))

    def covariance(self, label: int) -> Tensor:
        """E[xᵢxⱼ] = asin(q C)/asin(q), q = 2g²/(1+2g²), C the covariance of z."""
        return fields.make_circulant(torch.asin(self._gain * self.correlate(label)) / math.asin(self._gain))

    def kurtosis(self) -> float:
        """E x⁴ by quadrature, as it has no closed form."""
        return _integrate_fourth(self.g, self._gain)

    def amplifier(self, a: Tensor) -> Tensor:
        return amplifier.integrate_amplifier(a, self.squash)

    def cdf(self, x: Tensor) -> Tensor:
        return torch.special.ndtr(torch.erfinv((x * self._top).clamp(-1, 1)) / self.g)

    def density(self, x: Tensor) -> Tensor:
        """Z/(√8 g) exp((g² − ½)z²), z = erf⁻¹(xZ)/g, for |x| < 1/Z, else 0; for g > 1/√2 it rises to the ends."""
        u = torch.erfinv((x * self._top).clamp(-1, 1))
        inside = self._top / math.sqrt(8) / self.g * torch.exp((1 - 0.5 / self.g**2) * u.square())
        return torch.where((x * self._top).abs() < 1, inside, 0.0)


@cache
def _integrate_fourth(g: float, gain: float) -> float:
    nodes, weights = half_normal()
    return float((weights * torch.erf(g * nodes) ** 4).sum()) / (2 / math.pi * math.asin(gain)) ** 2
