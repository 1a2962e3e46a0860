"""Lemmas 4.1, 4.2, 4.3, 4.5, B.1 and B.2 of bar2023: the printed and the exact statements.

Inputs X have shape (…, d, n), weights w and probabilities p (…, d), s is the number of draws of Algorithm 1. All
computations are in double precision. The exact errors themselves are in `sketching` (given X) and `sketch_bounds`
(Gaussian X).
"""

from itertools import combinations

import torch
from torch import Tensor

from prunefield.theory.sketching import enumerate_masks


def optimal_error(x: Tensor, w: Tensor, s: int) -> Tensor:
    """Lemma 4.1 corrected: E_m‖Xᵀw − Xᵀ(w⊙m)‖² = (1/s)·[(Σ_k ‖X_(k)‖|w_k|)² − ‖Xᵀw‖²] for m from w and X by Eq. 2.

    >>> optimal_error(torch.ones(2, 1), torch.tensor([2.0, 2.0]), 1).item()
    0.0
    """
    return (_sum_importances(x, w).square() - _compute_features(x, w).square().sum(-1)) / s


def unsquared_error(x: Tensor, w: Tensor, s: int) -> Tensor:
    """Lemma 4.1 as printed: (1/s)·(Σ_k ‖X_(k)‖|w_k|)² − (1/s)·‖Xᵀw‖. It is false: the last norm is not squared.

    >>> [round(unsquared_error(torch.ones(2, 1), torch.full((2,), w), 1).item(), 6) for w in (2.0, 0.1)]
    [12.0, -0.16]
    """
    return (_sum_importances(x, w).square() - _compute_features(x, w).norm(dim=-1)) / s


def start_bound(w: Tensor, s: int) -> Tensor:
    """Lemma 4.2 as printed: (1/s)·‖w0‖². It is false: its proof assumes (Σ a_k)² ≤ Σ a_k².

    >>> start_bound(torch.ones(3), 1).item()
    3.0
    """
    return w.double().square().sum(-1) / s


def start_bound_corrected(w: Tensor, s: int) -> Tensor:
    """Lemma 4.2 corrected: (1/s)·(‖w0‖₁² − ‖w0‖²), which the factor c_n < 1 makes exact.

    >>> start_bound_corrected(torch.ones(3), 1).item()
    6.0
    """
    return (w.double().abs().sum(-1).square() - w.double().square().sum(-1)) / s


def cross_bound(x: Tensor, w: Tensor, p: Tensor, s: int) -> Tensor:
    """Lemma 4.3 as printed, which holds: (1/s)·Σ_k ‖X_(k)‖²w_k²/p_k; infinite if p_k = 0 for a weight that matters.

    >>> cross_bound(torch.eye(2), torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.5]), 2).item()
    5.0
    """
    power = x.double().square().sum(-1) * w.double().square()
    return torch.where(power > 0, power / p.double(), 0).sum(-1) / s


def feature_moments(x: Tensor, w: Tensor, p: Tensor, s: int) -> tuple[Tensor, Tensor]:
    """Mean (Xᵀw)_i and variance (1/s)·[Σ_k X_ki²w_k²/p_k − (Xᵀw)_i²] of the features Xᵀ(w⊙m): Lemmas B.1 and B.2.

    Both of shape (…, n). A weight with p_k = 0 is never kept, and the sums run over the others only.

    >>> mean, variance = feature_moments(torch.eye(2), torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.5]), 1)
    >>> mean.tolist(), variance.tolist()
    ([1.0, 2.0], [1.0, 4.0])
    """
    x, w, p = x.double(), w.double(), p.double()
    inside = torch.where(p > 0, w, 0)
    second = torch.matmul((inside.square() / torch.where(p > 0, p, 1)).unsqueeze(-2), x.square()).squeeze(-2)
    mean = _compute_features(x, inside)
    return mean, (second - mean.square()) / s


def mask_covariance(p: Tensor, s: int) -> Tensor:
    """Cov m = (1/s)·(diag(1/p) − 1·1ᵀ) for p > 0, of shape (…, d, d): Lemma B.2 for X = I, including off-diagonal
    entries.

    >>> mask_covariance(torch.tensor([0.5, 0.5]), 1).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    return (torch.diag_embed(1 / p.double()) - 1) / s


def mean_kept(p: Tensor, s: int) -> Tensor:
    """E‖m‖₀ = Σ_k [1 − (1 − p_k)ˢ] ≤ s: the average number of weights that Algorithm 1 keeps.

    >>> mean_kept(torch.tensor([0.5, 0.5]), 2).item()
    1.5
    """
    return (1 - (1 - p.double()).pow(s)).sum(-1)


def subset_error(w: Tensor, s: int, *, rescaled: bool) -> Tensor:
    """The error of s ≤ d weights chosen uniformly without replacement, for Gaussian X, as in Lemma 4.5.

    Kept weights times d/s (`rescaled`): ((d − s)/s)·‖w‖²; kept as they are: (1 − s/d)·‖w‖².

    >>> [subset_error(torch.ones(4), 1, rescaled=rescaled).item() for rescaled in (True, False)]
    [12.0, 3.0]
    """
    d = w.shape[-1]
    return ((d - s) / s if rescaled else 1 - s / d) * w.double().square().sum(-1)


def enumerate_subsets(w: Tensor, s: int, *, rescaled: bool) -> Tensor:
    """`subset_error` from its definition: the mean of ‖w − w⊙m‖² over all subsets. An oracle for small d.

    >>> enumerate_subsets(torch.ones(4), 1, rescaled=True).item()
    12.0
    """
    d = w.shape[-1]
    masks = torch.zeros(0, d, dtype=torch.float64)
    for chosen in combinations(range(d), s):
        masks = torch.cat([masks, torch.zeros(1, d, dtype=torch.float64).index_fill_(1, torch.tensor(chosen), 1)])
    masks = masks * (d / s if rescaled else 1)
    return (w.double().unsqueeze(-2) * (1 - masks)).square().sum(-1).mean(-1)


def enumerate_moments(x: Tensor, w: Tensor, p: Tensor, s: int) -> dict[str, Tensor]:
    """The moments in Section 3 and Lemmas B.1 and B.2, from all dˢ outcomes of Algorithm 1.

    `mask` and `covariance` are the moments of m, `kept` the probability that each weight is kept, `most` the largest
    ‖m‖₀, `mean` and `variance` the moments of the features.

    >>> found = enumerate_moments(torch.eye(2), torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.5]), 1)
    >>> found["mask"].tolist(), found["most"].item(), found["variance"].tolist()
    ([1.0, 1.0], 1, [1.0, 4.0])
    """
    masks, chances = enumerate_masks(p, s)
    weight = chances.unsqueeze(-1)
    mask = (weight * masks).sum(-2)
    spread = masks - mask.unsqueeze(-2)
    features = torch.matmul(w.double().unsqueeze(-2) * masks, x.double())
    mean = (weight * features).sum(-2)
    possible = (masks != 0) & (weight > 0)
    return {
        "mask": mask,
        "covariance": torch.matmul((weight * spread).mT, spread),
        "kept": (weight * possible).sum(-2),
        "most": possible.sum(-1).amax(-1),
        "mean": mean,
        "variance": (weight * (features - mean.unsqueeze(-2)).square()).sum(-2),
    }


def _sum_importances(x: Tensor, w: Tensor) -> Tensor:
    return (x.double().norm(dim=-1) * w.double().abs()).sum(-1)


def _compute_features(x: Tensor, w: Tensor) -> Tensor:
    return torch.matmul(w.double().unsqueeze(-2), x.double()).squeeze(-2)
