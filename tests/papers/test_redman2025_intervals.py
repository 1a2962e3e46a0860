"""Intervals over seeds: against scipy's, in tables and in drawings, and for any number of seeds."""

import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure
from scipy import stats

from prunefield.measures.differences import compare_pairs, estimate_mean
from prunefield.papers.redman2025._greedy import compare_methods
from prunefield.papers.redman2025._intervals import add_intervals, draw_mean
from prunefield.papers.redman2025.hypothesis import Hypothesis
from prunefield.report.ledger import find_items, read_finding

COLUMNS = {
    "fig1": ["width", "lonely", "selectivity"],
    "fig3": ["width"],
    "fig4": ["width", "kurtosis"],
    "fig5": ["corrected", "exact"],
    "figS3": ["kurtosis"],
    "hypothesis": ["width", "kurtosis"],
    "reuse": ["imp", "oneshot", "random"],
}


@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_interval_is_that_of_scipy(count):
    values = np.random.default_rng(count).normal(5, 2, count)
    expected = stats.t.interval(0.95, count - 1, values.mean(), stats.sem(values))
    assert estimate_mean(values.tolist()) == pytest.approx((values.mean(), *expected))
    assert compare_pairs([0.0] * count, values.tolist())[:3] == pytest.approx((values.mean(), *expected))


def test_one_seed_has_no_interval():
    mean, low, high = estimate_mean([2.0])
    assert mean == 2
    assert np.isnan([low, high]).all()


def test_rows_share_the_interval_of_their_group_and_gaps_are_left_out():
    table = pandas.DataFrame({"data": list("aaab"), "size": [None] * 4, "width": [1.0, 2.0, None, 9.0]})
    found = add_intervals(table, ["width"], ["data", "size"])
    assert list(found["width_low"][:3]) == pytest.approx([estimate_mean([1.0, 2.0]).low] * 3)
    assert found["width_high"].isna().tolist() == [False, False, False, True]
    assert "width_low" not in table


@pytest.mark.parametrize(("count", "bars"), [(1, 0), (2, 0), (3, 4)])
def test_bars_are_drawn_from_three_seeds_on(count, bars):
    axes = Figure().add_subplot()
    values = pandas.DataFrame(np.arange(4.0)[:, None] + 0.1 * np.arange(count))
    draw_mean(axes, [1.0, 0.5, 0.2, 0.1], values, "black", "IMP")
    _, *lines = axes.collections
    assert sum(len(part.get_segments()) for part in lines) == bars
    if bars:
        low, high = lines[0].get_segments()[2][:, 1]
        assert (low, high) == pytest.approx(estimate_mean([2.0, 2.1, 2.2])[1:])


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_hold_the_intervals_of_their_means(name, smoke):
    (item,) = find_items([f"redman2025/{name}"])
    found = read_finding(smoke, item, "smoke")
    assert found is not None
    for column in COLUMNS[name]:
        rows = found.table.dropna(subset=[f"{column}_low"])
        assert len(rows) > 0
        assert (rows[f"{column}_low"] <= rows[column]).all()
        assert (rows[column] <= rows[f"{column}_high"]).all()  # of two seeds it holds both


def test_greedy_pruning_may_have_fewer_seeds_than_the_rest():
    rows = [
        {
            "data": "leaves",
            "inputs": "data",
            "seed": seed,
            "method": method,
            "round": 0,
            "kurtosis": kurtosis,
            "own": kurtosis,
            "width": w,
        }
        for seed in (0, 1)
        for method, kurtosis, w in (("imp", 4.0, 2.0), ("random", 3.0, 8.0), ("greedy", 4.0, 2.0), ("cavity", 3.5, 2.0))
        if seed == 0 or method in ("imp", "random")
    ]
    table = pandas.DataFrame(rows)
    assert compare_methods(table, "width").shape == (1, 4)
    for text in (
        "(d) IMP increases the kurtosis maximally (leaves)",
        "(d) Increasing the kurtosis is enough to localise (leaves)",
    ):
        (verdict,) = (part.check(table) for part in Hypothesis.parts if part.text == text)
        assert verdict.status == "reproduced"
        assert "nan" not in verdict.observed + verdict.note


def test_the_line_of_gaussian_values_is_named_beside_the_axes():
    """Inside, curves would cross its name."""
    from matplotlib.figure import Figure

    from prunefield.papers.redman2025._pictures import draw_gaussian_kurtosis

    figure = Figure()
    axes = figure.subplots()
    draw_gaussian_kurtosis(axes, 3 * 99 / 101)
    figure.canvas.draw()
    (name,) = axes.texts
    assert name.get_text() == "n = 100:\n2.941"
    assert name.get_window_extent().x0 >= axes.get_window_extent().x1
