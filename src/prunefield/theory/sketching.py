"""Pruning as sketching (bar2023, Sections 3 and 4) for given inputs: Algorithm 1 and its exact error.

Inputs X have shape (…, d, n): row X_(k) holds feature k of all n examples. Weights w and probabilities p have shape (…,
d), the features are Xᵀw, and s is the number of draws. Leading dimensions broadcast. All computations are in double
precision.
"""

import torch
from torch import Tensor

from prunefield.core.errors import UsageError


def optimal_probabilities(w: Tensor, x: Tensor | None = None) -> Tensor:
    """The optimal sampling probabilities p_i = ‖X_(i)‖|w_i| / Σ_j ‖X_(j)‖|w_j| (Eq. 2); without `x`, norms are equal.

    >>> optimal_probabilities(torch.tensor([3.0, -1.0])).tolist()
    [0.75, 0.25]
    """
    importance = w.double().abs() if x is None else w.double().abs() * x.double().norm(dim=-1)
    total = importance.sum(-1, keepdim=True)
    if not (total > 0).all():
        raise UsageError("Eq. 2 defines no probabilities: every ‖X_(i)‖·|w_i| is zero")
    return importance / total


def mix_uniform(p: Tensor, alpha: float) -> Tensor:
    """The defensive mixture (1 − α)·p + α/d, which gives every weight a positive probability; not in the paper.

    >>> mix_uniform(torch.tensor([1.0, 0.0]), 0.5).tolist()
    [0.75, 0.25]
    """
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha is the uniform share of the mixture, between 0 and 1 (got {alpha})")
    return (1 - alpha) * p.double() + alpha / p.shape[-1]


def draw_mask(p: Tensor, s: int, *, generator: torch.Generator, draws: tuple[int, ...] = ()) -> Tensor:
    """Algorithm 1: s times, draw i ~ p with replacement and add 1/(s·p_i) to m_i. E m = 1, and at most s are non-zero.

    The shape is `draws` + (…, d).

    >>> draw_mask(torch.tensor([0.5, 0.5]), 1, generator=torch.Generator()).sum().item()
    2.0
    """
    p = _check_sum(p.double()).expand(*draws, *p.shape)
    ends = p.cumsum(-1).contiguous()
    # Scaled by the last end and not by 1: the sum of p may differ from 1 by rounding.
    places = torch.rand(*p.shape[:-1], s, dtype=torch.float64, generator=generator) * ends[..., -1:]
    picks = torch.searchsorted(ends, places, right=True).clamp(max=p.shape[-1] - 1)
    return torch.zeros_like(ends).scatter_add_(-1, picks, 1 / (s * p.gather(-1, picks)))


def expected_error(x: Tensor, w: Tensor, p: Tensor, s: int) -> Tensor:
    """E_m‖Xᵀw − Xᵀ(w⊙m)‖² for the masks of Algorithm 1, exactly, for any p.

    (1/s)·[Σ_k ‖X_(k)‖²w_k²/p_k − ‖Xᵀw‖²] (Lemma 4.3 before its last step; Lemma 4.1 with the square missing in
    print). Weights with p_k = 0 are never kept: they add their squared features, whatever s is.

    >>> x, w = torch.eye(2), torch.tensor([1.0, 1.0])
    >>> expected_error(x, w, torch.tensor([1.0, 0.0]), 5).item()
    1.0
    """
    x, w, p = x.double(), w.double(), _check_sum(p.double())
    reached = p > 0
    inside = torch.where(reached, w, 0)
    second = (x.square().sum(-1) * inside.square() / torch.where(reached, p, 1)).sum(-1)
    return _square_features(x, w - inside) + (second - _square_features(x, inside)) / s


def enumerate_error(x: Tensor, w: Tensor, p: Tensor, s: int) -> Tensor:
    """`expected_error` from its definition: the sum over all dˢ sequences of draws. An oracle for small d and s.

    >>> x, w, p = torch.eye(2), torch.tensor([1.0, 2.0]), torch.tensor([0.25, 0.75])
    >>> round(enumerate_error(x, w, p, 3).item(), 12), round(expected_error(x, w, p, 3).item(), 12)
    (1.444444444444, 1.444444444444)
    """
    x, w, p = x.double(), w.double(), p.double()
    masks, chances = enumerate_masks(p, s)
    return (chances * _square_features(x.unsqueeze(-3), w.unsqueeze(-2) * (1 - masks))).sum(-1)


def enumerate_masks(p: Tensor, s: int) -> tuple[Tensor, Tensor]:
    """All dˢ outcomes of Algorithm 1: masks of shape (…, dˢ, d) and their probabilities of shape (…, dˢ).

    >>> masks, chances = enumerate_masks(torch.tensor([0.5, 0.5]), 1)
    >>> masks.tolist(), chances.tolist()
    ([[2.0, 0.0], [0.0, 2.0]], [0.5, 0.5])
    """
    d, p = p.shape[-1], p.double()
    picks = torch.cartesian_prod(*[torch.arange(d)] * s).reshape(-1, s)
    counts = torch.nn.functional.one_hot(picks, d).sum(1)
    # A sequence with an impossible draw has probability zero; its mask only has to be finite.
    masks = counts / (s * torch.where(p > 0, p, 1)).unsqueeze(-2)
    return masks, p[..., picks].prod(-1)


def _square_features(x: Tensor, w: Tensor) -> Tensor:
    """‖Xᵀw‖²."""
    return torch.matmul(w.unsqueeze(-2), x).squeeze(-2).square().sum(-1)


def _check_sum(p: Tensor) -> Tensor:
    """Probabilities, if they are some."""
    if not ((p.sum(-1) - 1).abs() < 1e-6).all() or (p < 0).any():
        raise UsageError("p must be probabilities: not negative, with the sum 1 over the last dimension")
    return p
