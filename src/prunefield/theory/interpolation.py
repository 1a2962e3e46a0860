"""The amplifier as a table: a cubic spline on an even grid, checked against the truth, read by compiled code."""

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import torch
from torch import Tensor

HALF = 2048  # cells between 0 and 1
ERROR = 1e-10


@lru_cache(maxsize=64)
def tabulate(function: Callable[[Tensor], Tensor]) -> np.ndarray | None:
    """A smooth odd function on [−1, 1] as coefficients of cubics, a row for each cell, highest power first, (4096, 4).

    A row's argument is the place in its cell, from 0 to 1. The error is measured in the middle of every cell, where
    it is largest; None where it exceeds `ERROR` (the amplifier of a law without a fourth moment has no third
    derivative at 0).

    >>> row = tabulate(torch.sin)[2048 + 614]
    >>> bool(abs(np.polyval(row, 0.3 * 2048 - 614) - np.sin(0.3)) < 1e-10)
    True
    """
    from scipy.interpolate import CubicSpline

    knots = torch.linspace(0, 1, HALF + 1, dtype=torch.float64)
    middles = (knots[:-1] + knots[1:]) / 2
    x, y = knots.numpy(), function(knots).numpy()
    spline = CubicSpline(np.concatenate([-x[:0:-1], x]), np.concatenate([-y[:0:-1], y]))
    error = np.abs(spline(middles.numpy()) - function(middles).numpy()).max()
    return np.ascontiguousarray(spline.c.T * (1 / HALF) ** np.arange(3, -1, -1.0)) if error <= ERROR else None


@cache
def compile_velocity() -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """½φ(Σ₁w/√(wᵀΣ₁w)) − ½(Σ₀ + Σ₁)w from fields w end to end, (n·N,), (Σ₁, Σ₀ + Σ₁), (N, 2N), and the table of φ.

    Compiled, for at these sizes the overhead of numpy's calls would be most of the time of an integration.
    """
    from numba import njit  # half a second, so only for those who integrate

    try:
        return njit(cache=True)(_move)
    except RuntimeError:  # no folder for the cache can be written: compile anew in every process
        return njit(_move)


def _move(flat: np.ndarray, both: np.ndarray, rows: np.ndarray) -> np.ndarray:
    size, half, last = len(both), len(rows) / 2, len(rows) - 1
    w = flat.reshape(-1, size)
    products = np.dot(w, both)
    found = np.empty(w.shape)
    for field in range(len(w)):
        square = 0.0
        for site in range(size):
            square += w[field, site] * products[field, site]
        scale = half / np.sqrt(square)
        for site in range(size):
            x = half + scale * products[field, site]
            cell = min(max(int(x), 0), last)  # rounding may put it beyond ±1
            x -= cell
            phi = ((rows[cell, 0] * x + rows[cell, 1]) * x + rows[cell, 2]) * x + rows[cell, 3]
            found[field, site] = (phi - products[field, size + site]) / 2
    return found.ravel()
