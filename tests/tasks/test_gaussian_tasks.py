"""NLGP and Kur: marginals, moments and covariances against closed forms."""

import math

import pytest
import torch
from scipy.integrate import quad
from scipy.stats import kstest, norm

from prunefield.core.errors import UsageError
from prunefield.tasks import Task
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

# With a large g, erf rounds to ±1, and no test of a continuous law can be made.
THREE = (0.5, 1.0, 2.0)
TASKS = [
    Gaussian(),
    Nlgp(g=0.01),
    Nlgp(g=1.0),
    Kur(k=5.0),
    Kur(k=10.0),
    Gaussian(size=20, lengthscales=THREE),
    Gaussian(size=7, dimensions=2, lengthscales=(0.5, 1.0)),
    Nlgp(g=1.0, size=12, dimensions=2, lengthscales=THREE[:2]),
    Kur(k=10.0, size=6, dimensions=2, lengthscales=(0.3, 0.6)),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.title} {task.shape}")
def test_samples_have_the_covariance_and_the_marginal(task):
    x, y = task.sample(60_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for label in range(task.classes):
        chosen = x[y == label]
        seen = chosen.T @ chosen / len(chosen)
        # Five standard errors where every fourth moment is at most κ, six for the largest of 1600.
        assert (seen - task.covariance(label)).abs().max() < 6 * math.sqrt(task.kurtosis() / len(chosen))
        assert kstest(chosen[:, 0].numpy(), lambda v: task.cdf(torch.from_numpy(v)).numpy()).pvalue > 1e-4


def test_the_covariance_of_nlgp_agrees_with_the_integral():
    task = Nlgp(g=0.7)
    rho = math.exp(-1 / 9)

    def given(z: float) -> float:
        # E[erf(g Z₂) | Z₁ = z] in closed form.
        return math.erf(0.7 * rho * z / math.sqrt(1 + 2 * 0.49 * (1 - rho**2)))

    product = 2 * quad(lambda z: math.erf(0.7 * z) * given(z) * norm.pdf(z), 0, 12)[0]
    square = 2 * quad(lambda z: math.erf(0.7 * z) ** 2 * norm.pdf(z), 0, 12)[0]
    assert task.covariance(1)[4, 5].item() == pytest.approx(product / square, rel=1e-9)


@pytest.mark.parametrize(
    ("k", "deviation", "excess"),
    [
        (3, 1.0, math.inf),
        (4, 0.773996, math.inf),
        (4.5, 0.726516, 4.0542),
        (5, 0.695032, 1.2853),
        (5.8, 0.662587, 0.0713),
        (5.9, 0.659533, -0.0074),
        (6, 0.656647, -0.0780),
        (10, 0.605060, -0.9299),
        (30, 0.580456, -1.1737),
    ],
)
def test_the_moments_of_kur(k, deviation, excess):
    task = Kur(k=k)
    assert task.deviation == pytest.approx(deviation, abs=1e-6)
    assert task.kurtosis() - 3 == pytest.approx(excess, abs=1e-4)


def test_the_kurtosis_of_kur_falls_through_3_to_that_of_a_uniform_law():
    assert Kur(k=5.890114).kurtosis() > 3 > Kur(k=5.890116).kurtosis()
    assert Kur(k=1e5).kurtosis() == pytest.approx(1.8, abs=1e-4)
    assert [round(Kur(k=k).truncated_kurtosis(10) - 3, 2) for k in (3, 4, 5)] == [7.66, 3.28, 0.86]


@pytest.mark.parametrize("k", [2.5, 5.0, 30.0])
def test_kur_is_accurate_in_the_tails(k):
    z = torch.tensor([-9.0, -1.0, 0.0, 1e-8, 0.5, 6.0, 20.0, 36.0], dtype=torch.float64)
    x = Kur(k=k).squash(z) * Kur(k=k).deviation
    assert x.isfinite().all()
    assert torch.equal(x.sign(), z.sign())
    # In the tail 1 − |u|ᵏ = k·p to first order, p = P(|Z| > z).
    for index in (-1, -2, -3):
        p = 2 * math.exp(norm.logsf(z[index].item()))
        assert x[index].item() == pytest.approx((k * p) ** (-1 / k), rel=1e-6)
    inverse = Kur(k=k).cdf(x[1:6] / Kur(k=k).deviation)
    assert inverse.tolist() == pytest.approx(norm.cdf(z[1:6].numpy()).tolist(), abs=1e-12)
    assert Kur(k=k).squash(torch.tensor([60.0], dtype=torch.float64)).isfinite().all()


def test_the_kurtosis_of_nlgp():
    assert Nlgp(g=0.01).kurtosis() == pytest.approx(3 - 8e-4, abs=1e-6)
    assert Nlgp(g=1e6).kurtosis() == pytest.approx(1.0, abs=1e-5)
    fourth = 2 * quad(lambda z: math.erf(z) ** 4 * norm.pdf(z), 0, 12)[0]
    square = 2 / math.pi * math.asin(2 / 3)
    assert Nlgp(g=1.0).kurtosis() == pytest.approx(fourth / square**2, rel=1e-10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "kur", "k": 2}, "k must be above 2"),
        ({"kind": "kur", "lengthscales": (1, 15)}, "15 is too long for a ring of 40 sites; the maximum is 5.74"),
        ({"kind": "nlgp", "g": 0}, "g: .*greater than 0"),
        ({"kind": "nlgp", "lengthscales": (3, 3)}, "0 < ξ0 < ξ1"),
        ({"kind": "nlgp", "lengthscales": (3, 1)}, "class 1 has a longer lengthscale than class 0"),
        ({"kind": "nlgp", "lengthscales": (1, 2, 2)}, "got 1, 2, 2"),
        ({"kind": "nlgp", "lengthscales": (1,)}, "lengthscales: .*at least 2"),
        ({"kind": "gaussian", "dimensions": 3}, "dimensions: "),
        ({"kind": "nlgp", "size": 3}, "size: .*greater than or equal to 4"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        Task.parse(settings)
