"""The compiled loop of the Gaussian fits: a unit takes as many steps as it needs while its field is in the cache."""

import math

import numpy as np

from prunefield.core.compilation import compile_loop

Array = np.ndarray
STILL = 1e-8  # a step that moves no parameter by more is the last one


def fit_units(pairs: Array, starts: Array, low: float, high: float, iterations: int) -> Array:
    """A, log σx, log σy and the squared residual of the better fit: pairs (units, 2h − 1, 2w − 1) give (units, 4).

    `low` and `high` bound log σ; a unit whose pairs are all zero gets NaN.
    """
    found = np.full((len(pairs), 4), np.nan)
    compile_loop(_fit_units)(found, pairs, starts, low, high, iterations)
    return found


def _fit_units(found: Array, pairs: Array, starts: Array, low: float, high: float, iterations: int) -> None:
    """Levenberg–Marquardt for every unit and start, with the normal equations from sums along the axes."""
    units, height, width = pairs.shape
    rows, columns = (height + 1) // 2, (width + 1) // 2
    folded = np.empty((rows, columns))
    g = np.empty((2, 2, max(rows, columns)))  # axis x or y; exp(−u d²/2) or d² times that
    sums = np.empty((2, 3))  # Σ g², Σ d²g², Σ d⁴g² over both directions of an axis
    for unit in range(units):
        peak, square = pairs[unit].max(), 0.0
        if not peak > 0:
            continue
        # The model is even in dx and dy, so folding S into one quadrant does not move the minimum.
        folded[:] = 0
        for y in range(height):
            for x in range(width):
                value = pairs[unit, y, x] / peak
                square += value * value
                folded[abs(y - rows + 1), abs(x - columns + 1)] += value
        for start in starts:
            a, sx, sy = 1.0, start, start
            b, tx, ty = a, sx, sy
            cost, moved, damping = np.inf, np.inf, 5e-3
            aa = ax = ay = xx = xy = yy = ra = rx = ry = 0.0  # JᵀJ and Jᵀr
            for _ in range(iterations + 1):
                u, v = math.exp(-2 * tx), math.exp(-2 * ty)
                for axis in range(2):
                    step, size = (u, columns) if axis == 0 else (v, rows)
                    value, ratio = 1.0, math.exp(-0.5 * step)
                    twice, zeroth, second, fourth = ratio * ratio, -1.0, 0.0, 0.0
                    for d in range(size):
                        d2 = float(d * d)
                        g[axis, 0, d], g[axis, 1, d] = value, d2 * value
                        zeroth += 2 * value * value
                        second += 2 * d2 * value * value
                        fourth += 2 * d2 * d2 * value * value
                        value *= ratio  # by recurrence: one exponential instead of one for each d
                        ratio *= twice
                        if value < 1e-150:  # its square is negligible, and denormal numbers are slow
                            value = ratio = 0.0
                    sums[axis, 0], sums[axis, 1], sums[axis, 2] = zeroth, second, fourth
                along = along_x = along_y = 0.0
                for y in range(rows):
                    plain = weighted = 0.0
                    for x in range(columns):
                        plain += folded[y, x] * g[0, 0, x]
                        weighted += folded[y, x] * g[0, 1, x]
                    along += plain * g[1, 0, y]
                    along_x += weighted * g[1, 0, y]
                    along_y += plain * g[1, 1, y]
                x0, x2, x4, y0, y2, y4 = sums[0, 0], sums[0, 1], sums[0, 2], sums[1, 0], sums[1, 1], sums[1, 2]
                model = x0 * y0 - 1  # Σ g² over d ≠ 0
                new = square - 2 * b * along + b * b * model
                if new <= cost:
                    a, sx, sy, cost, damping = b, tx, ty, new, max(damping / 5, 1e-12)
                    aa, ax, ay = model, a * u * x2 * y0, a * v * x0 * y2
                    xx, xy, yy = a * a * u * u * x4 * y0, a * a * u * v * x2 * y2, a * a * v * v * x0 * y4
                    ra, rx, ry = along - a * model, a * u * (along_x - a * x2 * y0), a * v * (along_y - a * x0 * y2)
                else:
                    damping = min(damping * 5, 1e12)
                if moved < STILL:
                    break
                more = 1 + damping  # JᵀJ + D = LDLᵀ, with D a multiple of the diagonal
                da = aa * more + 1e-12
                lx, ly = ax / da, ay / da
                dx = xx * more + 1e-12 - lx * ax
                cross = xy - lx * ay
                lxy = cross / dx
                dy = yy * more + 1e-12 - ly * ay - lxy * cross
                zx = rx - lx * ra
                zy = (ry - ly * ra - lxy * zx) / dy
                zx = zx / dx - lxy * zy
                za = ra / da - lx * zx - ly * zy
                b = a + min(max(za, -1.0), 1.0)
                tx = min(max(sx + min(max(zx, -1.0), 1.0), low), high)
                ty = min(max(sy + min(max(zy, -1.0), 1.0), low), high)
                moved = max(abs(b - a), abs(tx - sx), abs(ty - sy))
            if not cost >= found[unit, 3]:
                found[unit, 0], found[unit, 1], found[unit, 2], found[unit, 3] = a, sx, sy, cost
