"""Steady states: flat for Gaussian data, a bump for spins, and both are fixed points of Eq. 5."""

import math
from itertools import pairwise

import pytest
import torch

from prunefield.core.errors import RunError
from prunefield.measures.localisation import compute_ipr
from prunefield.runs.neuron import draw_initial_weights
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory import amplifier, fields, flow
from prunefield.theory.steady import find_steady


def test_gaussian_data_end_flat_at_the_known_height():
    short, long = (fields.correlate_sites(40, xi) for xi in (1.0, 3.0))
    found = find_steady(draw_initial_weights(0, 4, 40, 1e-3), short, long, amplifier.amplify_gaussian).weights
    height = flow.find_flat_state(fields.make_circulant(short), fields.make_circulant(long), amplifier.amplify_gaussian)
    assert found.abs().flatten().tolist() == pytest.approx([height] * 160, abs=1e-7)


@pytest.mark.parametrize("task", [Ising(), Nlgp(g=3.0, lengthscales=(1.0, 2.0))], ids=lambda task: task.title)
def test_a_localised_bump_is_where_the_flow_ends(task):
    short, long = task.covariance(0), task.covariance(1)
    start = draw_initial_weights(0, 4, 40, 1e-3)
    end = flow.integrate_flow(start, [0.0, 3000.0], short, long, task.amplifier)[-1]
    found = find_steady(end + 0.01 * draw_initial_weights(1, 4, 40, 1.0), short[0], long[0], task.amplifier).weights
    assert flow.compute_velocity(found, short, long, task.amplifier).abs().max() < 1e-9
    assert (compute_ipr(found) * 40 > 6).all()
    heights = found.abs().sort(-1).values
    assert torch.allclose(heights[:, -1], heights[:, -2])  # it stands between two sites
    # The bump may stand anywhere on the ring; its values are those of the flow's.
    assert torch.allclose(found.abs().sort(-1).values, end.abs().sort(-1).values, rtol=0, atol=1e-6)


def test_from_initial_weights_spins_localise_and_kur_does_not():
    for task, local in ((Ising(), True), (Kur(k=5.0), False)):
        short, long = task.covariance(0)[0], task.covariance(1)[0]
        found = find_steady(draw_initial_weights(0, 3, 40, 1e-3), short, long, task.amplifier)
        ipr = compute_ipr(found.weights) * 40
        assert bool((ipr > 6).all()) == local
        assert bool((ipr < 3).all()) != local


def stretch(size):
    """Spins on `size` sites whose correlation lengths are the same share of the ring as with (0.3, 0.7) on 40."""
    couplings = (math.atanh(math.tanh(coupling) ** (40 / size)) for coupling in (0.3, 0.7))
    task = Ising(size=size, couplings=tuple(couplings))
    short, long = task.covariance(0)[0], task.covariance(1)[0]
    bump = torch.exp(-((fields.measure_distances(size) / size / 0.05) ** 2)) / size
    return short, long, find_steady(bump, short, long, amplifier.amplify_hypercube, tolerance=1e-9).weights


def test_if_lengthscales_grow_with_the_ring_n_times_w_converges_as_in_eq_8():
    found = [size * stretch(size)[2] for size in (80, 160, 320, 640)]
    rough = [(finer[::2] - coarse).abs().max().item() for coarse, finer in pairwise(found)]
    means = [field.mean().item() for field in found]  # ∫u dx
    steps = [abs(after - before) for before, after in pairwise(means)]
    assert rough[2] < rough[1] / 2 < rough[0] / 4
    assert all(3 < before / after < 8 for before, after in pairwise(steps))  # of second order
    assert means[-1] == pytest.approx(1.0064, abs=1e-4)
    assert all(compute_ipr(field) * len(field) == pytest.approx(18, rel=0.1) for field in found)


def test_the_extra_half_in_eq_8_doubles_the_field():
    short, long, w = stretch(160)

    def balance(w, factor):
        pulled, dragged = (
            torch.fft.irfft(fields.find_eigenvalues(row) * torch.fft.rfft(w)) for row in (long, short + long)
        )
        return (amplifier.amplify_hypercube(pulled / (w * pulled).sum().sqrt()) - factor * dragged).abs().max()

    assert balance(w, 1.0) < 1e-8
    assert balance(2 * w, 0.5) < 1e-8
    assert balance(w, 0.5) > 0.1


def test_a_search_that_does_not_converge_is_an_error():
    short, long = (fields.correlate_sites(40, xi) for xi in (1.0, 3.0))
    with pytest.raises(RunError, match="no steady state within 3 steps"):
        find_steady(draw_initial_weights(0, 1, 40, 1e-3), short, long, amplifier.amplify_gaussian, limit=3)
