"""The flow of lufkin2024 (Eq. 5) over long times and for many covariances at once, by an exponential integrator.

ẇ = ½ σφ(Σ₁w/(σ√(wᵀΣ₁w))) − ½ (Σ₀ + Σ₁)w, where σ² are the variances of class 1, is solved in the modes of Σ₀ + Σ₁,
where the linear part is exact. An explicit method (`theory.flow`) must resolve the fastest mode to the very end, which
for images takes steps of 0.01; here steps grow as a field comes to rest.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from prunefield.core.errors import RunError

TOLERANCE = 1e-3  # error of one step, relative to the field
FIRST, LIMIT = 0.05, 20_000  # the first step; the largest number of steps


class Torus:
    """Translation-invariant Σ₀ and Σ₁ on a ring or a torus, given as kernels (…, *grid): all products are FFTs.

    Leading axes hold further covariances, integrated side by side. Fields have the shape (…, inits, *grid). Negative
    eigenvalues, which an estimate may have, are set to 0.
    """

    def __init__(self, short: Tensor, long: Tensor, axes: int) -> None:
        self.grid, self.axes = long.shape[-axes:], tuple(range(-axes, 0))
        low, self.high = (
            torch.fft.rfftn(kernel, dim=self.axes).real.clamp(min=0.0).unsqueeze(-axes - 1) for kernel in (short, long)
        )
        self.rates = low + self.high
        pairs = torch.full((self.high.shape[-1],), 2.0, dtype=long.dtype)  # rfft keeps one mode of each conjugate pair
        pairs[0] = 1.0
        if self.grid[-1] % 2 == 0:
            pairs[-1] = 1.0
        self.weights = self.high * pairs / self.grid.numel()
        self.scale = self.weights.sum(self.axes, keepdim=True).sqrt()

    def analyse(self, fields: Tensor) -> Tensor:
        return torch.fft.rfftn(fields, dim=self.axes)

    def synthesise(self, modes: Tensor) -> Tensor:
        return torch.fft.irfftn(modes, s=self.grid, dim=self.axes)

    def pull(self, modes: Tensor) -> Tensor:
        """Σ₁w/(σ√(wᵀΣ₁w)) at every site."""
        power = modes.real.square() + modes.imag.square()
        size = (self.weights * power).sum(self.axes, keepdim=True).sqrt()
        return self.synthesise(self.high * modes) / (size * self.scale).clamp(min=1e-300)


class Dense:
    """Any Σ₀ and Σ₁, matrices (…, N, N); fields have the shape (…, inits, N)."""

    axes = (-1,)

    def __init__(self, short: Tensor, long: Tensor) -> None:
        rates, self.basis = torch.linalg.eigh(short + long)
        self.rates = rates.clamp(min=0.0).unsqueeze(-2)
        self.scale = long.diagonal(dim1=-2, dim2=-1).clamp(min=0.0).sqrt().unsqueeze(-2)
        self.into = self.basis.mT @ long

    def analyse(self, fields: Tensor) -> Tensor:
        return fields @ self.basis

    def synthesise(self, modes: Tensor) -> Tensor:
        return modes @ self.basis.mT

    def pull(self, modes: Tensor) -> Tensor:
        """Σ₁w/(σ√(wᵀΣ₁w)) at every site; 0 at sites that do not vary in class 1."""
        pulled = modes @ self.into
        size = (pulled * self.synthesise(modes)).sum(-1, keepdim=True).clamp(min=0.0).sqrt()
        return pulled / (size * self.scale).clamp(min=1e-300)


def relax_fields(
    start: Tensor,
    times: Sequence[float],
    covariances: Torus | Dense,
    amplifier: Callable[[Tensor], Tensor],
    *,
    tolerance: float = TOLERANCE,
) -> Tensor:
    """The fields at `times` > 0 from `start` (…, inits, *grid) at time 0: shape (times, *start.shape).

    Krogstad's exponential Runge–Kutta method of order 4 (ETD4RK-B); the force at the end of a step, which the next one
    needs anyway, gives a solution of order 3 to compare with. Their distance, relative to the field, is kept below
    `tolerance` for every field.

    >>> from prunefield.theory import amplifier, fields
    >>> rows = [fields.correlate_sites(40, xi) for xi in (1.0, 3.0)]
    >>> start = 0.01 + 1e-3 * torch.cos(torch.arange(40, dtype=torch.float64))
    >>> path = relax_fields(start[None], [1000.0], Torus(*rows, 1), amplifier.amplify_gaussian)
    >>> path[-1, 0].round(decimals=3).unique().tolist()  # flat, as elliptical data end
    [0.041]
    """
    axes = covariances.axes

    def drive(modes: Tensor) -> Tensor:
        return covariances.analyse(covariances.scale * amplifier(covariances.pull(modes))) / 2

    u, now, step, found = covariances.analyse(start), 0.0, FIRST, []
    force, length, factors = drive(u), 0.0, (_compute_phis(covariances.rates),) * 2
    for _ in range(LIMIT):
        if (least := min(step, times[len(found)] - now)) != length:
            length = least
            factors = _compute_phis(covariances.rates * (length / 4)), _compute_phis(covariances.rates * (length / 2))
        (half, h1, h2, _), (whole, f1, f2, f3) = factors
        early = drive(half * u + (length / 2) * h1 * force)
        later = drive(half * u + length * ((h1 / 2 - h2) * force + h2 * early))
        last = drive(whole * u + length * ((f1 - 2 * f2) * force + 2 * f2 * later))
        fresh = (f1 - 3 * f2 + 4 * f3) * force + (2 * f2 - 4 * f3) * (early + later) + (4 * f3 - f2) * last
        fresh = whole * u + length * fresh
        after = drive(fresh)
        wrong = _measure_norm(length * (4 * f3 - f2) * (after - last), axes)
        error = float((wrong / _measure_norm(fresh, axes).clamp(min=1e-300)).max())
        if error <= tolerance:
            u, force, now = fresh, after, now + length
            if now >= times[len(found)] * (1 - 1e-12):
                found.append(covariances.synthesise(u))
                if len(found) == len(times):
                    return torch.stack(found)
        if error > tolerance or length == step:
            ideal = step * min(4.0, max(0.2, 0.9 * (tolerance / max(error, 1e-12)) ** 0.25))
            step = ideal if error > tolerance or ideal > 1.2 * step else step  # an unchanged step can reuse its factors
    raise RunError(f"the flow did not reach t = {times[-1]:g} within {LIMIT} steps (it stopped at {now:g})")


def _compute_phis(decay: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """e⁻ˣ, φ₁(−x) = (1 − e⁻ˣ)/x, φ₂ = (1 − φ₁)/x and φ₃ = (½ − φ₂)/x; by series for x < 0.5."""
    small = decay < 0.5
    safe = torch.where(small, 1.0, decay)
    third = sum((-decay) ** k / math.factorial(k + 3) for k in range(10))
    one = -torch.expm1(-safe) / safe
    two = (1 - one) / safe
    third = torch.where(small, third, (0.5 - two) / safe)
    two = torch.where(small, 0.5 - decay * third, two)
    return torch.exp(-decay), torch.where(small, 1 - decay * two, one), two, third


def _measure_norm(modes: Tensor, axes: tuple[int, ...]) -> Tensor:
    return modes.abs().square().sum(axes).sqrt()
