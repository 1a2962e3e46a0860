"""Figs 5, S3 and S4 and H*: every claim holds on a table as the paper describes it and fails on its null."""

from itertools import product

import pandas
import pytest

from prunefield.papers._rows import rows
from prunefield.papers.redman2025._fig5_checks import signs
from prunefield.papers.redman2025._nets import DATA
from prunefield.papers.redman2025.fig5 import Fig5
from prunefield.papers.redman2025.figS3 import FigS3, plateau
from prunefield.papers.redman2025.figS4 import FigS4
from prunefield.papers.redman2025.hypothesis import Hypothesis

ROUNDS = 10
CASES = tuple(product(DATA, range(3)))


def fig5_table():
    found = []
    for (data, seed), n, by in product(CASES, range(ROUNDS), ("fate", "shuffled", "magnitude", "oneshot")):
        for group in range(n + 1, ROUNDS + 2):
            first_round = (0.3, 0.1, 0.01)[group - 1] if group < 4 else -0.05 * group
            later = 0.2 if group == n + 1 else -0.03 * group
            score = {"fate": later if n else first_round, "shuffled": -0.02 - 1e-4 * (group % 3)}.get(by, -0.01 * group)
            what = {"group": group, "survives": group > ROUNDS, "before": 0.7 ** (group - 1), "after": 0.7**group}
            score += 1e-3 * seed
            columns = dict.fromkeys(("exact", "of_mean", "pooled", "first"), score)
            found.append({"data": data, "seed": seed, "by": by, "round": n, **what, **columns})
    return pandas.DataFrame(found)


def figs3_table():
    found = []
    for (data, seed), layer, method, n in product(CASES, (1, 2), ("imp", "oneshot", "random"), range(ROUNDS + 1)):
        rise = n / ROUNDS if layer == 1 else min(n, 4) / 4 - 0.02 * max(0, n - 6)
        kurtosis = 3 + 0.01 * seed + (0.001 * n if method == "random" else rise)
        place = {"data": data, "layer": layer, "seed": seed, "method": method, "round": n}
        found.append(place | {"density": 0.7**n, "kurtosis": kurtosis, "gaussian": 2.99})
    return pandas.DataFrame(found)


def figs4_table():
    names = ("pearson_w", "spearman_w", "pearson_abs_w", "spearman_abs_w")
    spreads = {"spread_low": 1.0, "spread_high": 3.0}
    places = [{"data": data, "seed": seed, "round": n} for (data, seed), n in product(CASES, range(ROUNDS))]
    return pandas.DataFrame([place | dict.fromkeys(names, 0.1) | spreads for place in places])


def hypothesis_table():
    found = []
    methods = ("imp", "oneshot", "random", "greedy", "cavity")
    for (data, seed), inputs, method, n in product(CASES, ("data", "clone"), methods, range(ROUNDS + 1)):
        effect = {"imp": 1.0, "oneshot": 0.6, "random": 0.0, "greedy": 1.0, "cavity": 0.9}[method] * n / ROUNDS
        effect *= 0.2 if inputs == "clone" else 1
        numbers = {"density": 0.7**n, "width": 14 - 8 * effect + 0.1 * seed, "kurtosis": 3 + effect, "own": 3 + effect}
        scores = {"next": 0.1, "next_shuffled": -0.01} if method == "imp" and inputs == "data" and n < ROUNDS else {}
        found.append({"data": data, "inputs": inputs, "seed": seed, "method": method, "round": n, **numbers, **scores})
    return pandas.DataFrame(found)


TABLES = {Fig5: fig5_table(), FigS3: figs3_table(), FigS4: figs4_table(), Hypothesis: hypothesis_table()}
CLAIMS = [(item, claim) for item in TABLES for claim in item.claims]


@pytest.mark.parametrize(("item", "claim"), CLAIMS, ids=[claim.text for _, claim in CLAIMS])
def test_a_claim_holds_on_the_papers_picture_and_fails_on_its_null(item, claim):
    assert claim.check(TABLES[item]).status == "reproduced"
    assert claim.null is not None
    assert claim.check(claim.null(TABLES[item])).status == "not reproduced"


def test_signs_are_counted_over_later_rounds_and_groups():
    table = fig5_table()
    pairs = ROUNDS * (ROUNDS - 1) / 2
    assert signs(table, "fate") == [1.0] * 3
    assert signs(table, "shuffled") == pytest.approx([1 - (ROUNDS - 1) / pairs] * 3)


def test_few_rounds_leave_some_claims_untested():
    table = fig5_table()
    few = table[table["group"] < 6].assign(survives=False)
    found = [claim.check(few).status for claim in Fig5.claims if "round 8" in claim.text or "round 3" in claim.text]
    assert found == ["not testable at this scale"] * 4


def test_a_plateau_begins_where_nearly_all_of_the_rise_is_done():
    table = rows(figs3_table(), data="leaves")
    assert (plateau(table, 1), plateau(table, 2)) == (9, 4)


def test_a_greedy_pruning_that_reaches_more_refutes_the_maximum():
    table = hypothesis_table()
    greedy = table["method"] == "greedy"
    more = table.assign(kurtosis=table["kurtosis"].where(~greedy, table["kurtosis"] + 1))
    verdicts = [claim.check(more) for claim in Hypothesis.claims if "maximally (" in claim.text]
    assert [verdict.status for verdict in verdicts] == ["not reproduced"] * 2
    assert all("share of the rise 0.500" in verdict.note for verdict in verdicts)
