"""Widths of 1024 masks of 3×32×32, relative to a loop of `scipy.optimize.curve_fit`.

The peer fits the same function of three parameters to the same S(d), from the same two starts, and takes the better
fit; it is timed for 16 masks and scaled up. S(d) is part of our time but is given to the peer. The
widths agree to 1e-3: `tests/measures/test_widths_measure.py`.
"""

import time
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks import Case
from prunefield.measures.widths import STARTS, count_pairs, measure_widths

MASKS, TIMED = 1024, 16


def cases() -> Iterator[Case]:
    for density in (0.03, 0.3):
        masks = draw_masks(density)
        yield Case(
            f"{MASKS} masks of 3×32×32, density {density}",
            lambda masks=masks: measure_widths(masks),
            peer=lambda masks=masks: fit_by_scipy(masks[:TIMED]) * MASKS / TIMED,
            peer_name=f"curve_fit, mask by mask, scaled from {TIMED}",
            rounds=2,
            target="at most 0.05 × peer",
        )


def draw_masks(density: float) -> torch.Tensor:
    """Masks whose density falls off around a centre, as in trained nets, plus random entries."""
    stream = torch.Generator().manual_seed(0)
    centre = 6 + 20 * torch.rand(MASKS, 2, 1, generator=stream)
    along = torch.exp(-((torch.arange(32) - centre) ** 2) / 50)
    bump = along[:, 0, :, None] * along[:, 1, None, :]
    chance = density * (0.3 + 0.7 * bump / bump.mean((1, 2), keepdim=True)).clamp(max=1 / density)
    return torch.rand(MASKS, 3, 32, 32, generator=stream) < chance[:, None]


def fit_by_scipy(masks: torch.Tensor) -> float:
    """The seconds for the fits by scipy."""
    from scipy.optimize import curve_fit

    dy, dx = np.mgrid[-31:32, -31:32]
    away = (dx != 0) | (dy != 0)
    x2, y2 = dx[away] ** 2, dy[away] ** 2

    def gaussian(_: object, a: float, sx: float, sy: float) -> np.ndarray:
        return a * np.exp(-x2 / (2 * sx**2) - y2 / (2 * sy**2))

    counted = count_pairs(masks).numpy()
    begin = time.perf_counter()
    for pairs in counted:
        target = pairs[away] / pairs.max()
        fits = [curve_fit(gaussian, x2, target, p0=(1, start, start), maxfev=5000)[0] for start in STARTS]
        min(fits, key=lambda fit: float(np.square(gaussian(None, *fit) - target).sum()))
    return time.perf_counter() - begin
