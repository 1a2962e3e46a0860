"""Tables 1 to 4 of bar2023: the recount of printed numbers, verdicts by gate, seeds and margin, and plans."""

import math
from collections import Counter

import numpy as np
import pytest
from pandas import DataFrame, concat
from scipy import stats

from prunefield.lab.execution import order_runs
from prunefield.papers.bar2023._columns import COLUMNS
from prunefield.papers.bar2023._comparisons import OPEN, check_gate, judge_runs, weigh_printed
from prunefield.papers.bar2023._experiments import places
from prunefield.papers.bar2023._night import DENSITIES, LEAST_CONTROLS, MARGIN
from prunefield.papers.bar2023._printed import ACCURACIES, DEVIATIONS, cells
from prunefield.papers.bar2023.table1 import Table1
from prunefield.papers.bar2023.table2 import Table2
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
        shown = [verdict.observed.partition("better in ")[2].split()[0] for verdict in found.values()]
        assert sum(map(int, shown)) == wins


def test_printed_verdicts_are_per_family_and_do_not_hang_on_one_cell():
    found, _ = find_printed(PRIMARY, Table1)
    assert {family: verdict.status for family, verdict in found.items()} == {"VGG-19": NO, "ResNet-20": YES}
    sparse, _ = find_printed(Table1.comparisons[5], Table1)  # SNIP on sparse data: 47 points in one cell of VGG-19
    assert sparse["VGG-19"].status == OPEN
    assert "without CIFAR-100 at 2% +0.15" in sparse["VGG-19"].observed
    assert "depends on one cell, CIFAR-100 at 2%" in sparse["VGG-19"].note
    tiny, _ = find_printed(Table3.comparisons[0], Table3)  # three cells each, and no deviations
    assert [verdict.status for verdict in tiny.values()] == [OPEN, OPEN]
    assert tiny["ResNet-18"].note.startswith("neither a difference nor its absence")
    assert tiny["WideResNet-18"].note.startswith("it depends on one cell, Tiny ImageNet at 5%; p = ")


def test_printed_numbers_have_their_accuracies_and_steps():
    found, _ = find_printed(PRIMARY, Table1)
    assert "61.35 against 60.33%, 62,560 steps" in found["ResNet-20"].observed
    tiny, _ = find_printed(Table3.comparisons[0], Table3)
    assert "58.26 against 56.85%, steps not printed" in tiny["ResNet-18"].observed
    assert tiny["ResNet-18"].observed.endswith("without Tiny ImageNet at 10% +0.94")  # 0.94 in both other cells


def test_cells_at_chance_do_not_count():
    """SNIP on normal data in VGG-19 on CIFAR-100 at 2%: 1.00 with and without sampling."""
    pair = Table1.comparisons[4]
    found, table = find_printed(pair, Table1)
    assert "better in 3 of 5 cells (1 left out: both columns at chance)" in found["VGG-19"].observed
    assert (found["VGG-19"].status, found["VGG-19"].n) == (OPEN, 5)
    assert found["ResNet-20"].n == 6
    better = Table1.comparisons[5].subtract(table, "paper")  # only one column is at chance there
    assert len(better) == 12


@pytest.mark.parametrize(
    ("gap", "deviation", "status", "word"),
    [(1.0, 0.3, YES, "a difference"), (-1.0, 0.3, NO, "the opposite"), (0.1, 0.6, NO, "no difference"),
     (-0.3, 0.6, OPEN, "neither"), (0.1, 1.5, OPEN, "neither")],
)  # fmt: skip
def test_printed_differences_are_decided_as_ours_are(gap, deviation, status, word):
    """Whatever the number of cells in which the second column is better."""
    table = DataFrame(cells(Table1.columns)).assign(source="paper", seed=-1, deviation=deviation)
    above = 50.0 + gap * (table["column"] == PRIMARY.treatment)
    verdict = PRIMARY.judge_printed(table.assign(accuracy=above), "VGG-19")
    assert verdict.status == status
    assert verdict.note.startswith(word)
    assert ("for the paper to be right" in verdict.note) == (status == NO)


def test_where_the_paper_says_comparable_a_shown_equivalence_reproduces_it():
    pairs = [pair for pair in Table2.comparisons if pair.comparable]
    assert [pair.treatment for pair in pairs] == ["GraSP + normal + rand", "IMP + random data + rand"]
    table = Table2().ideal()
    for gap, status in ((0.0, YES), (-0.3, NO), (-1.0, NO)):
        noise = gap + 0.1 * np.array([-1, 1, -1, 1, -1, 1, -1, 1.0])
        part = set_gaps(table, noise.tolist(), treatment=pairs[0].treatment, control=pairs[0].control)
        assert judge_runs(part, Table2.comparisons, pairs[0], "ResNet-20", DENSITY).status == status
    equal = DataFrame(cells(Table2.columns)).assign(source="paper", seed=-1, accuracy=50.0, deviation=0.3)
    assert pairs[0].judge_printed(equal, "ResNet-20").status == YES
    assert Table2.comparisons[2].judge_printed(equal, "ResNet-20").status == NO


def test_nothing_printed_is_decided_by_one_cell():
    """In ResNet-20 sampling is shown to be comparable for GraSP and IMP, but not without CIFAR-10 at 2%."""
    decided = Counter()
    for item in map(_read, NAMES):
        for pair in (pair for pair in item.comparisons if not pair.own):
            found, table = find_printed(pair, type(item))
            for family, verdict in found.items():
                gaps = pair.subtract(table[table["net"] == family], "paper")
                parts = [weigh_printed(gaps.drop(index=place)) for place in gaps.index]
                if verdict.status == YES:
                    assert all(part.difference.low > 0 for part in parts)
                elif verdict.status == NO:
                    assert all(part.p_equal < 0.05 for part in parts)
                elif pair.comparable and family == "ResNet-20":
                    assert weigh_printed(gaps).decide() == "equivalent"
                    assert verdict.note.startswith("it depends on one cell, CIFAR-10 at 2%")
                decided[verdict.status] += 1
    assert (decided[YES], decided[NO]) == (11, 5)


def test_the_page_on_sampling_has_the_printed_accuracies_and_ours():
    from pathlib import Path

    from prunefield.report.kept import read_kept_runs
    from prunefield.report.publishing import judge_kept

    page = (Path(__file__).parents[2] / "docs" / "howto" / "sample.md").read_text()
    lines = page.partition("| score | printed, 10% |")[2].partition("\n\n")[0].splitlines()[2:]
    shown = {name: values for name, *values in (line.strip("| ").split(" | ") for line in lines)}
    kept = read_kept_runs("bar2023", "night")
    ours = concat([judge_kept(_read(f"table{number}"), "night", kept).table for number in (1, 2, 4)])
    ours = ours[(ours["source"] == "here") & (ours["density"] == DENSITY) & (ours["net"] == "ResNet-20")]
    ours = ours.drop_duplicates(["column", "seed"])
    found = {name: f"{part.mean():.1f} ± {part.std():.1f}" for name, part in ours.groupby("column")["accuracy"]}
    assert shown.keys() == ACCURACIES.keys() | found.keys()
    for name, (*printed, own) in shown.items():
        assert printed == ([f"{value:.2f}" for value in ACCURACIES[name][3:6]] if name in ACCURACIES else ["–"] * 3)
        assert own == found.get(name, "–")


def test_numbers_in_the_notes_are_those_that_are_printed():
    from prunefield.networks.resnet import Resnet
    from prunefield.networks.vgg import Vgg

    table = DataFrame(cells(tuple(ACCURACIES))).assign(source="paper", seed=-1)
    _, chi, both, _, snip, _, sparse, _ = (pair.subtract(table, "paper") for pair in Table1.comparisons[:8])
    assert ((chi["gap"] > 0).sum(), chi["gap"].max()) == (7, 0.31)
    assert ((both["gap"] > 0).sum(), both["gap"][both["net"] == "VGG-19"].max()) == (11, 0.34)
    assert (snip["gap"][snip["data"] == "CIFAR-10"] > 0).all()
    assert (sparse["gap"] > 0).all()
    labels = Table2.comparisons[2].subtract(table[table["net"] == "ResNet-20"], "paper").groupby("data")["gap"].mean()
    assert labels.round(2).to_dict() == {"CIFAR-10": 0.56, "CIFAR-100": -0.56}
    for net, density, kept in ((Vgg(width=64), 0.02, 400_480), (Resnet(width=16), 0.1, 27_090)):
        weights = sum(w.numel() for w in net.module((3, 32, 32), 10).parameters() if w.dim() > 1)
        assert weights - int((1 - density) * weights) == kept


@pytest.mark.parametrize(("first", "second"), [(0.4, 0.4), (4.15, 0.04), (0.1, 0.3)])
def test_the_interval_of_one_printed_cell_is_that_of_welch(first, second):
    """Two columns with three seeds each: the t-test from summary statistics."""
    cell = {"source": "paper", "data": "CIFAR-10", "net": "VGG-19", "density": 0.02, "seed": -1}
    columns = ((PRIMARY.control, 50.0, first), (PRIMARY.treatment, 51.0, second))
    table = DataFrame([{**cell, "column": name, "accuracy": a, "deviation": d} for name, a, d in columns])
    found = weigh_printed(PRIMARY.subtract(table, "paper"))
    oracle = stats.ttest_ind_from_stats(51.0, second, 3, 50.0, first, 3, equal_var=False)
    error = math.sqrt((first**2 + second**2) / 3)
    freedom = error**4 / ((first**4 + second**4) / 9 / 2)
    assert 2 * stats.t.sf(1 / error, freedom) == pytest.approx(oracle.pvalue)
    reach = stats.t.ppf(0.975, freedom) * error
    assert (found.difference.low, found.difference.high) == pytest.approx((1 - reach, 1 + reach))
    assert found.p_different == pytest.approx(oracle.pvalue)
    assert found.p_equal == pytest.approx(stats.t.sf((MARGIN - 1) / error, freedom))


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


def test_a_first_column_below_random_masks_is_reported():
    table, pair = Table2().ideal(), Table2.comparisons[0]
    assert "Random" not in judge_runs(table, Table2.comparisons, pair, "ResNet-20", DENSITY).note
    low = table["accuracy"] - 12.0 * (table["column"] == pair.control)
    note = judge_runs(table.assign(accuracy=low), Table2.comparisons, pair, "ResNet-20", DENSITY).note
    ours = table[(table["source"] == "here") & (table["net"] == "ResNet-20") & (table["density"] == DENSITY)]
    mean = ours.groupby("column")["accuracy"].mean()
    assert f"against Random, {pair.control} is at {mean[pair.control] - 12 - mean['Random']:+.2f} (" in note


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
    assert sum(isinstance(run, Tickets) for run in plans["table2"].values()) == 2 * 2 * 8  # in two networks
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
    printed, ours = (axes for axes in figure.axes if not axes.axison)
    shown = [text.get_window_extent() for text in (*printed.texts, *ours.texts)]
    assert len(shown) > 20
    assert min(box.x0 for box in shown) >= 0
    assert max(box.x1 for box in shown) <= figure.bbox.x1
