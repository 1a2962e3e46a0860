"""Means over seeds with their intervals, and paired differences with the smallest detectable difference."""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from prunefield.core.errors import UsageError


class Difference(NamedTuple):
    """The mean difference, its 95% interval, and the difference that would be detected with 80% probability."""

    mean: float
    low: float
    high: float
    detectable: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.low:+.2f} to {self.high:+.2f}, n = {self.n}, detectable {self.detectable:.2f})"


class MeanEstimate(NamedTuple):
    """A mean and its interval, which is NaN for a single value."""

    mean: float
    low: float
    high: float


def estimate_mean(values: Sequence[float], *, level: float = 0.95) -> MeanEstimate:
    """x̄ ± t·s/√n with Student's t for n − 1 degrees of freedom.

    >>> [round(number, 3) for number in estimate_mean([1.0, 1.5, 0.5])]
    [1.0, -0.242, 2.242]
    """
    mean, error = _measure_mean(values)
    reach = _quantile(level, len(values)) * error
    return MeanEstimate(mean, mean - reach, mean + reach)


def _measure_mean(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error, NaN for a single value."""
    n = len(values)
    mean = sum(values) / n
    squares = sum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan


@cache
def _quantile(level: float, n: int) -> float:
    from scipy import stats

    return float(stats.t.ppf((1 + level) / 2, n - 1)) if n > 1 else math.nan


def compare_pairs(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95, power: float = 0.8
) -> Difference:
    """second − first, paired: d̄ ± t·s/√n with Student's t; the power is that of the t-test with the right sign.

    The detectable difference δ solves P(T > t) = `power` for T noncentral t with parameter δ√n/s and n − 1 degrees of
    freedom, where s is the observed standard deviation.

    >>> found = compare_pairs([1.0, 2.0, 3.0], [2.0, 3.5, 3.5])
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.n
    (1.0, -0.242, 2.242, 3)
    """
    from scipy import optimize, stats

    n = len(first)
    if n != len(second) or n < 2:
        raise UsageError(f"paired differences need two or more pairs (got {n} and {len(second)} values)")
    gaps = [b - a for a, b in zip(first, second, strict=True)]
    (mean, low, high), (_, error), limit = estimate_mean(gaps, level=level), _measure_mean(gaps), _quantile(level, n)

    def excess(shift: float) -> float:
        return float(stats.nct.sf(limit, n - 1, shift)) - power

    shift = float(optimize.brentq(excess, 0.0, 2 * limit + 4))  # type: ignore[arg-type]
    return Difference(mean, low, high, shift * error, n)
