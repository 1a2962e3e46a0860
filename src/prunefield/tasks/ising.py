"""Spins on a ring, told apart by how strongly neighbours agree."""

import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.errors import UsageError
from prunefield.tasks._discrimination import Discrimination
from prunefield.theory import amplifier, fields


class Ising(Discrimination):
    """The one-dimensional Ising model (lufkin2024, Eq. 2 with its sign mended): p(x) ∝ exp(+J Σ xᵢxᵢ₊₁), xᵢ = ±1.

    Drawn exactly and without a Markov chain: each bond of the ring is closed with probability tanh J, or all of them
    with the extra weight tanhᴺJ that the ring adds; sites joined by closed bonds share a fair sign.

    >>> Ising(size=8).sample(2, generator=torch.Generator().manual_seed(0)).x.abs().sum().item()
    16.0
    """

    couplings: tuple[float, float] = Field(
        default=(0.3, 0.7), description="the coupling J of class 0 and, stronger, that of class 1"
    )

    @model_validator(mode="after")
    def _check(self) -> "Ising":
        weak, strong = self.couplings
        if not 0 <= weak < strong:
            raise UsageError(f"couplings must be 0 ≤ J0 < J1: class 1 is the longer one (got {weak:g}, {strong:g})")
        if strong > 20:
            raise UsageError(f"couplings must be at most 20, beyond which all spins agree (got {strong:g})")
        return self

    @property
    def title(self) -> str:
        return "Ising"

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        closed = torch.tensor(self.couplings, dtype=torch.float64).tanh()[labels][:, None]
        whole = closed**self.size
        u = torch.rand(len(labels), self.size + 2, dtype=torch.float64, generator=generator)
        sign, all_closed, bonds = u[:, :1] < 0.5, u[:, 1:2] < whole / (1 + whole), u[:, 2:]
        # Bond i stands before site i. An open bond draws a new sign, which differs from the last one half the time.
        opened = (bonds >= closed).logical_and_(~all_closed)
        flipped = (bonds >= (1 + closed) / 2).logical_and_(~all_closed)
        parity = flipped.cumsum(1, dtype=torch.int32).add_(sign).bitwise_and_(1)
        # Sites before the first open bond belong to the cluster that comes round the ring from the last site.
        early = opened.cumsum(1, dtype=torch.int32) == 0
        return 1 - 2 * torch.where(early, parity[:, -1:], parity).to(torch.float64)

    def covariance(self, label: int) -> Tensor:
        """E[xᵢxⱼ] = (aᵈ + aᴺ⁻ᵈ)/(1 + aᴺ), a = tanh J, d = |i−j|."""
        a = torch.tensor(self.couplings[label], dtype=torch.float64).tanh()
        distance = fields.measure_distances(self.size)
        return fields.wrap((a**distance + a ** (self.size - distance)) / (1 + a**self.size))

    def kurtosis(self) -> float:
        return 1.0

    def amplifier(self, a: Tensor) -> Tensor:
        return amplifier.hypercube(a)

    def cdf(self, x: Tensor) -> Tensor:
        return ((x >= -1).to(torch.float64) + (x >= 1)) / 2
