"""The marginal law of elliptical data X = R·u, u uniform on the sphere of `sites` dimensions (lufkin2024, Def. 1).

A radial law is a pair of tensors, radii and their weights: the nodes of a quadrature, or all radii of a discrete law.
All functions of `x` or `a` act element by element on tensors of any shape, in float64.
"""

import math
from functools import cache

import numpy as np
import torch
from torch import Tensor

from prunefield.theory.amplifier import SLOPE, invert_alg
from prunefield.theory.quadrature import place_nodes

Law = tuple[Tensor, Tensor]


@cache
def integrate_extreme() -> Law:
    """The radii R = 2 + artanh U, U uniform: the density sech²(r − 2) for r ≥ 2, as printed in lufkin2024, §4.3.

    >>> radii, weights = integrate_extreme()
    >>> round(float(weights @ radii) - 2, 12) == round(math.log(2), 12)
    True
    """
    beyond, weights = place_nodes(np.array([0, 1, 2, 4, 6, 9, 13, 20]), 12)
    return 2 + beyond, weights / beyond.cosh().square()


def normalise_law(law: Law, sites: int) -> Law:
    """The law rescaled to E R² = `sites`, so that every coordinate of R·u has unit variance."""
    radii, weights = law
    return radii * (sites / (weights @ radii.square())).sqrt(), weights


def measure_kurtosis(law: Law, sites: int) -> float:
    """κ = 3N/(N+2) · E R⁴/(E R²)² of a coordinate.

    >>> measure_kurtosis((torch.ones(1), torch.ones(1)), 40)  # a shell: 120/42
    2.857142857142857
    """
    radii, weights = law
    return 3 * sites / (sites + 2) * float((weights @ radii**4) / (weights @ radii.square()).square())


def compute_cdf(x: Tensor, law: Law, sites: int) -> Tensor:
    """P(R·u₁ ≤ x), from the square of u₁, which is distributed as Beta(1/2, (N−1)/2); R may be 0.

    >>> compute_cdf(torch.tensor([0.0, 2.0]), (torch.ones(1), torch.ones(1)), 40).tolist()
    [0.5, 1.0]
    """
    from scipy.special import betainc

    radii, weights = law
    share = (x[..., None] / radii).square().clamp(max=1.0).nan_to_num()  # 0/0 does not count, as the sign of x is 0
    inside = torch.from_numpy(np.asarray(betainc(0.5, (sites - 1) / 2, share.numpy()))) @ weights
    return (1 + inside * x.sign() + (x == 0) * weights[radii == 0].sum()) / 2


def compute_density(x: Tensor, law: Law, sites: int) -> Tensor:
    """The density of R·u₁ at x, E[(1 − x²/R²)^((N−3)/2)/R] · Γ(N/2)/(√π Γ((N−1)/2)), over the radii R > |x|.

    >>> compute_density(torch.tensor([0.0, 0.5, 2.0]), (torch.ones(1), torch.ones(1)), 3).tolist()  # a sphere: uniform
    [0.5, 0.5, 0.0]
    """
    radii, weights = law
    rest = 1 - (x[..., None] / radii).square()
    inside = torch.where(rest > 0, rest.clamp(min=0) ** ((sites - 3) / 2) / radii, 0.0)
    return math.exp(math.lgamma(sites / 2) - math.lgamma((sites - 1) / 2)) / math.sqrt(math.pi) * (inside @ weights)


def amplify_radial(a: Tensor, law: Law, sites: int) -> Tensor:
    """φ(a) = E[X erf(X b/√2)] for X = R·u₁, b = alg⁻¹(a): E[R² b √(2/π)/N · M(1/2, N/2+1, −R²b²/2)].

    M is Kummer's function; its series is that of erf integrated over the sphere term by term.
    """
    from scipy.special import hyp1f1

    radii, weights = law
    b = invert_alg(a)
    steep = radii * b[..., None].nan_to_num(posinf=0.0, neginf=0.0)
    series = hyp1f1(0.5, sites / 2 + 1, -(steep.numpy() ** 2) / 2)
    inside = SLOPE / sites * (radii * steep * torch.from_numpy(np.asarray(series))) @ weights
    return torch.where(b.isinf(), b.sign() * float(weights @ radii) * average_coordinate(sites), inside)


def average_coordinate(sites: int) -> float:
    """E|u₁| = Γ(N/2)/(√π Γ((N+1)/2)) on the unit sphere of N dimensions.

    >>> round(average_coordinate(3), 12)
    0.5
    """
    return math.exp(math.lgamma(sites / 2) - math.lgamma((sites + 1) / 2)) / math.sqrt(math.pi)


def amplify_student(a: Tensor, nu: float) -> Tensor:
    """φ(a) of Student's t with ν degrees of freedom and unit variance: a mixture of normal laws of variance s².

    φ(a) = E[√(2/π) s² a/√(1 + (s²−1)a²)], s² = (ν−2)/χ²; at a = 1 it is E|X|, 2/π for ν = 3.

    >>> round(float(amplify_student(torch.tensor(1.0, dtype=torch.float64), 3.0)) * math.pi, 9)
    2.0
    """
    variances, weights = _mix_variances(nu)
    inside = a.clamp(-1.0, 1.0)[..., None]
    return SLOPE * (variances * inside / (1 + (variances - 1) * inside.square()).sqrt()) @ weights


@cache
def _mix_variances(nu: float) -> Law:
    """The variances (ν−2)/χ² and weights: the trapezium rule in log χ², which is exact up to rounding."""
    # The contribution of a variance s² > 1/a² falls as χ^(ν−1) towards χ = 0; this range suffices for all a above 1e-8.
    low, high = math.log(nu) - 80 / (nu - 1) - 40, math.log(nu + 40 * math.sqrt(nu) + 100)
    log = torch.arange(low, high, 0.2 / math.sqrt(nu), dtype=torch.float64)
    weights = torch.exp((nu / 2) * (log - math.log(nu)) - (log.exp() - nu) / 2)
    return (nu - 2) * torch.exp(-log), weights / weights.sum()
