"""Tables 1 to 4 of bar2023: the recount of printed numbers, verdicts by gate, seeds and margin, and plans."""

import math

import numpy as np
import pytest
from pandas import DataFrame, concat
from scipy import stats

from prunefield.lab.execution import order_runs
from prunefield.papers.bar2023._columns import COLUMNS
from prunefield.papers.bar2023._comparisons import OPEN, check_gate, judge_runs, summarise_printed
from prunefield.papers.bar2023._experiments import places
from prunefield.papers.bar2023._night import DENSITIES, LEAST_CONTROLS
from prunefield.papers.bar2023._printed import ACCURACIES, DEVIATIONS, cells
from prunefield.papers.bar2023.table1 import Table1
from prunefield.papers.bar2023.table3 import Table3
from prunefield.report.ledger import find_items
from prunefield.runs.tickets import Tickets

NAMES = ("table1", "table2", "table3", "table4")
YES, NO = "reproduced", "not reproduced"
PRIMARY, DENSITY = Table1.comparisons[0], DENSITIES[0]
# Wins and mean difference of the six cells of each family; the twelve together were counted by hand in the fact sheet.
RECOUNT = {"SynFlow + chi": (7, -0.01), "SynFlow + rand": (9, 0.52), "SynFlow + rand + chi": (11, 0.41)}


@pytest.fixture
def ideal():
    return Table1().ideal()


def judge_primary(table, density=DENSITY):
    return judge_runs(table, Table1.comparisons, PRIMARY, "ResNet-20", density)


def set_gaps(table, gaps, treatment="SynFlow + rand", control="SynFlow"):
    """The table with these differences of the seeds 0, 1, …, of ResNet-20 at 2%; further seeds are dropped."""
    ours = (table["source"] == "here") & (table["net"] == "ResNet-20") & (table["density"] == DENSITY)
    table = table[~ours | (table["seed"] < len(gaps)) | ~table["column"].isin([treatment, control])].copy()
    for column, values in ((control, [50.0] * len(gaps)), (treatment, [50.0 + gap for gap in gaps])):
        chosen = ours.reindex(table.index) & (table["column"] == column)
        table.loc[chosen, "accuracy"] = table.loc[chosen, "seed"].map(dict(enumerate(values)))
    return table


def find_printed(pair, item):
    """What a comparison finds in the printed numbers of each family."""
    from pandas import DataFrame

    table = DataFrame(cells(item.columns, tiny=item.tiny)).assign(source="paper", seed=-1)
    return {family: pair.judge_printed(table, family) for family in item.families}, table


def test_the_recount_of_table_1():
    for pair in Table1.comparisons[:3]:
        found, table = find_printed(pair, Table1)
        gaps = pair.subtract(table, "paper")["gap"]
        wins, mean = RECOUNT[pair.treatment]
        assert (gaps > 0).sum() == wins
        assert gaps.mean() == pytest.approx(mean, abs=0.006)
        assert sum(int(verdict.observed.split()[2]) for verdict in found.values()) == wins


def test_printed_verdicts_are_per_family_and_do_not_hang_on_one_cell():
    found, _ = find_printed(PRIMARY, Table1)
    assert {family: verdict.status for family, verdict in found.items()} == {"VGG-19": NO, "ResNet-20": YES}
    sparse, _ = find_printed(Table1.comparisons[5], Table1)  # SNIP on sparse data: 47 points in one cell of VGG-19
    assert sparse["VGG-19"].status == OPEN
    assert "without CIFAR-100 at 2% +0.15" in sparse["VGG-19"].observed
    assert "depends on one cell, CIFAR-100 at 2%" in sparse["VGG-19"].note
    tiny, _ = find_printed(Table3.comparisons[0], Table3)  # three cells each, and no deviations
    assert [verdict.status for verdict in tiny.values()] == [OPEN, OPEN]
    assert [verdict.note.rpartition(": ")[2] for verdict in tiny.values()] == [
        "its interval includes zero",
        "it depends on one cell, Tiny ImageNet at 5%",
    ]


@pytest.mark.parametrize(("first", "second"), [(0.4, 0.4), (4.15, 0.04), (0.1, 0.3)])
def test_the_interval_of_one_printed_cell_is_that_of_welch(first, second):
    """Two columns with three seeds each: the t-test from summary statistics."""
    cell = {"source": "paper", "data": "CIFAR-10", "net": "VGG-19", "density": 0.02, "seed": -1}
    columns = ((PRIMARY.control, 50.0, first), (PRIMARY.treatment, 51.0, second))
    table = DataFrame([{**cell, "column": name, "accuracy": a, "deviation": d} for name, a, d in columns])
    found = summarise_printed(PRIMARY.subtract(table, "paper"))
    oracle = stats.ttest_ind_from_stats(51.0, second, 3, 50.0, first, 3, equal_var=False)
    error = math.sqrt((first**2 + second**2) / 3)
    freedom = error**4 / ((first**4 + second**4) / 9 / 2)
    assert 2 * stats.t.sf(1 / error, freedom) == pytest.approx(oracle.pvalue)
    reach = stats.t.ppf(0.975, freedom) * error
    assert (found.low, found.high) == pytest.approx((1 - reach, 1 + reach))


@pytest.mark.parametrize(
    ("mean", "spread", "status", "word"),
    [(1.0, 0.3, YES, "a difference"), (-1.0, 0.3, NO, "the opposite"), (0.0, 0.3, NO, "no difference"),
     (0.0, 2.0, OPEN, "neither")],
)  # fmt: skip
def test_the_primary_comparison_is_decided_by_difference_and_margin(mean, spread, status, word, ideal):
    gaps = mean + spread * np.array([-1, 1, -1, 1, -1, 1, -1, 1.0])
    verdict = judge_primary(set_gaps(ideal, gaps.tolist()))
    assert (verdict.status, verdict.n) == (status, 8)
    assert verdict.note.startswith(word)
    assert ("for the paper to be right" in verdict.note) == (status == NO)


@pytest.mark.parametrize(("mean", "word"), [(-1.0, "the opposite"), (0.0, "no difference")])
def test_a_comparison_of_our_own_does_not_speak_of_the_paper(mean, word, ideal):
    (pair,) = [pair for pair in Table1.comparisons if pair.own and pair.control == "SynFlow, shuffled"]
    gaps = mean + 0.1 * np.array([-1, 1, -1, 1, -1, 1, -1, 1.0])
    table = set_gaps(ideal, gaps.tolist(), treatment=pair.treatment, control=pair.control)
    verdict = judge_runs(table, Table1.comparisons, pair, "ResNet-20", DENSITY)
    assert verdict.status == NO
    assert verdict.note.startswith(word)
    assert "paper" not in verdict.note


def test_what_no_run_has_shown_yet_is_not_a_number(ideal):
    one = ideal[(ideal["source"] == "paper") | ((ideal["column"] == "SynFlow + rand") & (ideal["seed"] == 0))]
    assert judge_primary(one).observed.startswith("no difference known yet, 0 of 8 seeds;")
    assert judge_primary(one).observed.endswith("dense not known yet, SynFlow − Random not known yet")


def test_missing_seeds_are_not_extrapolated(ideal):
    for seeds in (0, 1, 2, 7):
        verdict = judge_primary(set_gaps(ideal, [1.0] * seeds))
        assert (verdict.status, verdict.n) == (OPEN, seeds)
        assert f"{seeds} of 8 seeds" in verdict.observed


@pytest.mark.parametrize(("column", "accuracy"), [("Dense", 9.9), ("Random", 51.5)])
def test_nothing_is_decided_behind_a_closed_gate(column, accuracy, ideal):
    """A dense network below its least accuracy, or Random as good as SynFlow."""
    assert check_gate(ideal, "ResNet-20", DENSITY)[0]
    table = ideal.copy()
    table.loc[table["column"] == column, "accuracy"] = accuracy
    assert not check_gate(table, "ResNet-20", DENSITY)[0]
    verdict = judge_primary(table)
    assert verdict.status == OPEN
    assert "gate not passed" in verdict.observed


def test_three_seeds_of_the_positive_control_are_too_few(ideal):
    few = ideal[(ideal["column"] != "Random") | (ideal["seed"] < LEAST_CONTROLS - 1)]
    assert not check_gate(few, "ResNet-20", DENSITY)[0]


def test_other_comparisons_are_corrected_for_their_number(ideal):
    """The same p-value decides the primary comparison, but not one of the 13 others."""
    gaps = 0.7 + 0.75 * np.array([-1, 1, -1, 1, -1, 1, -1, 1.0])
    assert 0.003 < stats.ttest_1samp(gaps, 0).pvalue < 0.05
    assert judge_primary(set_gaps(ideal, gaps.tolist())).status == YES
    chi = Table1.comparisons[1]
    table = set_gaps(ideal, gaps.tolist(), treatment=chi.treatment)
    others = table["column"].isin(["SynFlow", "Random", "Dense", chi.treatment]) | (table["source"] == "paper")
    verdict = judge_runs(table[others], Table1.comparisons, chi, "ResNet-20", DENSITY)
    assert verdict.status == OPEN
    assert "corrected for 13 comparisons" in verdict.note


def test_every_column_is_printed_and_run():
    assert set(ACCURACIES) == set(DEVIATIONS) < set(COLUMNS)
    assert {len(values) for table in (ACCURACIES, DEVIATIONS) for values in table.values()} == {12}
    assert len(cells(("SynFlow", "SynFlow + rand"), tiny=True)) == 12
    assert all(sum(pair.primary for pair in item.comparisons) == 1 for item in map(_read, NAMES))


def _read(name):
    (item,) = find_items([f"bar2023/{name}"])
    return item


def test_night_begins_with_the_gate_and_the_primary_comparison():
    known = places(Table1.all_columns())
    first = [(known[run][1], run.seed) for run in Table1().runs("night")[:21]]
    assert first[:4] == [("Dense", 8), ("Random", 8), ("SynFlow", 8), ("SynFlow + rand", 8)]
    for column, seeds in (("SynFlow", 8), ("SynFlow + rand", 8), ("Random", LEAST_CONTROLS), ("Dense", 1)):
        assert sum(name == column for name, _ in first) == seeds


def test_tickets_and_their_sampled_masks_are_shared():
    plans = {name: {run.id: run for run in order_runs(_read(name).runs("night"))} for name in NAMES}
    assert sum(isinstance(run, Tickets) for run in plans["table2"].values()) == 2 * 8
    assert len(plans["table1"].keys() & plans["table4"].keys()) >= 2 * 8


@pytest.mark.parametrize("name", NAMES)
def test_below_night_nothing_is_decided(name, smoke):
    from prunefield.report.ledger import read_finding

    finding = read_finding(smoke, _read(name), "laptop")
    assert finding.results.keys() == set(order_runs(_read(name).runs("smoke")))
    ours = [row for row in finding.rows if "here at" in row.claim.text]
    assert ours
    assert {row.verdict.status for row in ours} == {OPEN}


def test_a_table_is_judged_by_what_is_there(smoke, store):
    """At a scale at which `choose_runs` allows it, and only there."""
    from prunefield.lab.execution import obtain
    from prunefield.papers.bar2023.table4 import Table4
    from prunefield.report.drawings import write_caption
    from prunefield.report.ledger import read_finding

    class Open(Table4):
        def choose_runs(self, planned, done, scale):
            return done

    first, *others = Table4().runs("smoke")
    assert read_finding(store, Open(), "smoke") is None
    obtain(store, first)
    assert read_finding(store, Table4(), "smoke") is None
    finding = read_finding(store, Open(), "smoke")
    assert finding.missing == len(others)
    assert f"1 of {1 + len(others)} run" in finding.describe()
    assert f"1 of {1 + len(others)} run" in write_caption(finding)
    assert {row.verdict.status for row in finding.rows if "here at" in row.claim.text} == {OPEN}
    finding.draw()


def test_what_is_complete_goes_before_a_larger_scale_that_is_not(store):
    from prunefield.lab.execution import obtain
    from prunefield.report.ledger import read_finding
    from prunefield.runs.sketch import Sketch

    class Two(type(_read("lemmaB.1"))):
        scales = ("smoke", "night")

        def runs(self, scale):
            return [Sketch(dimension=4, draws=10, seed=seed) for seed in {"smoke": (0,), "night": (1, 2)}[scale]]

        def choose_runs(self, planned, done, scale):
            return done

    small, first, second = (Sketch(dimension=4, draws=10, seed=seed) for seed in range(3))
    obtain(store, first)
    assert (read_finding(store, Two()).scale, read_finding(store, Two()).missing) == ("night", 1)
    obtain(store, small)
    assert read_finding(store, Two()).scale == "smoke"
    assert read_finding(store, Two(), "night").missing == 1
    obtain(store, second)
    assert (read_finding(store, Two()).scale, read_finding(store, Two()).missing) == ("night", 0)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_all_columns_of_the_accuracies_are_inside_the_drawing(number):
    """However many networks of ours there are: two at night scale."""
    from prunefield.core.figures import fix_layout, make_figure
    from prunefield.papers import Item

    item = Item.parse(f"bar2023/table{number}")
    table = item.ideal()
    ours = table[table["source"] == "here"]
    table = concat([table, ours.assign(data="CIFAR-10, 16 × 16"), ours.assign(data="other, 16 × 16")])
    figure = make_figure(lambda figure: item.draw(figure, table, {}), item.size, "footer")
    fix_layout(figure)
    figure.canvas.draw()
    (accuracies,) = (axes for axes in figure.axes if not axes.axison)
    shown = [text.get_window_extent() for text in accuracies.texts]
    assert len(shown) > 20
    assert min(box.x0 for box in shown) >= 0
    assert max(box.x1 for box in shown) <= figure.bbox.x1
