"""Assumptions A1 and A2 of lufkin2024 (§3.1): the mean and the variance of a pixel, given the value of another.

A1 says that E[Y | X = x] = r x, r their correlation; A2 that Var[Y | X = x] does not depend on x.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from prunefield.theory.quadrature import half_normal


class Gaps(NamedTuple):
    """How far a pair of pixels is from A1 and A2; both are 0 if it satisfies them.

    `mean` is the share of the variance of E[Y | X] that r X does not have, `variance` the standard deviation of
    Var[Y | X] over its mean.
    """

    mean: float
    variance: float


def measure_copula_gaps(shape: Callable[[Tensor], Tensor], correlation: float) -> Gaps:
    """For X = f(Z₁) and Y = f(Z₂) with an odd increasing f and standard normal Z of this correlation, by quadrature.

    >>> max(map(abs, measure_copula_gaps(lambda z: z, 0.5))) < 1e-9
    True
    """
    nodes, weights = half_normal()  # fine enough for an f that is steep at 0
    z, weight = torch.cat([-nodes, nodes]), torch.cat([weights, weights]) / 2
    rest = 1 - correlation**2
    given = weight * torch.exp(z.square() / 2 - (z - correlation * z[:, None]).square() / (2 * rest)) / rest**0.5
    given /= given.sum(1, keepdim=True)
    x = shape(z)
    means, squares = given @ x, given @ x.square()
    return _find_gaps(x, means, squares - means.square(), weight)


def measure_spin_gaps(couplings: float, size: int, distance: int) -> Gaps:
    """For two spins of an Ising ring at a distance, by enumerating all 2ᴺ states.

    >>> max(measure_spin_gaps(0.7, 8, 2)) < 1e-12
    True
    """
    states = torch.tensor(list(product((-1.0, 1.0), repeat=size)), dtype=torch.float64)
    chances = torch.exp(couplings * (states * states.roll(1, 1)).sum(1))
    chances /= chances.sum()
    values = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    parts = [states[:, 0] == value for value in values]
    weight = torch.stack([chances[part].sum() for part in parts])
    means = torch.stack([(chances * states[:, distance])[part].sum() for part in parts]) / weight
    return _find_gaps(values, means, 1 - means.square(), weight)


def _find_gaps(x: Tensor, means: Tensor, variances: Tensor, weight: Tensor) -> Gaps:
    linear = (weight * x * means).sum().square() / (weight * x.square()).sum()
    middle = (weight * variances).sum()
    spread = (weight * (variances - middle).square()).sum().sqrt()
    return Gaps(float(1 - linear / (weight * means.square()).sum()), float(spread / middle))
