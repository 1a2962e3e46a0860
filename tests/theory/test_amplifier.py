"""The amplifier φ: closed forms, quadrature, adaptive integration, sampling and the cubic agree."""

import itertools
import math

import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from prunefield.core.errors import UsageError
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur, compute_moment
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory import amplifier

GRID = torch.tensor([-0.999, -0.7, -0.2, 0.0, 0.05, 0.5, 0.9, 0.99], dtype=torch.float64)
TASKS = [Nlgp(g=0.01), Nlgp(g=3.0), Nlgp(g=1e4), Kur(k=3.0), Kur(k=5.0), Kur(k=30.0)]


def _integrate(task, a: float) -> float:
    b = a / math.sqrt(1 - a * a)

    def integrand(z: float) -> float:
        x = float(task.squash(torch.tensor(z, dtype=torch.float64)))
        return 2 * x * math.erf(x * b / math.sqrt(2)) * norm.pdf(z)

    cuts = [0, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1, 2, 4, 8, 13, 20]
    return sum(quad(integrand, low, high, epsabs=1e-13)[0] for low, high in itertools.pairwise(cuts))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_quadrature_agrees_with_adaptive_integration(task):
    points = GRID[2:7:2]
    expected = torch.tensor([_integrate(task, a) for a in points.tolist()], dtype=torch.float64)
    assert torch.allclose(task.amplifier(points), expected, rtol=0, atol=1e-10)


def test_a_linear_map_is_gaussian():
    for scale in (1.0, 0.5, 2.0):
        seen = amplifier.integrate_amplifier(GRID, lambda z, scale=scale: scale * z)
        assert torch.allclose(seen, amplifier.amplify_gaussian(GRID, scale**2), rtol=0, atol=1e-12)


def test_the_limits_of_nlgp_are_gaussian_and_hypercube():
    assert torch.allclose(Nlgp(g=1e-5).amplifier(GRID), amplifier.SLOPE * GRID, rtol=0, atol=1e-9)
    assert torch.allclose(Nlgp(g=1e9).amplifier(GRID), Ising().amplifier(GRID), rtol=0, atol=1e-7)


def test_hypercube_is_the_expectation_over_two_points():
    b = GRID / (1 - GRID**2).sqrt()
    both = sum(x * torch.erf(x * b / math.sqrt(2)) / 2 for x in (-1.0, 1.0))
    assert torch.allclose(amplifier.amplify_hypercube(GRID), both, rtol=0, atol=1e-14)


@pytest.mark.parametrize("task", [Ising(), Nlgp(g=2.0), Kur(k=5.0)], ids=lambda task: task.title)
def test_sampling_agrees(task):
    x = task.sample(5_000, generator=torch.Generator().manual_seed(2), dtype=torch.float64).x[:, ::20].flatten()
    for a in (0.3, -0.8):
        values = x * torch.erf(x * a / math.sqrt(1 - a * a) / math.sqrt(2))
        error = 5 * values.std().item() / math.sqrt(len(values))
        assert abs(values.mean().item() - task.amplifier(torch.tensor(a, dtype=torch.float64)).item()) <= error + 1e-12


@pytest.mark.parametrize("k", [2.5, 5.0, 30.0])
def test_phi_of_1_is_the_mean_absolute_value(k):
    ends = Kur(k=k).amplifier(torch.tensor([-1.0, 1.0], dtype=torch.float64))
    size = compute_moment(k, 1) / math.sqrt(compute_moment(k, 2))
    assert ends.tolist() == pytest.approx([-size, size], abs=1e-8)


@pytest.mark.parametrize("task", [Ising(), Nlgp(g=1.0), Kur(k=10.0)], ids=lambda task: task.title)
def test_the_cubic_has_a_remainder_of_fifth_order(task):
    a = torch.tensor([0.1, 0.05], dtype=torch.float64)
    rest = (task.amplifier(a) - amplifier.expand_amplifier(a, task.kurtosis())).abs()
    assert rest[0] / rest[1] == pytest.approx(32, rel=0.05)


def test_the_cubic_for_another_variance():
    a = torch.tensor([0.02, 0.04], dtype=torch.float64)
    exact = amplifier.amplify_gaussian(a, 4.0)
    assert torch.allclose(amplifier.expand_amplifier(a, 3.0, 4.0), exact, rtol=1e-4, atol=0)
    assert not torch.allclose(amplifier.SLOPE * 4 * a, exact, rtol=1e-4, atol=0)


def test_an_infinite_kurtosis_has_no_cubic():
    with pytest.raises(UsageError, match="finite kurtosis"):
        amplifier.expand_amplifier(GRID, Kur(k=4.0).kurtosis())
