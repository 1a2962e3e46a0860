"""Tables 1 to 4 and Figs 1 and 2 of bar2023: the recount of printed numbers, verdicts, and plans."""

import pytest

from prunefield.lab.execution import order_runs
from prunefield.papers.bar2023._experiments import COLUMNS, places
from prunefield.papers.bar2023._printed import ACCURACIES, cells
from prunefield.papers.bar2023.table1 import Table1
from prunefield.report.ledger import find_items, read_finding
from prunefield.runs.tickets import Tickets

NAMES = ("table1", "table2", "table3", "table4", "fig1", "fig2")
YES, NO, OPEN = "reproduced", "not reproduced", "not testable at this scale"
RECOUNT = {  # wins, ties and mean difference, counted by hand in the fact sheet
    ("SynFlow", "SynFlow + chi"): "7 of 12 cells (0 ties), mean difference -0.01",
    ("SynFlow", "SynFlow + rand"): "9 of 12 cells (0 ties), mean difference +0.52",
    ("SynFlow", "SynFlow + rand + chi"): "11 of 12 cells (0 ties), mean difference +0.41",
    ("SynFlow + rand", "SynFlow + rand + chi"): "5 of 12 cells (1 ties), mean difference -0.11",
    ("SNIP + normal", "SNIP + normal + rand"): "9 of 12 cells (1 ties), mean",
    ("SNIP + normal", "SNIP + sparse"): "8 of 12 cells",
    ("SNIP + sparse", "SNIP + sparse + rand"): "12 of 12 cells (0 ties), mean difference +1.24",
}


@pytest.fixture(scope="module")
def findings(smoke):
    return {name: read_finding(smoke, *find_items([f"bar2023/{name}"]), "smoke") for name in NAMES}


def test_the_recount_of_table_1(findings):
    table = findings["table1"].table
    for comparison in Table1.comparisons:
        if (expected := RECOUNT.get(comparison[:2])) is not None:
            assert expected in comparison.judge_printed(table).observed


def test_printed_verdicts(findings):
    counted = {name: [row.verdict.status for row in findings[name].rows[::2]] for name in NAMES[:4]}
    assert counted == {
        "table1": [YES, NO, YES, NO, YES, YES, YES, YES],
        "table2": [YES, YES, NO, YES, YES, YES],
        "table3": [YES],
        "table4": [YES, YES],
    }


def test_two_seeds_are_no_evidence_and_no_effect_is_never_reproduced(findings):
    for name in NAMES[:4]:
        assert {row.verdict.status for row in findings[name].rows[1::2]} == {OPEN}
        assert {row.null.status for row in findings[name].rows[1::2]} == {NO}


@pytest.mark.parametrize(("shift", "status"), [(5.0, YES), (-5.0, NO), (0.0, OPEN)])
def test_a_measured_difference_is_judged_by_its_interval(shift, status, findings):
    """Two seeds with differences of shift ± 0.1 and shift = 0 ± 1."""
    comparison, table = Table1.comparisons[0], findings["table1"].table
    ours = table["source"] == "here"
    noise = table["seed"].map({0: 0.1, 1: -0.1} if shift else {0: 1.0, 1: -1.0})
    treated = ours & (table["column"] == comparison.treatment)
    made = table.assign(accuracy=table["accuracy"].where(~ours, 50.0))
    made.loc[treated, "accuracy"] = 50.0 + shift + noise[treated]
    _, claim = comparison.claims(Table1.where)
    verdict = claim.check(made)
    assert verdict.status == status
    assert f"{shift:+.2f}" in verdict.observed
    assert claim.check(claim.null(made)).status == NO


def test_every_column_is_printed_and_run():
    assert set(ACCURACIES) == set(COLUMNS)
    assert {len(values) for values in ACCURACIES.values()} == {12}
    assert len(cells(("SynFlow", "SynFlow + rand"), tiny=True)) == 12
    assert len(places(tuple(COLUMNS))) == 17 * (2 + 32 + 36)


def test_tickets_and_their_sampled_masks_are_shared():
    tickets = {
        run.id for run in order_runs(find_items(["bar2023/table2"])[0].runs("laptop")) if isinstance(run, Tickets)
    }
    assert len(tickets) == 2 * (8 + 24)
    plans = [{run.id for run in find_items([f"bar2023/{name}"])[0].runs("laptop")} for name in NAMES]
    assert len(plans[0] & plans[3]) == 64


def test_figures(findings):
    """SynFlow against uniform masks is decided at smoke scale; 20 levels leave the 1.2 % of the caption."""
    fig1, fig2 = findings["fig1"], findings["fig2"]
    assert [row.verdict.status for row in fig1.rows] == [YES, OPEN, OPEN, OPEN, OPEN, YES]
    assert len(fig1.table) == 10
    assert [row.verdict.status for row in fig2.rows] == [OPEN, OPEN, OPEN]
    assert [claim.check(fig2.table).status for claim in fig2.item.claims] == [YES, YES, NO]
    assert "density 1.19" in fig2.item.claims[2].check(fig2.item.ideal()).observed


def test_the_experiments_stay_within_their_time():
    for scale, limit in (("smoke", 20), ("laptop", 2 * 90 * 60)):
        runs = {run.id: run for name in NAMES for run in order_runs(find_items([f"bar2023/{name}"])[0].runs(scale))}
        assert sum(run.seconds() for run in runs.values()) < limit
