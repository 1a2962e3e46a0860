"""Schedules: the densities through which iterated pruning passes."""

from fractions import Fraction
from numbers import Integral
from typing import Literal, get_args

from prunefield.core.errors import UsageError, unknown
from prunefield.masks.selection import Density, count_kept

Schedule = Literal["exponential", "linear"]


def plan_densities(
    density: Density, iterations: int, schedule: Schedule = "exponential", *, initial: float = 1.0
) -> list[Density]:
    """The densities after each iteration t = 1, …, T, the last one exactly `density`; T = 1 is one-shot pruning.

    `exponential`: ρ_t = ρ_0·(ρ/ρ_0)^{t/T}, as SynFlow's 100 iterations; `linear`: ρ_0 − (ρ_0 − ρ)·t/T; ρ_0 is
    `initial`.

    >>> plan_densities(0.25, 2), plan_densities(0.25, 3, "linear")
    ([0.5, 0.25], [0.75, 0.5, 0.25])
    """
    if schedule not in get_args(Schedule):
        raise unknown("schedule", schedule, get_args(Schedule))
    if not isinstance(iterations, Integral):
        raise UsageError(f"iterations must be a whole number, not {iterations!r}")
    if iterations < 1:
        raise UsageError(f"iterations must be at least 1, not {iterations}")
    count_kept(1, density)  # refuses a density outside of its range
    end, shares = float(Fraction(str(density))), [t / iterations for t in range(1, iterations)]
    if schedule == "exponential":
        return [*(initial * (end / initial) ** share for share in shares), density]
    return [*(initial - (initial - end) * share for share in shares), density]
