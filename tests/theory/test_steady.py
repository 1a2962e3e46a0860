"""Steady states: flat for Gaussian data, a bump for spins, and both stand still under Eq. 5."""

import pytest
import torch

from prunefield.errors import RunError
from prunefield.measure.localisation import participate
from prunefield.runs.neuron import first_weights
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory import amplifier, fields, flow
from prunefield.theory.steady import find_steady


def test_gaussian_data_end_flat_at_the_height_that_is_known():
    short, long = (fields.correlate(40, xi) for xi in (1.0, 3.0))
    found = find_steady(first_weights(0, 4, 40, 1e-3), short, long, amplifier.gaussian).weights
    height = flow.settle(fields.wrap(short), fields.wrap(long), amplifier.gaussian)
    assert found.abs().flatten().tolist() == pytest.approx([height] * 160, abs=1e-7)


@pytest.mark.parametrize("task", [Ising(), Nlgp(g=3.0, lengthscales=(1.0, 2.0))], ids=lambda task: task.title)
def test_a_localised_bump_is_where_the_flow_ends(task):
    short, long = task.covariance(0), task.covariance(1)
    start = first_weights(0, 4, 40, 1e-3)
    end = flow.integrate(start, [0.0, 3000.0], short, long, task.amplifier)[-1]
    found = find_steady(end + 0.01 * first_weights(1, 4, 40, 1.0), short[0], long[0], task.amplifier).weights
    assert flow.move(found, short, long, task.amplifier).abs().max() < 1e-9
    assert (participate(found) * 40 > 6).all()
    heights = found.abs().sort(-1).values
    assert torch.allclose(heights[:, -1], heights[:, -2])  # it stands between two sites
    # The bump may stand anywhere on the ring; its values are those of the flow's.
    assert torch.allclose(found.abs().sort(-1).values, end.abs().sort(-1).values, rtol=0, atol=1e-6)


def test_from_the_first_weights_too_spins_localise_and_kur_does_not():
    for task, local in ((Ising(), True), (Kur(k=5.0), False)):
        short, long = task.covariance(0)[0], task.covariance(1)[0]
        found = find_steady(first_weights(0, 3, 40, 1e-3), short, long, task.amplifier)
        ipr = participate(found.weights) * 40
        assert bool((ipr > 6).all()) == local
        assert bool((ipr < 3).all()) != local


def test_a_search_that_does_not_end_says_so():
    short, long = (fields.correlate(40, xi) for xi in (1.0, 3.0))
    with pytest.raises(RunError, match="no steady state within 3 steps"):
        find_steady(first_weights(0, 1, 40, 1e-3), short, long, amplifier.gaussian, limit=3)
