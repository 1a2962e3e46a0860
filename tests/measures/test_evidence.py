"""Paired tests against scipy, equivalence against the 90% interval, Holm's correction against closed testing."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from prunefield.core.errors import UsageError
from prunefield.measures.evidence import adjust_p_values, weigh_pairs

MARGIN = 0.5


@pytest.fixture
def draws():
    rng = np.random.default_rng(3)
    return [rng.normal(mean, 0.5, size=8) for mean in (-0.8, -0.3, 0.0, 0.1, 0.4, 0.9)]


def test_the_p_values_are_those_of_scipy(draws):
    for gaps in draws:
        found = weigh_pairs(gaps.tolist(), margin=MARGIN)
        below = stats.ttest_1samp(gaps, -MARGIN, alternative="greater").pvalue
        above = stats.ttest_1samp(gaps, MARGIN, alternative="less").pvalue
        assert found.p_different == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue, rel=1e-10)
        assert found.p_equal == pytest.approx(max(below, above), rel=1e-10)


def test_equivalence_is_a_90_percent_interval_within_the_margin(draws):
    for gaps in draws:
        low, high = stats.ttest_1samp(gaps, 0).confidence_interval(0.9)
        inside = low > -MARGIN and high < MARGIN
        assert (weigh_pairs(gaps.tolist(), margin=MARGIN).p_equal < 0.05) == inside


def test_no_difference_is_declared_equivalent_at_the_margin_more_often_than_alpha():
    gaps = np.random.default_rng(0).normal(MARGIN, 0.2, size=(2_000, 8))
    found = [weigh_pairs(row.tolist(), margin=MARGIN).p_equal < 0.05 for row in gaps]
    assert np.mean(found) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(
    ("gaps", "finding"),
    [
        ([0.0] * 4, "equivalent"),
        ([0.2] * 4, "better"),
        ([-0.2] * 4, "worse"),
        ([2.0, -2.0, 1.0, -1.5], "undecided"),
    ],
)
def test_findings(gaps, finding):
    assert weigh_pairs(gaps, margin=MARGIN).decide() == finding


def test_holm_is_closed_testing_with_bonferroni():
    """A hypothesis is rejected if every intersection that contains it is: the adjusted p-value is the largest."""
    values = np.random.default_rng(1).uniform(0, 0.3, size=5).tolist()
    sets = [subset for size in range(1, 6) for subset in combinations(range(5), size)]
    closed = [
        max(min(1.0, len(subset) * min(values[one] for one in subset)) for subset in sets if place in subset)
        for place in range(5)
    ]
    assert adjust_p_values(values) == pytest.approx(closed)
    assert adjust_p_values([]) == []


def test_a_margin_of_zero_and_a_single_pair_are_refused():
    with pytest.raises(UsageError, match="margin"):
        weigh_pairs([0.1, 0.2], margin=0)
    with pytest.raises(UsageError, match="two or more pairs"):
        weigh_pairs([0.1], margin=1)
