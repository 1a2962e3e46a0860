"""Steady states of the flow (lufkin2024, Eq. 8, the limit of Eq. 5 for many sites) by a fixed-point search.

Eq. 8 is printed as φ(Σ₁w/√(wᵀΣ₁w)) = ½(Σ₀ + Σ₁)w; Eq. 5 has no ½ there, and neither does this. As φ's argument does not
depend on the scale of w, solutions of the printed equation are exactly twice as large. On a ring both convolutions are
products in Fourier space, so a step costs N log N and N may be large.

The limit: let lengthscales grow as ξ = ℓN, so that Σ(i, j) = σ((i − j)/N), and write w = u/N. Then Σw → σ⋆u and
wᵀΣw → ⟨σ⋆u, u⟩, all powers of N cancel, and u solves φ(σ₁⋆u/√⟨σ₁⋆u, u⟩) = (σ₀ + σ₁)⋆u on [0, 1]. Spins confirm it
(exp(−d/ξ) has a spectrum that falls as k⁻²): N·w converges as N⁻², from 40 to 1280 sites. It cannot hold for the
covariance exp(−d²/ξ²): û = φ̂/(σ̂₀ + σ̂₁) divides by a spectrum that falls as exp(−(πℓk)²), faster than that of φ(…),
unless φ is linear or the field is flat, so no bump has a limit. With ξ fixed in sites there is no such limit either.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from prunefield.core.errors import RunError
from prunefield.theory.fields import find_eigenvalues


class SteadyState(NamedTuple):
    """A field at which the flow stands still, shape (…, N); `residual` is the largest |ẇ| left."""

    weights: Tensor
    residual: float
    steps: int


def find_steady(
    start: Tensor,
    short: Tensor,
    long: Tensor,
    amplifier: Callable[[Tensor], Tensor],
    *,
    tolerance: float = 1e-10,
    limit: int = 100_000,
) -> SteadyState:
    """The stable steady state reached from `start`, shape (…, N), given the first rows of Σ₀ and Σ₁, (N,).

    Each step solves (1 + ½(Σ₀ + Σ₁))w′ = w + ½φ(Σ₁w/√(wᵀΣ₁w)): the linear part is implicit, so long steps are
    stable, and a fixed point solves φ(…) = (Σ₀ + Σ₁)w exactly.

    >>> from prunefield.theory import amplifier, fields
    >>> short, long = (fields.correlate_sites(40, xi) for xi in (1.0, 3.0))
    >>> site = torch.arange(40, dtype=torch.float64)
    >>> found = find_steady(0.01 + 1e-3 * torch.cos(site), short, long, amplifier.amplify_gaussian)
    >>> found.weights.round(decimals=4).unique().tolist()  # flat, as all elliptical data end
    [0.041]
    """
    size = len(long)
    pull, drag = find_eigenvalues(long.to(torch.float64)), find_eigenvalues((short + long).to(torch.float64))
    w, residual = start.to(torch.float64), float("inf")
    for step in range(1, limit + 1):
        modes = torch.fft.rfft(w)
        pulled = torch.fft.irfft(pull * modes, n=size)
        drive = amplifier(pulled / (w * pulled).sum(-1, keepdim=True).sqrt())
        driven = torch.fft.rfft(drive)
        residual = float(torch.fft.irfft(driven - drag * modes, n=size).abs().max()) / 2
        if residual <= tolerance:
            return SteadyState(w, residual, step)
        w = torch.fft.irfft((modes + driven / 2) / (1 + drag / 2), n=size)
    raise RunError(f"no steady state within {limit} steps: |ẇ| is still {residual:.2g}")
