"""A Gaussian field whose marginal distribution is replaced by one of any kurtosis."""

import math
from functools import cache

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.tasks._latent import Latent
from prunefield.theory import amplifier, copula, fields
from prunefield.theory.quadrature import FAR, place_nodes


class Kur(Latent):
    """Kur(k) (lufkin2024, Eq. 4): x = F⁻¹(Φ(z))/s with F⁻¹(p) = u/(1−|u|ᵏ)^(1/k), u = 2p−1, s its exact deviation.

    z has the covariance exp(−d²/ξ²). Tails fall as |x|⁻⁽ᵏ⁺¹⁾, so the kurtosis is infinite for k ≤ 4, equals that of
    a Gaussian at k = 5.8901 and falls to that of a uniform law, 1.8, as k grows.

    >>> round(Kur(k=5).kurtosis(), 4), Kur(k=4).kurtosis()
    (4.2853, inf)
    """

    k: float = Field(
        default=5.0,
        le=1e6,
        description="the exponent, above 2: small values are heavy-tailed, large ones nearly uniform",
    )

    @model_validator(mode="after")
    def _check(self) -> "Kur":
        if self.k <= 2:
            raise UsageError(f"k must be above 2, as the variance is infinite otherwise (got {self.k:g})")
        return self

    @property
    def title(self) -> str:
        return f"Kur({self.k:g})"

    @property
    def deviation(self) -> float:
        """The standard deviation s of F⁻¹(p) for a uniform p, from E|x|² in closed form."""
        return math.sqrt(compute_moment(self.k, 2))

    def squash(self, z: Tensor) -> Tensor:
        """x = F⁻¹(Φ(z))/s, of unit variance for a standard normal z."""
        return squash_latent(z, self.k)

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        return self.squash(self.draw_latent(labels, generator=generator))

    def covariance(self, label: int) -> Tensor:
        """E[xᵢxⱼ] from the Hermite series of F⁻¹∘Φ; it has no closed form."""
        return fields.make_circulant(_correlate_kur(self.k, self.size, self.lengthscales[label], self.dimensions))

    def kurtosis(self) -> float:
        return compute_moment(self.k, 4) / compute_moment(self.k, 2) ** 2

    def truncated_kurtosis(self, cut: float) -> float:
        """κ of the unscaled law truncated to [−cut, cut], as a computation on that interval gives it."""
        x, weights = place_nodes(np.linspace(0, cut, 101), 16)
        weights = weights * torch.exp(-torch.log1p(x**self.k) * (1 + 1 / self.k))
        whole, second, fourth = ((weights * x**power).sum().item() for power in (0, 2, 4))
        return fourth * whole / second**2

    def amplifier(self, a: Tensor) -> Tensor:
        return amplifier.integrate_amplifier(a, self.squash)

    def cdf(self, x: Tensor) -> Tensor:
        u = x * self.deviation
        return (1 + u * torch.exp(-torch.log1p(u.abs() ** self.k) / self.k)) / 2

    def density(self, x: Tensor) -> Tensor:
        """½ s (1 + |s x|ᵏ)^(−1−1/k)."""
        s = self.deviation
        return s / 2 * torch.exp(-torch.log1p((s * x).abs() ** self.k) * (1 + 1 / self.k))


def compute_moment(k: float, power: float) -> float:
    """E|x|ᵖ = Γ((p+1)/k) Γ(1−p/k)/(k Γ(1+1/k)) of the law with density ½(1+|x|ᵏ)^(−1−1/k); infinite for p ≥ k.

    >>> round(compute_moment(3, 2), 12), compute_moment(4, 4)
    (1.0, inf)
    """
    if power >= k:
        return math.inf
    return math.gamma((power + 1) / k) * math.gamma(1 - power / k) / (k * math.gamma(1 + 1 / k))


def squash_latent(z: Tensor, k: float) -> Tensor:
    """x = F⁻¹(Φ(z))/s for z in float64, element by element.

    >>> squash_latent(torch.tensor([-40.0, 0.0, 9.0], dtype=torch.float64), 5.0).isfinite().all().item()
    True
    """
    # Φ(z) rounds to 1 beyond z = 8; the tail probability erfc keeps all digits of 1 − |u|ᵏ.
    log_u = z.abs().clamp_(max=FAR).div_(math.sqrt(2)).erfc_().neg_().log1p_()
    log_rest = (k * log_u).expm1_().neg_().log_()
    size = log_u.sub_(log_rest.div_(k)).exp_().div_(math.sqrt(compute_moment(k, 2)))
    return size.copysign_(z)


@cache
def _correlate_kur(k: float, size: int, lengthscale: float, dimensions: int) -> Tensor:
    return copula.correlate_transformed(
        lambda z: squash_latent(z, k), fields.correlate_sites(size, lengthscale, dimensions)
    )
