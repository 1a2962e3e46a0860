"""The error of sketched masks averaged over Gaussian inputs, and its bounds: bar2023, Theorem 4.4 and Lemma 4.5.

The mask comes from Algorithm 1 with p0 of Eq. 2, made from the initial weights w0 and the inputs X ~ N(0, I)/√n of
shape (d, n); it is applied to the trained weights w⋆ = w0 + Δ. Weights have shape (…, d), results (…); s is the
number of draws. All computations are in double precision.
"""

from math import exp, inf, lgamma

import torch
from torch import Tensor


def norm_constant(n: int) -> float:
    """c_n = (E‖X_(k)‖)² = (2/n)·[Γ((n+1)/2)/Γ(n/2)]² (proof of Theorem 4.4): 2/π at n = 1, rising to 1.

    >>> round(norm_constant(1), 5), round(norm_constant(128), 6), norm_constant(10**12) <= 1
    (0.63662, 0.996101, True)
    """
    if n > 10**5:  # the difference of two large lgammas loses more digits than the series
        return 1 - 1 / (2 * n) + 1 / (8 * n**2)
    return 2 / n * exp(2 * (lgamma((n + 1) / 2) - lgamma(n / 2)))


def fresh_constant(n: int) -> float:
    """E‖X̃_(j)‖·E‖X̃_(k)‖⁻¹ = Γ((n+1)/2)Γ((n−1)/2)/Γ(n/2)²: replaces c_n if the mask is made from inputs X̃ that are
    independent of X, a case that the proof of Theorem 4.4 does not cover; infinite at n = 1.

    >>> round(fresh_constant(2), 3), fresh_constant(1), fresh_constant(10**12) >= 1
    (1.571, inf, True)
    """
    return inf if n == 1 else norm_constant(n) * n / (n - 1)


def gaussian_error(w0: Tensor, w: Tensor, s: int, n: int, *, fresh: bool = False) -> Tensor:
    """E_{X,m}‖Xᵀw⋆ − Xᵀ(w⋆⊙m)‖² = (c_n/s)·(‖w0‖₁ Σ_k w⋆_k²/|w0_k| − ‖w⋆‖²), the exact left side of Theorem 4.4.

    Where w0_k = 0 the weight is never kept and adds w⋆_k². With `fresh` the mask's inputs are independent of X.

    >>> w0, w = torch.tensor([1.0, 0.01], dtype=torch.float64), torch.ones(2)
    >>> round(gaussian_error(w0, w, 1, 1).item(), 2), round(gaussian_error(w0, w, 1, 8).item(), 2)
    (63.67, 93.97)
    """
    w0, w = w0.double().abs(), w.double()
    reached = w0 > 0
    inside = torch.where(reached, w, 0).square()
    spread = w0.sum(-1) * (inside / torch.where(reached, w0, 1)).sum(-1) - inside.sum(-1)
    constant = fresh_constant(n) if fresh else norm_constant(n)
    # For d = 1 the spread is zero, even if the constant is infinite.
    lost = torch.where(reached, 0, w).square().sum(-1)
    return lost + torch.where(spread > 0, constant * spread, spread) / s


def fixed_error(w: Tensor, p: Tensor, s: int) -> Tensor:
    """The exact error for probabilities p > 0 that do not depend on X: (1/s)·(Σ_k w⋆_k²/p_k − ‖w⋆‖²).

    >>> fixed_error(torch.tensor([3.0, 4.0]), torch.tensor([0.5, 0.5]), 5).item()
    5.0
    """
    squares = w.double().square()
    return ((squares / p.double()).sum(-1) - squares.sum(-1)) / s


def uniform_error(w: Tensor, s: int) -> Tensor:
    """The exact error of the uniform mask of Lemma 4.5, ((d − 1)/s)·‖w⋆‖².

    >>> uniform_error(torch.tensor([3.0, 4.0]), 5).item()
    5.0
    """
    return (w.shape[-1] - 1) / s * w.double().square().sum(-1)


def uniform_bound(w: Tensor, s: int) -> Tensor:
    """Lemma 4.5 as printed, which holds: (d/s)·‖w⋆‖².

    >>> uniform_bound(torch.tensor([3.0, 4.0]), 5).item()
    10.0
    """
    return w.shape[-1] / s * w.double().square().sum(-1)


def printed_bound(w0: Tensor, w: Tensor, s: int) -> Tensor:
    """Theorem 4.4 as printed: (1/s)·‖w0‖₁·(‖Δ‖²/‖w0‖_∞ + 2‖Δ‖₁ + ‖w0‖₁). It is false (see `minimum_bound`).

    >>> w0, w = torch.tensor([1.0, 0.01], dtype=torch.float64), torch.ones(2)
    >>> round(printed_bound(w0, w, 1).item(), 3)
    4.01
    """
    return _compute_bound(w0, w, s, lambda delta, size: delta.square().sum(-1) / size.amax(-1))


def minimum_bound(w0: Tensor, w: Tensor, s: int) -> Tensor:
    """Theorem 4.4 with the printed maximum ‖w0‖_∞ replaced by the minimum min_k|w0_k|; then it holds.

    The proof bounds Σ_k Δ_k²/|w0_k|, which is at least ‖Δ‖²/‖w0‖_∞ and at most ‖Δ‖²/min_k|w0_k|.

    >>> w0, w = torch.tensor([1.0, 0.01], dtype=torch.float64), torch.ones(2)
    >>> round(minimum_bound(w0, w, 1).item(), 2)
    102.01
    """
    return _compute_bound(w0, w, s, lambda delta, size: _divide_safely(delta.square().sum(-1), size.amin(-1)))


def sum_bound(w0: Tensor, w: Tensor, s: int, n: int) -> Tensor:
    """The sharper corrected bound, (c_n/s)·‖w0‖₁·(Σ_k Δ_k²/|w0_k| + 2‖Δ‖₁ + ‖w0‖₁).

    >>> w0, w = torch.tensor([1.0, 0.01], dtype=torch.float64), torch.ones(2)
    >>> round(sum_bound(w0, w, 1, 8).item(), 2)
    95.84
    """
    return norm_constant(n) * _compute_bound(w0, w, s, lambda delta, size: _divide_safely(delta.square(), size).sum(-1))


def mixture_bound(w0: Tensor, w: Tensor, s: int, n: int, alpha: float) -> Tensor:
    """The bound that the defensive mixture (1 − α)·p0 + α/d guarantees on both sides, for 0 < α < 1:
    (1/s)·min[(s·E_p0 + ‖w⋆‖²)/(1 − α), (d/α)·‖w⋆‖²] − ‖w⋆‖²/s, with E_p0 the error of p0; not in the paper. Where
    p0 never keeps a weight that is not zero, only the second side holds.

    >>> w0, w = torch.tensor([1.0, 0.01], dtype=torch.float64), torch.ones(2)
    >>> round(mixture_bound(w0, w, 1, 8, 0.5).item(), 2)
    6.0
    """
    power = w.double().square().sum(-1)
    unreached = ((w0 == 0) & (w != 0)).any(-1)
    moment = torch.where(unreached, inf, s * gaussian_error(w0, w, s, n) + power)
    return (torch.minimum(moment / (1 - alpha), w.shape[-1] / alpha * power) - power) / s


def _compute_bound(w0: Tensor, w: Tensor, s: int, first) -> Tensor:
    size, delta = w0.double().abs(), w.double() - w0.double()
    total = size.sum(-1)
    return total / s * (first(delta, size) + 2 * delta.abs().sum(-1) + total)


def _divide_safely(above: Tensor, below: Tensor) -> Tensor:
    """above / below, with 0/0 = 0: a weight that is zero before and after training costs nothing."""
    return torch.where(above > 0, above / below, 0)
