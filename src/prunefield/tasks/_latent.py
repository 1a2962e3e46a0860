"""The latent Gaussian field behind NLGP and Kur (lufkin2024, §2.3)."""

from functools import cache

import torch
from torch import Tensor

from prunefield.errors import UsageError
from prunefield.theory import fields


def check_lengthscales(size: int, lengthscales: tuple[float, float]) -> None:
    """Refuses lengthscales that are not 0 < ξ₀ < ξ₁, or too long for the ring."""
    short, long = lengthscales
    if not 0 < short < long:
        raise UsageError(f"lengthscales must be 0 < ξ0 < ξ1: class 1 is the longer one (got {short:g}, {long:g})")
    stack_roots(size, lengthscales)


@cache
def stack_roots(size: int, lengthscales: tuple[float, float]) -> Tensor:
    """The square roots of both covariances, shape (2, size, size)."""
    return torch.stack([fields.root(size, lengthscale) for lengthscale in lengthscales])
