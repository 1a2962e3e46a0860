"""redman2025/dependence: what counts as holding in a setting."""

import pandas
import pytest

from prunefield.papers import rows
from prunefield.papers.redman2025._fates import shuffled
from prunefield.papers.redman2025.dependence import Dependence

SIGNS = next(claim for claim in Dependence.claims if "all later ones are negative" in claim.text)


@pytest.fixture(scope="module")
def ideal():
    return rows(Dependence().ideal(), axis="base")


@pytest.mark.parametrize(
    ("seeds", "status", "seen"),
    [
        ((0, 1, 2), "reproduced", "in 3 of 3 nets: base (3 of 3 seeds)"),
        ((0, 1), "not testable at this scale", "in 2 of 3 nets: base (2 of 3 seeds)"),
        ((), "not reproduced", "in 0 of 3 nets"),
    ],
)
def test_a_claim_must_hold_in_all_of_three_seeds(ideal, seeds, status, seen):
    good, bad = (ideal[ideal["seed"].isin(seeds) == wanted] for wanted in (True, False))
    verdict = SIGNS.check(pandas.concat([good, shuffled(bad)]))
    assert (verdict.status, verdict.observed) == (status, seen)


def test_one_good_seed_of_another_setting_decides_nothing(ideal):
    other = rows(ideal, seed=0).assign(axis="learning rate", value="0.03")
    verdict = SIGNS.check(pandas.concat([shuffled(ideal), other]))
    assert (verdict.status, verdict.n) == ("not testable at this scale", 4)
    assert verdict.observed == "in 1 of 4 nets: learning rate: 0.03 (1 of 1 seeds)"


def test_other_readings_are_told(ideal):
    bad = ideal.assign(pooled=-ideal["pooled"])
    told = "per class, as printed: 3 (all of base); of the mean, corrected: 3 (all of base); "
    assert SIGNS.check(bad).note == (
        f"number of nets in other readings: {told}of the mean kurtosis: 3 (all of base); classes pooled: 0"
    )
