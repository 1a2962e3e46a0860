"""Width of receptive fields: how far apart the inputs lie that a mask keeps for one unit."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

STARTS = (2.0, 8.0)  # first guesses of σ, in pixels; the better fit is taken
NARROW, WIDE = 0.2, 10.0  # fits stay between σ = NARROW pixels and WIDE times the longer edge


class Fit(NamedTuple):
    """A Gaussian for each unit: amplitude and widths (units,); all are NaN where a unit has no fit.

    `misfit` is the mean squared residual over all d ≠ 0.
    """

    amplitude: Tensor
    width_x: Tensor
    width_y: Tensor
    misfit: Tensor


def count_pairs(masks: Tensor) -> Tensor:
    """S_i(d), the ordered pairs of kept inputs of one channel that lie d apart (redman2025, eq. 1), with S_i(0) = 0.

    S_i(d) = Σ_c Σ_z m_icz m_ic(z+d), not periodic. Equation 1 as printed counts every input with itself at d = 0; that
    spike says nothing about locality and is left out. Masks (units, channels, height, width) give
    (units, 2·height − 1, 2·width − 1) in float64, with d = 0 in the middle.

    >>> count_pairs(torch.ones(1, 3, 2, 2, dtype=torch.bool))[0].int().tolist()
    [[3, 6, 3], [6, 0, 6], [3, 6, 3]]
    """
    height, width = masks.shape[-2:]
    size = (2 * height, 2 * width)  # one more than needed: 2·height − 1 is often prime, which is slow
    spectrum = torch.fft.rfft2(masks.to(torch.float64), s=size)
    power = spectrum.real.square() + spectrum.imag.square()  # `abs` would take roots only to square them again
    pairs = torch.fft.irfft2(power.sum(1), s=size).round()
    pairs[:, 0, 0] = 0
    return pairs.roll((height - 1, width - 1), (-2, -1))[:, : 2 * height - 1, : 2 * width - 1].contiguous()


def fit_gaussians(pairs: Tensor, *, iterations: int = 100) -> Fit:
    """Least-squares fits of A exp(−dx²/2σx² − dy²/2σy²), centred, to S/max S over all d ≠ 0 (redman2025, App. A).

    Takes (units, 2·height − 1, 2·width − 1) from `count_pairs`. All units are fitted at once by Levenberg–Marquardt.
    The model is separable, so that the normal equations need only sums along the axes; and it is even in dx and dy, so
    that folding S into one quadrant leaves the minimum where it is.

    >>> fit = fit_gaussians(count_pairs(torch.ones(1, 3, 32, 32)))
    >>> round(fit.width_x.item(), 2)
    14.43
    """
    pairs = pairs.to(torch.float64)
    peak = pairs.amax((-2, -1))
    fitted = peak > 0
    theta, costs = _fit(_Problem(pairs[fitted] / peak[fitted, None, None], copies=len(STARTS)), iterations)
    cost, chosen = costs.view(len(STARTS), -1).min(0)
    best = theta.view(len(STARTS), -1, 3)[chosen, torch.arange(len(chosen))]
    columns = torch.full((4, len(pairs)), torch.nan, dtype=torch.float64)
    points = pairs.shape[-2] * pairs.shape[-1] - 1
    columns[:, fitted] = torch.stack([best[:, 0], best[:, 1].exp(), best[:, 2].exp(), cost / points])
    return Fit(*columns)


def measure_widths(masks: Tensor) -> Fit:
    """The fits to the masks (units, channels, height, width); a unit without two kept inputs of a channel has none."""
    return fit_gaussians(count_pairs(masks))


def bounds(edges: Sequence[int]) -> tuple[float, float]:
    """The least and the greatest σ that a fit to fields with these edges may reach."""
    return NARROW, WIDE * max(edges)


class _Problem:
    """S folded into one quadrant, (units, height, width), as often as there are starts; and d² along the axes."""

    def __init__(self, pairs: Tensor, copies: int) -> None:
        rows, columns = (pairs.shape[-2] + 1) // 2, (pairs.shape[-1] + 1) // 2
        half = pairs[:, rows - 1 :].clone()
        half[:, 1:] += pairs[:, : rows - 1].flip(1)
        self.folded = half[..., columns - 1 :].clone()
        self.folded[..., 1:] += half[..., : columns - 1].flip(2)
        self.folded = self.folded.repeat(copies, 1, 1)
        self.square = pairs.square().sum((1, 2)).repeat(copies)
        self.y2, self.x2 = (torch.arange(n, dtype=torch.float64).square() for n in (rows, columns))
        self.limits = [math.log(bound) for bound in bounds((rows, columns))]

    def normal_equations(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Cost (units,), JᵀJ (units, 3, 3) and Jᵀr (units, 3) at θ = (A, log σx, log σy)."""
        a, u, v = theta[:, 0], (-2 * theta[:, 1]).exp(), (-2 * theta[:, 2]).exp()
        gx, gy = (-0.5 * u[:, None] * self.x2).exp(), (-0.5 * v[:, None] * self.y2).exp()
        x0, x2, x4 = _moments(gx, self.x2)
        y0, y2, y4 = _moments(gy, self.y2)
        model = x0 * y0 - 1  # Σ g² over d ≠ 0
        along = torch.einsum("uyx,kux->kuy", self.folded, torch.stack([gx, gx * self.x2]))
        b, bx = torch.einsum("kuy,uy->ku", along, gy)
        by = torch.einsum("uy,uy->u", along[0], gy * self.y2)
        cost = self.square - 2 * a * b + a * a * model
        gradient = torch.stack([b - a * model, a * u * (bx - a * x2 * y0), a * v * (by - a * x0 * y2)], -1)
        ax, ay, xy = a * u * x2 * y0, a * v * x0 * y2, a * a * u * v * x2 * y2
        xx, yy = a * a * u * u * x4 * y0, a * a * v * v * x0 * y4
        rows = [torch.stack(row, -1) for row in ((model, ax, ay), (ax, xx, xy), (ay, xy, yy))]
        return cost, torch.stack(rows, -2), gradient


def _moments(g: Tensor, square: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Σ g², Σ d² g² and Σ d⁴ g² over both directions of an axis."""
    twice = 2 * g * g
    return twice.sum(-1) - 1, (twice * square).sum(-1), (twice * square * square).sum(-1)


def _fit(problem: _Problem, iterations: int) -> tuple[Tensor, Tensor]:
    starts = torch.tensor([(1.0, math.log(start), math.log(start)) for start in STARTS], dtype=torch.float64)
    theta = starts.repeat_interleave(len(problem.square) // len(STARTS), 0)
    damping = torch.full_like(problem.square, 1e-3)
    cost, matrix, gradient = problem.normal_equations(theta)
    for _ in range(iterations):
        diagonal = torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1) * damping[:, None] + 1e-12)
        step = torch.linalg.solve(matrix + diagonal, gradient)
        trial = theta + step.clamp(-1, 1)
        trial[:, 1:] = trial[:, 1:].clamp(*problem.limits)
        new_cost, new_matrix, new_gradient = problem.normal_equations(trial)
        better = new_cost <= cost
        moved = (trial - theta).abs().amax(-1)
        theta = torch.where(better[:, None], trial, theta)
        cost = torch.where(better, new_cost, cost)
        matrix = torch.where(better[:, None, None], new_matrix, matrix)
        gradient = torch.where(better[:, None], new_gradient, gradient)
        damping = torch.where(better, damping / 5, damping * 5).clamp(1e-12, 1e12)
        if bool((moved < 1e-8).all()):
            break
    return theta, cost
