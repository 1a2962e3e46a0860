"""Covariances of fields made from a Gaussian field by an odd function, site by site."""

from collections.abc import Callable

import torch
from torch import Tensor

from prunefield.theory.quadrature import long_half_normal

DEGREE = 401


def correlate_transformed(shape: Callable[[Tensor], Tensor], latent: Tensor) -> Tensor:
    """Cov[f(Z₁), f(Z₂)] for an odd f with E f² = 1 at the latent correlations `latent`, of the same shape.

    Mehler's expansion Σ cₙ² ρⁿ over the odd n, cₙ = E[f(Z) Heₙ(Z)]/√n!; at |ρ| = 1 the sum is E f² = 1.
    The omitted degrees would add at most ρ⁴⁰³ times their share of the variance.

    >>> correlate_transformed(lambda z: z, torch.tensor([0.5, -0.25], dtype=torch.float64)).round(decimals=9).tolist()
    [0.5, -0.25]
    """
    powers = expand_hermite(shape).square()
    degrees = torch.arange(1, 2 * len(powers), 2, dtype=torch.float64)
    total = (powers * latent[..., None] ** degrees).sum(-1)
    return torch.where(latent.abs() == 1, latent, total)


def expand_hermite(shape: Callable[[Tensor], Tensor]) -> Tensor:
    """The coefficients cₙ = E[f(Z) Heₙ(Z)]/√n! of an odd f for n = 1, 3, …, DEGREE.

    >>> cubic = expand_hermite(lambda z: z**3 - 3 * z)
    >>> round(float(cubic[1] ** 2), 6)
    6.0
    """
    nodes, weights = long_half_normal()
    target = weights * shape(nodes)
    before, now = torch.ones_like(nodes), nodes
    found = [(target * now).sum()]
    for degree in range(1, DEGREE):
        before, now = now, (nodes * now - degree**0.5 * before) / (degree + 1) ** 0.5
        if degree % 2 == 0:
            found.append((target * now).sum())
    return torch.stack(found)
