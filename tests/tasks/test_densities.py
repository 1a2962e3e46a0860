"""The marginal density of each task: the derivative of its distribution function, with unit mass and variance."""

from itertools import pairwise

import pytest
import torch
from scipy import stats
from scipy.integrate import quad

from prunefield.tasks.elliptical import Elliptical
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

TASKS = [
    Gaussian(),
    Nlgp(g=0.3),
    Nlgp(g=1.0),
    Kur(k=3.0),
    Kur(k=30.0),
    Elliptical(nu=5.0),
    Elliptical(law="shell", size=10, lengthscales=(0.5, 1.0)),
    Elliptical(law="extreme"),
    Elliptical(law="table", radii=(1.0, 2.0)),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_the_density_is_the_derivative_of_the_distribution_function(task):
    x, step = torch.linspace(-0.9, 0.9, 19, dtype=torch.float64), 1e-5
    slope = (task.cdf(x + step) - task.cdf(x - step)) / (2 * step)
    assert torch.allclose(task.density(x), slope, rtol=1e-6, atol=1e-8)
    assert torch.equal(task.density(x), task.density(-x))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_mass_and_variance_are_one(task):
    def weigh(x: float, power: int) -> float:
        return 2 * x**power * float(task.density(torch.tensor(x, dtype=torch.float64)))

    # NLGP ends at 1/Z, where its density is infinite for g > 1/√2; the tail of Kur(3) is cut where 5e-4 is left of x².
    end = 1 / task._top if isinstance(task, Nlgp) else 2000.0
    edges = [0.0, *(edge for edge in (1.0, 2.0, 5.0, 10.0, 40.0, 200.0) if edge < end), end]
    for power in (0, 2):
        parts = [quad(weigh, low, high, args=(power,), limit=200)[0] for low, high in pairwise(edges)]
        assert sum(parts) == pytest.approx(1.0, abs=2e-3 if isinstance(task, Kur) else 1e-5)


def test_known_laws_have_scipys_densities():
    x = torch.linspace(-3, 3, 13, dtype=torch.float64)
    assert Gaussian().density(x).tolist() == pytest.approx(stats.norm.pdf(x).tolist())
    scale = (3 / 5) ** 0.5
    assert Elliptical(nu=5.0).density(x).tolist() == pytest.approx(stats.t.pdf(x, 5, scale=scale).tolist())
    assert Nlgp(g=2.0).density(torch.tensor([1.5])).tolist() == [0.0]


def test_spins_have_no_density():
    assert Ising().density(torch.tensor([-1.0, 0.0, 0.5, 1.0])).tolist() == [float("inf"), 0.0, 0.0, float("inf")]
