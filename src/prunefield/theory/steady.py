"""Steady states of the flow (lufkin2024, Eq. 8, the limit of Eq. 5 for many sites) by a fixed-point search.

Eq. 8 is printed as φ(Σ₁w/√(wᵀΣ₁w)) = ½(Σ₀ + Σ₁)w; Eq. 5 has no ½ there, and neither has this. On a ring both
convolutions are products in Fourier space, so that a step costs N log N and N may be large.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from prunefield.errors import RunError
from prunefield.theory.fields import transform


class Steady(NamedTuple):
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
) -> Steady:
    """The stable steady state that is reached from `start`, shape (…, N), with the first rows of Σ₀ and Σ₁, (N,).

    Each step solves (1 + ½(Σ₀ + Σ₁))w′ = w + ½φ(Σ₁w/√(wᵀΣ₁w)): the linear part is implicit, so that long steps are
    stable, and a point that does not move solves φ(…) = (Σ₀ + Σ₁)w exactly.

    >>> from prunefield.theory import amplifier, fields
    >>> short, long = (fields.correlate(40, xi) for xi in (1.0, 3.0))
    >>> site = torch.arange(40, dtype=torch.float64)
    >>> found = find_steady(0.01 + 1e-3 * torch.cos(site), short, long, amplifier.gaussian)
    >>> found.weights.round(decimals=4).unique().tolist()  # flat, as all elliptical data end
    [0.041]
    """
    size = len(long)
    pull, drag = transform(long.to(torch.float64)), transform((short + long).to(torch.float64))
    w, residual = start.to(torch.float64), float("inf")
    for step in range(1, limit + 1):
        modes = torch.fft.rfft(w)
        pulled = torch.fft.irfft(pull * modes, n=size)
        drive = amplifier(pulled / (w * pulled).sum(-1, keepdim=True).sqrt())
        driven = torch.fft.rfft(drive)
        residual = float(torch.fft.irfft(driven - drag * modes, n=size).abs().max()) / 2
        if residual <= tolerance:
            return Steady(w, residual, step)
        w = torch.fft.irfft((modes + driven / 2) / (1 + drag / 2), n=size)
    raise RunError(f"no steady state within {limit} steps: |ẇ| is still {residual:.2g}")
