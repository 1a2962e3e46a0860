"""The amplifier φ of lufkin2024 (Eq. 6): the marginal distribution of a pixel decides through it whether a field
localises.

φ(a) = E[X erf(X alg⁻¹(a)/√2)], alg⁻¹(a) = a/√(1−a²), for −1 ≤ a ≤ 1. If φ lies above the line √(2/π)·a, fields
localise; below it they flatten. All functions here act element by element on tensors of any shape.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.theory.quadrature import half_normal

SLOPE = math.sqrt(2 / math.pi)


def invert_alg(a: Tensor) -> Tensor:
    """alg⁻¹(a) = a/√(1−a²), infinite at ±1; values that rounding has put outside [−1, 1] are clamped.

    >>> invert_alg(torch.tensor([0.0, 0.6, 1.0], dtype=torch.float64)).round(decimals=12).tolist()
    [0.0, 0.75, inf]
    """
    inside = a.clamp(-1.0, 1.0)
    return inside / ((1 - inside) * (1 + inside)).sqrt()


def amplify_hypercube(a: Tensor) -> Tensor:
    """φ for pixels that are ±1, as in the Ising model: erf(alg⁻¹(a)/√2).

    >>> amplify_hypercube(torch.tensor([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return torch.erf(invert_alg(a) / math.sqrt(2))


def amplify_gaussian(a: Tensor, variance: float = 1.0) -> Tensor:
    """φ for normal pixels: σ²√(2/π) b/√(1+σ²b²) with b = alg⁻¹(a); at σ = 1 the line √(2/π)·a."""
    inside = a.clamp(-1.0, 1.0)
    return variance * SLOPE * inside / (1 + (variance - 1) * inside.square()).sqrt()


def integrate_amplifier(a: Tensor, shape: Callable[[Tensor], Tensor]) -> Tensor:
    """φ for pixels X = f(Z) with an odd increasing f and a standard normal Z, by quadrature to about 1e-12.

    >>> a = torch.tensor([0.3, -0.9], dtype=torch.float64)
    >>> torch.allclose(integrate_amplifier(a, lambda z: z), amplify_gaussian(a), rtol=0, atol=1e-12)
    True
    """
    b = invert_alg(a)
    # At a = ±1 the argument is infinite and every node's value is positive, so erf is ±1, as it should be.
    steepest = float(b.abs().nan_to_num_(posinf=1.0).max()) if b.numel() else 1.0
    values, weights = _place_nodes(shape, max(0, math.ceil(math.log2(max(steepest, 1.0)))))
    return torch.erf(b[..., None] * values) @ weights


@lru_cache(maxsize=64)
def _place_nodes(shape: Callable[[Tensor], Tensor], depth: int) -> tuple[Tensor, Tensor]:
    """Values f(z)/√2 and weights f(z)·p(z) at nodes fine enough for erf(b f(z)), which bends at z = 1/(b f′(0))."""
    slope = 1e9 * float(shape(torch.tensor(1e-9, dtype=torch.float64)))
    nodes, weights = half_normal(min(40, 1 + depth + math.ceil(math.log2(max(1.0, slope)))))
    values = shape(nodes)
    weights = weights * values
    heavy = weights > 1e-18
    return values[heavy] / math.sqrt(2), weights[heavy]


def differentiate_amplifier(kurtosis: float, variance: float = 1.0) -> tuple[float, float]:
    """φ′(0) = √(2/π)σ² and φ‴(0) = −√(2/π)(κσ⁴ − 3σ²) (Lemma B.1), κ = m₄/σ⁴; the even derivatives are 0.

    >>> [round(value, 4) for value in differentiate_amplifier(kurtosis=1.0)]  # hypercube: super-linear
    [0.7979, 1.5958]
    """
    return SLOPE * variance, -SLOPE * (kurtosis * variance**2 - 3 * variance)


def expand_amplifier(a: Tensor, kurtosis: float, variance: float = 1.0) -> Tensor:
    """The third-order expansion φ′(0)a + φ‴(0)a³/6 (Lemma B.1), κ = m₄/σ⁴.

    >>> round(float(expand_amplifier(torch.tensor(0.5, dtype=torch.float64), kurtosis=1.0)), 6)
    0.432187
    """
    if not math.isfinite(kurtosis):
        raise UsageError("the cubic of the amplifier needs a finite kurtosis; use the exact amplifier")
    first, third = differentiate_amplifier(kurtosis, variance)
    return first * a + third / 6 * a**3
