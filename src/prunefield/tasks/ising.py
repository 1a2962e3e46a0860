"""Spins on a ring, discriminated by how strongly neighbours agree."""

from typing import ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.tasks import Discrimination
from prunefield.theory import amplifier, fields, walls


class Ising(Discrimination):
    """The one-dimensional Ising model (lufkin2024, Eq. 2 with its sign corrected): p(x) ∝ exp(+J Σ xᵢxᵢ₊₁), xᵢ = ±1.

    Drawn exactly, without a Markov chain, from the bonds between unequal spins (`theory.walls`).

    >>> Ising(size=8).sample(2, generator=torch.Generator().manual_seed(0)).x.abs().sum().item()
    16.0
    """

    version: ClassVar[int] = 2  # the exact sampler uses different random numbers
    couplings: tuple[float, ...] = Field(
        default=(0.3, 0.7), min_length=2, description="coupling J of each class, in increasing order"
    )
    sampler: Literal["exact", "gibbs"] = Field(
        default="exact", description="exact, or for comparison a Markov chain that may not have equilibrated"
    )
    sweeps: int = Field(default=50, ge=1, description="for gibbs: number of sweeps from a random start")

    @model_validator(mode="after")
    def _check(self) -> "Ising":
        steps = zip(self.couplings, self.couplings[1:], strict=False)
        got = ", ".join(f"{coupling:g}" for coupling in self.couplings)
        if self.couplings[0] < 0 or not all(weak < strong for weak, strong in steps):
            raise UsageError(
                f"couplings must be 0 ≤ J0 < J1 < …: class 1 has a longer lengthscale than class 0 (got {got})"
            )
        if self.couplings[-1] > 20:
            raise UsageError(f"couplings must be at most 20, beyond which all spins agree (got {got})")
        if self.sampler == "gibbs" and self.size % 2:
            raise UsageError(f"the sampler 'gibbs' updates every other site and needs an even size (got {self.size})")
        return self

    @property
    def title(self) -> str:
        return "Ising"

    @property
    def classes(self) -> int:
        return len(self.couplings)

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        if self.sampler == "exact":
            return walls.draw_ring(labels, self.couplings, self.size, generator=generator)
        return self._draw_by_gibbs(labels, generator)

    def _draw_by_gibbs(self, labels: Tensor, generator: torch.Generator) -> Tensor:
        """A sweep draws all even sites given the odd ones, then all odd sites: P(xᵢ = 1) = 1/(1 + e^(−2J(l+r)))."""
        double = 2 * torch.tensor(self.couplings, dtype=torch.float64)[labels][:, None]
        shape = (len(labels), self.size // 2)
        even, odd = (2.0 * torch.randint(2, shape, dtype=torch.float64, generator=generator) - 1 for _ in range(2))
        for _ in range(self.sweeps):
            for own, other, shift in ((even, odd, 1), (odd, even, -1)):
                chance = torch.sigmoid(double * (other + other.roll(shift, 1)))
                up = torch.rand(shape, dtype=torch.float64, generator=generator) < chance
                own.copy_(up).mul_(2).sub_(1)
        return torch.stack((even, odd), 2).flatten(1)

    def covariance(self, label: int) -> Tensor:
        """E[xᵢxⱼ] = (aᵈ + aᴺ⁻ᵈ)/(1 + aᴺ), a = tanh J, d = |i−j|."""
        a = torch.tensor(self.couplings[label], dtype=torch.float64).tanh()
        distance = fields.measure_distances(self.size)
        return fields.make_circulant((a**distance + a ** (self.size - distance)) / (1 + a**self.size))

    def kurtosis(self) -> float:
        return 1.0

    def amplifier(self, a: Tensor) -> Tensor:
        return amplifier.amplify_hypercube(a)

    def cdf(self, x: Tensor) -> Tensor:
        return ((x >= -1).to(torch.float64) + (x >= 1)) / 2

    def density(self, x: Tensor) -> Tensor:
        """Two points of probability ½ each have no density: infinite at ±1, 0 elsewhere."""
        return torch.where(x.abs() == 1, torch.inf, 0.0).to(torch.float64)
