"""Gabor fits of many receptive fields at once, and how much a field prefers one orientation."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

# The bank of filters among which a fit begins; the best filter of each envelope is a start.
ANGLES = 8  # number of orientations
WAVES = (0.05, 0.09, 0.16, 0.28)  # frequencies in cycles per pixel
SHARES = (0.06, 0.12, 0.24)  # widths of the envelopes, relative to the longer edge
NARROW, SLOWEST, FASTEST = 0.5, 0.01, 0.5  # bounds: σ in pixels, cycles per pixel
STILL = 1e-6  # a step with a smaller relative change of the cost is the last one


class GaborFits(NamedTuple):
    """A exp(−x′²/2σ∥² − y′²/2σ⊥²) cos(2πfx′ + φ) + const. of each unit, (units,) in float64; NaN for a flat field.

    x′ runs along the wave, at `orientation` θ in [0, π) to the x axis (columns; y is rows, downwards), measured from
    the centre (`x`, `y`) in pixels; stripes are perpendicular to it. `frequency` is in cycles per pixel, `phase` in
    (−π, π], `along` = σ∥, `across` = σ⊥, `explained` the share of the field's variance.
    """

    orientation: Tensor
    frequency: Tensor
    phase: Tensor
    x: Tensor
    y: Tensor
    along: Tensor
    across: Tensor
    amplitude: Tensor
    explained: Tensor


class Preference(NamedTuple):
    """`selectivity` in [0, 1] and preferred `orientation` in [0, π), (units,) each; NaN for a flat field."""

    selectivity: Tensor
    orientation: Tensor


def flatten_fields(fields: Tensor) -> Tensor:
    """Fields as the eye sees them: channels summed, mean subtracted.

    (units, channels, height, width) give (units, height, width) in float64.
    """
    summed = fields.to(torch.float64).sum(1)
    return summed - summed.mean((1, 2), keepdim=True)


def find_preference(fields: Tensor) -> Preference:
    """Orientation selectivity |Σ_k P(k) e^{2iθ(k)}| / Σ_k P(k), P the Fourier power, over 0 < |k| < ½ cycle per pixel.

    Fields (units, height, width). 1 for a plane wave; for white noise about √(π/2N), N being the number of k.

    >>> x = torch.arange(32.0)
    >>> wave = torch.cos(2 * torch.pi * x[:, None] / 8).expand(1, 32, 32)
    >>> found = find_preference(wave)
    >>> round(found.selectivity.item(), 3), round(found.orientation.item() / torch.pi, 3)
    (1.0, 0.5)
    """
    fields = fields.to(torch.float64)
    ky, kx = (torch.fft.fftfreq(size, dtype=torch.float64) for size in fields.shape[1:])
    radius = (ky[:, None].square() + kx.square()).sqrt()
    inside = (radius > 0) & (radius < 0.5)
    angle = torch.atan2(ky[:, None].expand_as(radius), kx.expand_as(radius))[inside]
    power = torch.fft.fft2(fields).abs().square()[:, inside]
    turned = power.to(torch.complex128) @ torch.polar(torch.ones_like(angle), 2 * angle)
    whole = power.sum(1)
    flat = whole <= 1e-20 * fields.square().sum((1, 2)) * fields[0].numel()
    found = (turned.abs() / whole, turned.angle() / 2 % math.pi)
    return Preference(*(item.masked_fill(flat, torch.nan) for item in found))


def fit_gabors(fields: Tensor, *, iterations: int = 60) -> GaborFits:
    """Least-squares fits of a Gabor function and a constant to each field (units, height, width).

    Every unit starts from the best filters of a bank, one for each envelope, found by FFT at all positions. Then
    Levenberg–Marquardt is run on all units at once, and the best result is kept.

    >>> y, x = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    >>> field = torch.exp(-((x - 10) ** 2 + (y - 13) ** 2) / 32) * torch.cos(0.9 * (x - 10))
    >>> found = fit_gabors(field[None])
    >>> round(found.frequency.item() * 2 * torch.pi, 3), round(found.explained.item(), 3)
    (0.9, 1.0)
    """
    fields = fields.to(torch.float64)
    fields = fields - fields.mean((1, 2), keepdim=True)
    total = fields.square().sum((1, 2))
    there = total > 0
    columns = torch.full((9, len(fields)), torch.nan, dtype=torch.float64)
    if bool(there.any()):
        chosen = fields[there] / total[there].sqrt()[:, None, None]
        ends = [_descend_fits(chosen, start, iterations) for start in _choose_starts(chosen)]
        costs = torch.stack([cost for _, cost in ends])
        cost, best = costs.min(0)
        theta = torch.stack([end for end, _ in ends])[best, torch.arange(len(best))]
        x, y, turn, wave, along, across, a, b = theta.unbind(1)
        # θ and θ + π are the same wave with the sign of x′ flipped.
        b = torch.where(turn % (2 * math.pi) >= math.pi, -b, b)
        size = torch.hypot(a, b) * total[there].sqrt()
        found = (turn % math.pi, wave.exp(), torch.atan2(-b, a), x, y, along.exp(), across.exp(), size, 1 - cost)
        columns[:, there] = torch.stack(found)
    return GaborFits(*columns)


def _choose_starts(fields: Tensor) -> list[Tensor]:
    """Parameters (units, 8) of the best filter of the bank, for each envelope."""
    height, width = fields.shape[1:]
    size = (2 * height, 2 * width)
    spectrum = torch.fft.fft2(fields.to(torch.complex64), s=size)
    y, x = (torch.fft.fftfreq(n, 1 / n) for n in size)  # pixels from the centre of a filter
    starts = []
    for share in SHARES:
        sigma = max(share * max(height, width), 1.0)
        best, theta = torch.full((len(fields),), -1.0), torch.zeros(len(fields), 8, dtype=torch.float64)
        envelope = torch.exp(-(y[:, None].square() + x.square()) / (2 * sigma**2))
        for wave in WAVES:
            for step in range(ANGLES):
                turn = math.pi * step / ANGLES
                phase = 2 * math.pi * wave * (x * math.cos(turn) + y[:, None] * math.sin(turn))
                kernel = torch.polar(envelope, phase)
                found = torch.fft.ifft2(spectrum * torch.fft.fft2(kernel).conj())[:, :height, :width].flatten(1)
                peak, place = found.abs().max(1)
                at = found.gather(1, place[:, None])[:, 0] * 2 / envelope.square().sum()
                values = (place % width, place // width, turn, math.log(wave), math.log(sigma), math.log(sigma))
                rows = torch.stack([torch.as_tensor(v, dtype=torch.float64).expand(len(fields)) for v in values])
                new = torch.cat([rows.T, at.real[:, None], -at.imag[:, None]], 1)
                theta = torch.where((peak > best)[:, None], new, theta)
                best = torch.maximum(best, peak)
        starts.append(theta)
    return starts


def _descend_fits(fields: Tensor, theta: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """Levenberg–Marquardt from θ (units, 8); the parameters and the squared residual."""
    theta = theta.clone()
    cost = torch.full((len(fields),), torch.inf, dtype=torch.float64)
    damping = torch.full_like(cost, 1e-2)
    matrix, slope = torch.empty(len(cost), 8, 8, dtype=torch.float64), torch.empty(len(cost), 8, dtype=torch.float64)
    live, trial = torch.arange(len(cost)), theta
    longest = max(fields.shape[1:])
    low = torch.tensor([-1, -1, -torch.inf, math.log(SLOWEST), *2 * [math.log(NARROW)], *2 * [-torch.inf]])
    high = torch.tensor([longest, longest, torch.inf, math.log(FASTEST), *2 * [math.log(longest)], *2 * [torch.inf]])
    for _ in range(iterations):
        model, jacobian = _evaluate_gabors(trial, fields.shape[1], fields.shape[2])
        gap = fields[live].flatten(1) - model
        new = gap.square().sum(1)
        better, gain = new <= cost[live], (cost[live] - new) / new.clamp(min=1e-30)
        kept = live[better]
        theta[kept], cost[kept] = trial[better], new[better]
        matrix[kept] = jacobian[better] @ jacobian[better].mT
        slope[kept] = (jacobian[better] @ gap[better][..., None])[..., 0]
        damping[live] = torch.where(better, damping[live] / 5, damping[live] * 5)
        live = live[~(better & (gain < STILL)) & (damping[live] < 1e9)]
        if len(live) == 0:
            break
        diagonal = matrix[live].diagonal(dim1=1, dim2=2)
        damped = matrix[live] + torch.diag_embed(diagonal * damping[live, None] + 1e-10)
        step = torch.linalg.solve(damped, slope[live])
        step[:, :2].clamp_(-3, 3)
        step[:, 2:6].clamp_(-0.5, 0.5)
        trial = (theta[live] + step).clamp(low, high)
    return theta, cost


def _evaluate_gabors(theta: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """The Gabor functions without their means, (units, pixels), and their slopes in θ, (units, 8, pixels)."""
    rows = torch.arange(height, dtype=torch.float64).repeat_interleave(width)
    columns = torch.arange(width, dtype=torch.float64).repeat(height)
    x, y, turn, wave, along, across, a, b = theta.T[..., None]
    cos, sin, p, q = turn.cos(), turn.sin(), (-2 * along).exp(), (-2 * across).exp()
    right, down = columns - x, rows - y
    x1, y1 = right * cos + down * sin, down * cos - right * sin
    k = 2 * math.pi * wave.exp()
    envelope = torch.exp(-0.5 * (p * x1 * x1 + q * y1 * y1))
    even, odd = envelope * torch.cos(k * x1), envelope * torch.sin(k * x1)
    value, turned = a * even + b * odd, b * even - a * odd
    by_x1, by_y1 = k * turned - p * x1 * value, -q * y1 * value
    slopes = (
        by_y1 * sin - by_x1 * cos,
        -by_x1 * sin - by_y1 * cos,
        by_x1 * y1 - by_y1 * x1,
        k * x1 * turned,
        p * x1 * x1 * value,
        q * y1 * y1 * value,
        even,
        odd,
    )
    jacobian = torch.stack(slopes, 1)
    return value - value.mean(1, keepdim=True), jacobian - jacobian.mean(2, keepdim=True)
