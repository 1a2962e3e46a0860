"""Figs 5 and S3 and H*: what their checks count, on tables as the paper describes them."""

import pytest

from prunefield.papers._rows import rows
from prunefield.papers.redman2025._fig5_checks import signs
from prunefield.papers.redman2025._ideal import ROUNDS
from prunefield.papers.redman2025.fig5 import Fig5
from prunefield.papers.redman2025.figS3 import FigS3, plateau
from prunefield.papers.redman2025.hypothesis import Hypothesis


def test_signs_are_counted_over_later_rounds_and_groups():
    table = Fig5().ideal()
    pairs = ROUNDS * (ROUNDS - 1) / 2
    assert signs(table, "fate") == [1.0] * 3
    assert signs(table, "shuffled") == pytest.approx([1 - (ROUNDS - 1) / pairs] * 3)


def test_few_rounds_leave_some_claims_untested():
    table = Fig5().ideal()
    few = table[table["group"] < 6].assign(survives=False)
    found = [claim.check(few).status for claim in Fig5.claims if "round 8" in claim.text or "round 3" in claim.text]
    assert found == ["not testable at this scale"] * 4


def test_a_plateau_begins_where_nearly_all_of_the_rise_is_done():
    table = rows(FigS3().ideal(), data="leaves")
    assert (plateau(table, 1), plateau(table, 2)) == (8, 4)


def test_a_greedy_pruning_that_reaches_more_refutes_the_maximum():
    table = Hypothesis().ideal()
    greedy = table["method"] == "greedy"
    more = table.assign(kurtosis=table["kurtosis"].where(~greedy, table["kurtosis"] + 0.9))
    verdicts = [claim.check(more) for claim in Hypothesis.claims if "maximally (" in claim.text]
    assert [verdict.status for verdict in verdicts] == ["not reproduced"] * 2
    assert all("share of the rise 0.500" in verdict.note for verdict in verdicts)
