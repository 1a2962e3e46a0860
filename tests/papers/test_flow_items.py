"""The items of lufkin2024 on the flow, at smoke scale: what must come out does, and checks see what they are for."""

import numpy as np
import pytest

from prunefield.papers import SCALES
from prunefield.papers.lufkin2024._neurons import reach
from prunefield.papers.lufkin2024.claim3_2 import find_threshold
from prunefield.report.ledger import find_items, read_finding

NAMES = ("lemma3.1", "lemmaB.1", "section4.2", "fig5", "fig8", "claim3.2")


@pytest.fixture(scope="module")
def findings(smoke):
    return {name: read_finding(smoke, *find_items([f"lufkin2024/{name}"]), "smoke") for name in NAMES}


def _statuses(finding):
    return [row.verdict.status for row in finding.rows]


def test_the_lemmas(findings):
    assert _statuses(findings["lemma3.1"]) == ["reproduced"] * 4 + ["corrected"]
    assert _statuses(findings["lemmaB.1"])[:3] == ["reproduced", "reproduced", "corrected"]


def test_the_cubic_of_heavy_tails_is_worse_than_the_line(findings):
    """E|X|⁵ of Kur(5) is infinite: the cubic is right only very near 0."""
    assert _statuses(findings["lemmaB.1"])[3] == "not reproduced"
    rows = findings["lemmaB.1"].table.query("model == 'Kur(5)'")
    near = rows[rows["a"].abs().between(0.4, 0.6)]
    line = np.sqrt(2 / np.pi) * near["a"]
    assert ((near["phi"] - near["cubic"]).abs() > (near["phi"] - line).abs()).all()


def test_the_claim_holds_far_from_zero_kurtosis(findings):
    assert _statuses(findings["claim3.2"])[:2] == ["reproduced"] * 2
    assert _statuses(findings["fig5"])[1] == "reproduced"


def test_fields_localise_on_binary_data_and_small_batches_decide_nothing_else(findings):
    assert _statuses(findings["fig8"]) == ["reproduced", *["not testable at this scale"] * 4]


def test_times_of_one_field_are_not_counted_as_fields(findings):
    assert findings["fig8"].rows[4].verdict.n == 1
    assert findings["lemma3.1"].rows[0].verdict.n == findings["lemma3.1"].rows[3].verdict.n == 8


def test_peaks_of_all_first_weights_are_compared(findings):
    table = findings["section4.2"].table
    assert table.groupby(["model", "batch", "amplifier"]).size().eq(8).all()
    assert table["gap"].between(0, 20).all()


def test_a_threshold_is_found_where_it_is():
    excess, ipr = np.array([-2.0, -1.0, 0.0, 1.0]), np.array([20.0, 5.0, 4.0, 1.0])
    assert find_threshold(excess, ipr) == pytest.approx(-0.5)
    assert find_threshold(-excess[::-1], ipr[::-1]) is None
    assert find_threshold(excess, ipr + 10) is None


def test_the_odds_of_matches_are_binomial():
    from scipy.stats import binom

    assert reach(20, 28) == pytest.approx(binom.cdf(20, 28, 26 / 28))


@pytest.mark.parametrize("name", NAMES)
def test_larger_scales_take_longer(name):
    (item,) = find_items([f"lufkin2024/{name}"])
    seconds = [sum(run.seconds() for run in item.plan(scale)) for scale in SCALES]
    assert seconds == sorted(seconds)


def test_runs_are_shared():
    runs = {name: {run.id for run in find_items([f"lufkin2024/{name}"])[0].runs("smoke")} for name in (*NAMES, "fig3")}
    assert runs["fig5"] == runs["claim3.2"]
    assert runs["lemmaB.1"] <= runs["fig3"]
    assert len(runs["section4.2"] & runs["fig3"]) == 2
