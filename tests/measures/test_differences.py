"""Paired differences: against scipy's t-test, and the detectable difference by simulation."""

import numpy as np
import pytest
from scipy import stats

from prunefield.core.errors import UsageError
from prunefield.measures.differences import compare_pairs


def test_the_interval_is_that_of_the_paired_t_test():
    draws = np.random.default_rng(0).normal(size=(2, 7))
    found = compare_pairs(draws[0].tolist(), draws[1].tolist())
    oracle = stats.ttest_rel(draws[1], draws[0])
    low, high = oracle.confidence_interval(0.95)
    assert (found.mean, found.low, found.high) == pytest.approx((np.diff(draws, axis=0).mean(), low, high))


def test_the_detectable_difference_is_found_four_times_in_five():
    """For every n, a t-test has a power of 0.8 at the detectable difference, if gaps are normal."""
    rng = np.random.default_rng(1)
    for n in (3, 5):
        gaps = np.linspace(-1, 1, n)
        gaps /= gaps.std(ddof=1)
        delta = compare_pairs([0.0] * n, gaps.tolist()).detectable
        draws = rng.normal(delta, 1, size=(20_000, n))
        found = stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05
        assert found.mean() == pytest.approx(0.8, abs=0.01)


def test_equal_values_have_no_width():
    found = compare_pairs([1.0, 2.0], [1.0, 2.0])
    assert (found.mean, found.low, found.high, found.detectable) == (0, 0, 0, 0)


@pytest.mark.parametrize(("first", "second"), [([1.0], [2.0]), ([1.0, 2.0], [1.0])])
def test_too_few_pairs_are_refused(first, second):
    with pytest.raises(UsageError, match="two or more pairs"):
        compare_pairs(first, second)
