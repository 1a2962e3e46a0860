"""The flow of Eq. 5: its velocity, its symmetries, and where it ends."""

import math

import pytest
import torch

from prunefield.runs.neuron import draw_initial_weights
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory import amplifier, fields, flow

SHORT, LONG = (fields.make_circulant(fields.correlate_sites(40, xi)) for xi in (1.0, 3.0))


def test_the_velocity_is_the_gradient_of_the_mean_squared_error_on_gaussian_data():
    task = Nlgp(g=0.001, size=10, lengthscales=(0.5, 1.5))
    w = draw_initial_weights(3, 1, 10, 1.0).requires_grad_()
    x, y = task.sample(400_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    losses = ((x @ w.T)[:, 0].relu() - y).square()
    (gradient,) = torch.autograd.grad(losses.mean(), w)
    with torch.no_grad():
        velocity = flow.compute_velocity(w, task.covariance(0), task.covariance(1), task.amplifier)
        each = 2 * ((x @ w.T).relu() - y[:, None]) * ((x @ w.T) > 0) * x
        error = each.std(0) / math.sqrt(len(x))
    assert ((gradient + velocity).abs() < 5 * error).all()


def test_a_gaussian_ends_flat_at_0_0410():
    start = draw_initial_weights(0, 3, 40, 1e-3)
    end = flow.integrate_flow(start, [0.0, 600.0], SHORT, LONG, amplifier.amplify_gaussian)[-1]
    signs = end.sign()[:, :1]
    assert torch.allclose(end * signs, torch.full_like(end, 0.0410), rtol=0, atol=5e-5)
    assert flow.find_flat_state(SHORT, LONG, amplifier.amplify_gaussian) == pytest.approx(
        end.abs().mean().item(), rel=1e-6
    )
    assert flow.compute_velocity(end, SHORT, LONG, amplifier.amplify_gaussian).abs().max() < 1e-6


def test_the_flat_state_of_kur_is_a_fixed_point():
    task = Kur(k=5.0)
    short, long = task.covariance(0), task.covariance(1)
    height = flow.find_flat_state(short, long, task.amplifier)
    state = torch.full((1, 40), height, dtype=torch.float64)
    assert flow.compute_velocity(state, short, long, task.amplifier).abs().max() < 1e-14


def test_shifted_and_mirrored_starts_give_shifted_and_mirrored_ends():
    task = Ising()
    short, long = task.covariance(0), task.covariance(1)
    start = draw_initial_weights(1, 1, 40, 1e-3)
    starts = torch.cat([start, start.roll(7, -1), start.flip(-1), -start])
    plain, shifted, mirrored, negated = flow.integrate_flow(starts, [0.0, 20.0], short, long, task.amplifier)[-1]
    for other in (shifted.roll(-7, -1), mirrored.flip(-1), -negated):
        assert torch.allclose(plain, other, rtol=0, atol=1e-9)


def test_the_tolerance_is_respected():
    task = Ising()
    short, long = task.covariance(0), task.covariance(1)
    start = draw_initial_weights(0, 2, 40, 1e-3)
    rough, fine = (
        flow.integrate_flow(start, [0.0, 5.0, 40.0], short, long, task.amplifier, tolerance=tolerance)
        for tolerance in (1e-6, 1e-11)
    )
    assert (rough - fine).abs().max() < 1e-5


@pytest.mark.parametrize("task", [Ising(size=100), Kur(size=100, k=5.0)], ids=lambda task: task.title)
def test_a_tolerance_of_1e_8_leaves_an_error_of_that_size(task):
    start, short, long = draw_initial_weights(0, 1, 100, 1e-3), task.covariance(0), task.covariance(1)
    asked, finer = (
        flow.integrate_flow(start, [0.0, 100.0], short, long, task.amplifier, tolerance=tolerance)[-1]
        for tolerance in (1e-8, 1e-11)
    )
    assert (asked - finer).abs().max() < 1e-8 * finer.abs().max()
