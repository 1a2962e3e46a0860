"""What paired differences show: a difference (t-test), none that matters (two one-sided tests), after correction."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from prunefield.core.errors import UsageError
from prunefield.measures.differences import Difference, compare_pairs

Conclusion = Literal["better", "worse", "equivalent", "undecided"]


class Evidence(NamedTuple):
    """A mean difference, the p-value of a difference, and that of a difference of `margin` or more.

    A small `p_equal` shows that the true mean lies within ±`margin`.
    """

    difference: Difference
    p_different: float
    p_equal: float
    margin: float

    def decide(self, *, alpha: float = 0.05) -> Conclusion:
        """What is shown at the level alpha; a difference that is shown goes first, even one within the margin.

        >>> weigh_pairs([1.0, 1.2, 0.9], margin=0.5).decide(), weigh_pairs([0.1, -0.1, 0.0], margin=0.5).decide()
        ('better', 'equivalent')
        """
        if self.p_different < alpha:
            return "better" if self.difference.mean > 0 else "worse"
        return "equivalent" if self.p_equal < alpha else "undecided"


def weigh_pairs(gaps: Sequence[float], *, margin: float) -> Evidence:
    """Two-sided paired t-test of d̄ = 0, and TOST: the larger p-value of d̄ ≤ −margin and d̄ ≥ margin, one-sided each."""
    found, n = compare_pairs([0.0] * len(gaps), gaps), len(gaps)
    error = math.sqrt(sum((gap - found.mean) ** 2 for gap in gaps) / (n - 1) / n)
    return weigh_mean(found, error, n - 1, margin=margin)


def weigh_mean(found: Difference, error: float, freedom: float, *, margin: float) -> Evidence:
    """The same tests of a mean difference with a known standard error and its degrees of freedom.

    Without an error both are certain, p = 0 or 1.
    """
    from scipy import stats

    if margin <= 0:
        raise UsageError(f"margin must be above 0, not {margin}")
    size = abs(found.mean)
    if error == 0:
        return Evidence(found, 0.0 if size else 1.0, 0.0 if size < margin else 1.0, margin)
    different = 2 * float(stats.t.sf(size / error, freedom))
    return Evidence(found, different, float(stats.t.sf((margin - size) / error, freedom)), margin)


def adjust_p_values(values: Sequence[float]) -> list[float]:
    """Holm's correction for the number of tests: the i-th smallest of m is multiplied by m − i + 1, and none is smaller
    than one before it.

    >>> [round(p, 6) for p in adjust_p_values([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = largest
    return adjusted
