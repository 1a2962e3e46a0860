"""Differences of two treatments over the same seeds: interval, and the smallest difference that could be seen."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from prunefield.errors import UsageError


class Difference(NamedTuple):
    """The mean difference, its 95 % interval, and the true difference that would be found with a chance of 80 %."""

    mean: float
    low: float
    high: float
    detectable: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.low:+.2f} to {self.high:+.2f}, n = {self.n}, detectable {self.detectable:.2f})"


def compare(first: Sequence[float], second: Sequence[float], *, level: float = 0.95, power: float = 0.8) -> Difference:
    """second − first, paired: d̄ ± t·s/√n with Student's t; the power is that of the t-test with the right sign.

    The detectable difference δ solves P(T > t) = `power` for T noncentral with δ√n/s and n − 1 degrees of freedom,
    s being the deviation that was seen.

    >>> found = compare([1.0, 2.0, 3.0], [2.0, 3.5, 3.5])
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.n
    (1.0, -0.242, 2.242, 3)
    """
    from scipy import optimize, stats

    n = len(first)
    if n != len(second) or n < 2:
        raise UsageError(f"paired differences need two or more pairs, got {n} and {len(second)} values")
    gaps = [b - a for a, b in zip(first, second, strict=True)]
    mean = sum(gaps) / n
    error = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / (n - 1) / n)
    limit = float(stats.t.ppf((1 + level) / 2, n - 1))

    def excess(shift: float) -> float:
        return float(stats.nct.sf(limit, n - 1, shift)) - power

    shift = float(optimize.brentq(excess, 0.0, 2 * limit + 4))  # type: ignore[arg-type]
    return Difference(mean, mean - limit * error, mean + limit * error, shift * error, n)
