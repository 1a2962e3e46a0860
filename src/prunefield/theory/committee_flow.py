"""The gradient flow of a soft committee of ReLU units: Eq. 5 of lufkin2024 with a term for each pair of units.

For ŷ = (1/K) Σₖ max(0, wₖ·x) and y = 0, 1, −∇ₖL = (2/K) (E[y 1(uₖ>0) x] − (1/K) Σₗ E[1(uₖ>0) max(0, uₗ) x]), uₖ = wₖ·x.
The first term is ¼ φ(Σ₁wₖ/√(wₖᵀΣ₁wₖ)), as for one neuron. The others are moments over the orthant uₖ, uₗ > 0: of a
Gaussian with the covariance Σ, with cos θ = wₖᵀΣwₗ/(|wₖ||wₗ|) and |w|² = wᵀΣw, E[1(uₖ>0) max(0, uₗ) x] is
(|wₗ|/|wₖ| sin θ Σwₖ + (π − θ) Σwₗ)/2π, averaged over the classes. The flow is exact for Gaussian data, and otherwise
right as Eq. 5 is: early, and for many sites.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor


def project_orthants(w: Tensor, covariance: Tensor) -> Tensor:
    """Σₗ E[1(uₖ>0) max(0, uₗ) x] for Gaussian x, of committees w (…, K, N), shape (…, K, N).

    >>> w = torch.eye(2, dtype=torch.float64)[None]  # two independent units: ½wₖ + (1/2π)wₖ + ¼wₗ
    >>> project_orthants(w, w[0]).round(decimals=4).tolist()
    [[[0.6592, 0.25], [0.25, 0.6592]]]
    """
    pull = w @ covariance
    products = pull @ w.mT
    norms = products.diagonal(dim1=-2, dim2=-1).sqrt()
    cosines = (products / norms[..., None] / norms[..., None, :]).clamp(-1, 1)
    angles = torch.acos(cosines)
    angles.diagonal(dim1=-2, dim2=-1).zero_()  # of a unit with itself, whatever the rounding
    own = ((1 - cosines.square()).sqrt() * norms[..., None, :]).sum(-1) / norms
    return (own[..., None] * pull + (math.pi - angles) @ pull) / (2 * math.pi)


def compute_committee_velocity(
    w: Tensor, short: Tensor, long: Tensor, amplifier: Callable[[Tensor], Tensor], *, together: bool = True
) -> Tensor:
    """ẇ of committees w (…, K, N) under Σ₀ = `short` and Σ₁ = `long`; if not `together`, each unit acts as if alone.

    A unit alone has the output max(0, wₖ·x), and its velocity is that of Eq. 5.
    """
    pull = w @ long
    drive = amplifier(pull / (w * pull).sum(-1, keepdim=True).sqrt())
    if not together:
        return (drive - w @ short - pull) / 2
    units = w.shape[-2]
    return (drive / 2 - (project_orthants(w, short) + project_orthants(w, long)) / units) / units
