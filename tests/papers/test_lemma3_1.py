"""lufkin2024/lemma3.1 on tables that are known: the exact errors of a true lemma, and ones in which it is false."""

import itertools

import numpy as np
import pytest
import torch

from prunefield.papers.lufkin2024.lemma3_1 import LADDER, Lemma3_1, measure_one_hot
from prunefield.tasks.ising import Ising
from prunefield.theory.flow import compute_velocity

YES, NO, MENDED = "reproduced", "not reproduced", "corrected"
BREAKDOWN = 3  # the place of the claim
INITIAL = 0.041 * 40  # errors of initial weights fall as 1/N; 0.041 was measured at N = 40


def _table(localise):
    """What the paper says, but with the errors `localise(size)` once w is one site, and with the right sign of ∇L."""
    table = Lemma3_1().ideal()
    errors = table["size"].map(localise).where(table["time"] >= 40, INITIAL / table["size"])
    return table.assign(distance=errors.where(table["model"] == "Ising", 0) ** 2, noise=3e-4, wrong=4.0)


def _exact(size):
    return measure_one_hot(Ising(size=size))


def test_a_true_lemma_passes_every_check_and_its_nulls_none():
    ideal = _table(_exact)
    assert [claim.check(ideal).status for claim in Lemma3_1.claims] == [*[YES] * 4, MENDED]
    assert [claim.check(claim.null(ideal)).status for claim in Lemma3_1.claims if claim.null] == [NO] * 5


@pytest.mark.parametrize(
    "localise",
    [lambda size: INITIAL / size, lambda size: _exact(size) * 40 / size, lambda size: 2 * INITIAL / size],
    ids=["as at the start", "vanishing with N", "twice the start"],
)
def test_a_lemma_that_holds_for_localised_weights_too_does_not_break_down(localise):
    assert Lemma3_1.claims[BREAKDOWN].check(_table(localise)).status == NO


def test_weights_that_never_localise_show_no_breakdown():
    table = _table(_exact)
    assert Lemma3_1.claims[BREAKDOWN].check(table.assign(ipr=3 / table["size"])).status == NO


def test_the_error_at_one_site_is_that_of_enumeration():
    """−∇L by summing over all states, at w = 0.3 eₖ; the size of w does not matter."""
    task = Ising(size=10)
    w = torch.zeros(1, 10, dtype=torch.float64)
    w[0, 4] = 0.3
    x = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=10)), dtype=torch.float64)
    energy, before = (x * x.roll(1, 1)).sum(1), x @ w[0]
    truth = torch.zeros(10, dtype=torch.float64)
    for label, coupling in enumerate(task.couplings):
        p = torch.softmax(coupling * energy, 0)
        truth += (2 * (label - before) * (before > 0) * p) @ x / 2
    short, long = task.covariance(0), task.covariance(1)
    flow = compute_velocity(w, short, long, task.amplifier)
    drive = flow + w @ (short + long) / 2
    assert float((truth - flow).norm() / drive.norm()) == pytest.approx(measure_one_hot(task), rel=1e-9)


def test_the_error_at_one_site_does_not_vanish_with_the_number_of_sites():
    errors = [_exact(size) for size in LADDER]
    assert errors[2:] == pytest.approx([0.0985] * 3, abs=1e-4)
    assert np.ptp(errors[2:]) < 1e-6
