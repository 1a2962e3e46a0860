"""Width of receptive fields: how far apart the inputs are that a mask keeps for a unit."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from prunefield.measures import width_kernels

STARTS = (2.0, 8.0)  # initial guesses of σ, in pixels; the better fit is taken
CHUNK = 32  # units whose transforms fit into the cache
EXACT = 1 << 16  # up to this number of inputs, float32 transforms err by much less than ½, which rounding corrects
NARROW, WIDE = 0.2, 10.0  # fits stay between σ = NARROW pixels and WIDE times the longer edge


class WidthFit(NamedTuple):
    """A Gaussian for each unit (NaN if it has none); `misfit` is the mean squared residual over all d ≠ 0."""

    amplitude: Tensor
    width_x: Tensor
    width_y: Tensor
    misfit: Tensor


def count_pairs(masks: Tensor) -> Tensor:
    """S_i(d), the number of ordered pairs of kept inputs in one channel at distance d (redman2025, eq. 1); S_i(0) = 0.

    S_i(d) = Σ_c Σ_z m_icz m_ic(z+d), not periodic. As printed, equation 1 pairs every input with itself at d = 0; that
    peak carries no information about locality and is left out. Masks (units, channels, height, width) give (units,
    2·height − 1, 2·width − 1) in float64, with d = 0 in the middle.

    >>> count_pairs(torch.ones(1, 3, 2, 2, dtype=torch.bool))[0].int().tolist()
    [[3, 6, 3], [6, 0, 6], [3, 6, 3]]
    """
    height, width = masks.shape[-2:]
    found = torch.empty(len(masks), 2 * height - 1, 2 * width - 1, dtype=torch.float64)
    for part, out in zip(masks.split(CHUNK), found.split(CHUNK), strict=True):
        _count_pairs(part, out)
    return found


def _count_pairs(masks: Tensor, out: Tensor) -> None:
    height, width = masks.shape[-2:]
    size = (2 * height, 2 * width)  # one more than needed: 2·height − 1 is often prime, which is slow
    exact = masks.shape[1:].numel() <= EXACT
    spectrum = torch.fft.rfft2(masks.to(torch.float32 if exact else torch.float64), s=size)
    power = spectrum.real.square() + spectrum.imag.square()  # `abs` would take roots only to square them again
    pairs = torch.fft.irfft2(power.sum(1), s=size).round_()
    pairs[:, 0, 0] = 0
    out.copy_(pairs.roll((height - 1, width - 1), (-2, -1))[:, : 2 * height - 1, : 2 * width - 1])


def correlate_sizes(weights: Tensor) -> Tensor:
    """S_i(d) from the sizes |w| of weights (units, channels, height, width), for dense units, which have no mask.

    Σ_c Σ_z |w_icz w_ic(z+d)|, not periodic, with S_i(0) = 0, as in `count_pairs`.

    >>> correlate_sizes(torch.tensor([[[[1.0, -2.0]]]]))[0].round(decimals=9).tolist()
    [[2.0, 0.0, 2.0]]
    """
    height, width = weights.shape[-2:]
    size = (2 * height, 2 * width)
    found = torch.empty(len(weights), 2 * height - 1, 2 * width - 1, dtype=torch.float64)
    for part, out in zip(weights.split(CHUNK), found.split(CHUNK), strict=True):
        spectrum = torch.fft.rfft2(part.to(torch.float64).abs(), s=size)
        pairs = torch.fft.irfft2(spectrum.abs().square().sum(1), s=size)
        pairs[:, 0, 0] = 0
        out.copy_(pairs.roll((height - 1, width - 1), (-2, -1))[:, : 2 * height - 1, : 2 * width - 1])
    return found


def fit_gaussians(pairs: Tensor, *, iterations: int = 100) -> WidthFit:
    """Least-squares fits of A exp(−dx²/2σx² − dy²/2σy²), centred, to S/max S over all d ≠ 0 (redman2025, App. A).

    Takes (units, 2·height − 1, 2·width − 1) from `count_pairs`. Each unit is fitted by Levenberg–Marquardt from two
    initial guesses.

    >>> fit = fit_gaussians(count_pairs(torch.ones(1, 3, 32, 32)))
    >>> round(fit.width_x.item(), 2)
    14.43
    """
    rows, columns = pairs.shape[-2:]
    low, high = map(math.log, bound_widths(((rows + 1) // 2, (columns + 1) // 2)))
    counted = pairs.to(torch.float64).contiguous().numpy()
    found = width_kernels.fit_units(counted, np.log(STARTS), low, high, iterations)
    amplitude, width_x, width_y, cost = torch.from_numpy(found).unbind(1)
    return WidthFit(amplitude, width_x.exp(), width_y.exp(), cost / (rows * columns - 1))


def measure_widths(masks: Tensor) -> WidthFit:
    """The fits to masks (units, channels, height, width); a unit without two kept inputs in one channel has none."""
    return fit_gaussians(count_pairs(masks))


def bound_widths(edges: Sequence[int]) -> tuple[float, float]:
    """The smallest and largest σ of a fit to fields with these edges."""
    return NARROW, WIDE * max(edges)
