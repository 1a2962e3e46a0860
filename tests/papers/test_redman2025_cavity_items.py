"""Figs 5 and S3 and H*: what their checks count, on tables as the paper describes them."""

import pytest

from prunefield.papers import rows
from prunefield.papers.redman2025._ideal import ROUNDS
from prunefield.papers.redman2025.fig5 import Fig5, find_group, share_signs
from prunefield.papers.redman2025.figS3 import FigS3, find_plateau
from prunefield.papers.redman2025.hypothesis import Hypothesis


def test_signs_are_counted_over_later_rounds_and_groups():
    table = Fig5().ideal()
    pairs = ROUNDS * (ROUNDS - 1) / 2
    assert share_signs(table, "fate").tolist() == [1.0] * 3
    assert share_signs(table, "shuffled").tolist() == pytest.approx([1 - (ROUNDS - 1) / pairs] * 3)


def test_fewer_and_larger_rounds_have_the_papers_groups_at_the_same_densities():
    table = Fig5().ideal()
    assert [find_group(table, number) for number in range(1, ROUNDS + 1)] == list(range(1, ROUNDS + 1))
    group = table["group"]
    few = table[group < 6].assign(survives=False, before=0.55 ** (group - 1), after=0.55**group)  # the smoke scale's
    assert (find_group(few, 3), find_group(few, 8)) == (2, 5)
    for claim in (*Fig5.neutral, *Fig5.striking):
        assert claim.check(few).status != "not testable at this scale"
        assert claim.judge(few, "smoke").status == "not testable at this scale"


def test_a_plateau_begins_where_nearly_all_of_the_rise_is_done():
    table = rows(FigS3().ideal(), data="leaves")
    assert (find_plateau(table, 1), find_plateau(table, 2)) == (8, 4)


def test_a_greedy_pruning_that_reaches_more_refutes_the_maximum():
    table = Hypothesis().ideal()
    greedy = table["method"] == "greedy"
    more = table.assign(kurtosis=table["kurtosis"].where(~greedy, table["kurtosis"] + 0.9))
    verdicts = [part.check(more) for part in Hypothesis.parts if part.text.startswith("(d) IMP increases")]
    assert {verdict.status for verdict in verdicts} == {"not reproduced"}
    assert all("share of the rise 0.500" in verdict.note for verdict in verdicts)
