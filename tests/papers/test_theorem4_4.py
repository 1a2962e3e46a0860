"""The item of Theorem 4.4: verdicts at smoke scale, and that they are those of an independent program."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from prunefield.papers import SCALES, rows
from prunefield.papers.bar2023.theorem4_4 import TAUS, Theorem4_4
from prunefield.runs import Result, State

EXPECTED = ["corrected", "corrected", "reproduced", "corrected", "not reproduced", "reproduced", "reproduced"]


@pytest.fixture(scope="module")
def results():
    runs = Theorem4_4().runs("smoke")
    return {run: Result([record for record in run(State()) if record]) for run in runs}


@pytest.fixture(scope="module")
def table(results):
    return Theorem4_4().table(results)


def test_verdicts(table):
    assert [claim.check(table).status for claim in Theorem4_4.claims] == EXPECTED


def test_the_nulls_fail(table):
    for claim in Theorem4_4.claims:
        assert claim.null is not None
        assert claim.check(claim.null(table)).status == "not reproduced", claim.text


def test_failure_rates_are_those_of_the_closed_form_elsewhere(table):
    # Percentages found by an independent program, 400 draws each, for τ = 0.1, 0.5, 1, 2.
    known = {10: (4, 30, 52, 78), 100: (6, 67, 97, 100), 1000: (10, 99, 100, 100)}
    for d, rates in known.items():
        moved = rows(table, dimension=d, tau=TAUS[1:]).sort_values("tau")
        ours = moved["printed_failures"].to_numpy() / moved["draws"].to_numpy()
        theirs = np.array(rates) / 100
        spread = np.sqrt(2 * np.maximum(theirs * (1 - theirs), 0.005) / 400) + 0.005
        assert (np.abs(ours - theirs) < 4 * spread).all()


def test_the_drawing_is_small(table, results, tmp_path):
    figure = Figure(figsize=Theorem4_4.size)
    Theorem4_4().draw(figure, table, results)
    figure.savefig(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size < 1e6


def test_all_scales_have_runs():
    for scale in SCALES:
        runs = Theorem4_4().plan(scale)
        assert len({run.id for run in runs}) == len(runs)
        assert all(run.seconds() > 0 for run in runs)
