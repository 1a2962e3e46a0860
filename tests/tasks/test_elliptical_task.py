"""Elliptical data: covariances, marginals and moments against closed forms and integrals."""

import itertools
import math

import pytest
import torch
from scipy.integrate import quad
from scipy.special import zeta
from scipy.stats import beta, kstest, t

from prunefield.core.errors import UsageError
from prunefield.tasks import Task
from prunefield.tasks.elliptical import Elliptical
from prunefield.theory import radial

TASKS = [
    Elliptical(nu=9.0),
    Elliptical(law="shell"),
    Elliptical(law="extreme"),
    Elliptical(law="table", radii=(0.0, 1.0, 2.0, 5.0)),
    Elliptical(law="shell", size=6, dimensions=2, lengthscales=(0.3, 0.5, 0.7)),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.title} {task.shape}")
def test_samples_have_the_covariance_and_the_marginal(task):
    x, y = task.sample(40_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for label in range(task.classes):
        chosen = x[y == label]
        seen = chosen.T @ chosen / len(chosen)
        assert (seen - task.covariance(label)).abs().max() < 6 * math.sqrt(task.kurtosis() / len(chosen))
        if 0.0 not in task.radii:  # whose law has an atom
            assert kstest(chosen[:, 0].numpy(), lambda v: task.cdf(torch.from_numpy(v)).numpy()).pvalue > 1e-4
        assert chosen[:, 0].pow(4).mean().item() == pytest.approx(task.kurtosis(), rel=0.15)


def test_an_atom_at_zero_is_a_step_of_the_distribution():
    task = Elliptical(law="table", radii=(0.0, 1.0, 2.0, 5.0))
    assert task.cdf(torch.tensor([-1e-9, 0.0, 1e-9], dtype=torch.float64)).tolist() == pytest.approx(
        [3 / 8, 5 / 8, 5 / 8]
    )


def test_heavy_tails_have_the_right_marginal():
    task = Elliptical(nu=3.0)
    x, _ = task.sample(20_000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert kstest(x[:, 3].numpy() * math.sqrt(3), t(3).cdf).pvalue > 1e-4
    assert task.kurtosis() == math.inf


def test_a_shell_has_one_radius():
    task = Elliptical(law="shell", size=9, lengthscales=(0.4, 0.8))
    x, y = task.sample(50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for label in (0, 1):
        chosen = x[y == label]
        norms = (chosen * torch.linalg.solve(task.covariance(label), chosen.T).T).sum(1)
        assert norms.tolist() == pytest.approx([9.0] * len(chosen), rel=1e-9)


def test_the_moments_of_the_extreme_law():
    """E artanh(U)ⁿ = n! η(n) 2¹⁻ⁿ, η being Dirichlet's."""
    moments = [1, math.log(2), math.pi**2 / 12, 9 * zeta(3) / 8, 7 * math.pi**4 / 240]
    second, fourth = (sum(math.comb(p, n) * 2 ** (p - n) * moments[n] for n in range(p + 1)) for p in (2, 4))
    assert Elliptical(law="extreme").kurtosis() == pytest.approx(120 / 42 * fourth / second**2, rel=1e-12)


def test_the_extreme_law_has_the_printed_density():
    uniform = torch.linspace(0.01, 0.99, 20, dtype=torch.float64)
    for r, u in zip((2 + uniform.atanh()).tolist(), uniform.tolist(), strict=True):
        area = quad(lambda s: 4 * math.exp(2 * s + 4) / (math.exp(2 * s) + math.exp(4)) ** 2, 2, r)[0]
        assert area == pytest.approx(u, abs=1e-9)


def _average(density, a: float, *points: float) -> float:
    """E[X erf(X b/√2)] for a symmetric X with this density, b = alg⁻¹(a)."""
    b = a / math.sqrt(1 - a**2) if a < 1 else 1e9
    parts = itertools.pairwise((0, *points))
    return 2 * sum(quad(lambda x: x * math.erf(x * b / math.sqrt(2)) * density(x), *part)[0] for part in parts)


@pytest.mark.parametrize("a", [-0.3, 0.05, 0.9, 0.9999, 1.0])
def test_the_amplifier_agrees_with_the_integral(a):
    scale = math.sqrt(0.6)
    student = _average(lambda x: t.pdf(x / scale, 5) / scale, a, 0.01, 1, 10, math.inf)
    assert Elliptical(nu=5.0).amplifier(torch.tensor(a, dtype=torch.float64)).item() == pytest.approx(student, rel=1e-6)
    radii = [r * math.sqrt(40 / 5) for r in (1.0, 3.0)]

    def density(x: float) -> float:
        return sum(float(beta.pdf(min(1, (x / r) ** 2), 0.5, 19.5)) * x / r**2 for r in radii) / 2

    table = Elliptical(law="table", radii=(1.0, 3.0)).amplifier(torch.tensor(a, dtype=torch.float64)).item()
    assert table == pytest.approx(_average(density, a, 0.01, 0.5, *radii), rel=1e-6)


@pytest.mark.parametrize("nu", [2.05, 3.0, 30.0, 5000.0])
def test_student_has_the_mean_of_its_absolute_value_and_unit_variance(nu):
    one = torch.tensor([1e-6, 1.0], dtype=torch.float64)
    slope, mean = Elliptical(nu=nu).amplifier(one).tolist()
    absolute = math.exp(math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2)) * 2 * math.sqrt((nu - 2) / math.pi) / (nu - 1)
    assert mean == pytest.approx(absolute, rel=1e-9)
    # φ(a)/a → √(2/π) as a → 0, but for heavy tails slowly: E s² is cut where s > 1/a.
    assert slope / 1e-6 == pytest.approx(math.sqrt(2 / math.pi), rel=1e-4 if nu >= 3 else 0.5)


def test_a_shell_in_many_dimensions_is_nearly_gaussian():
    a = torch.linspace(-1, 1, 21, dtype=torch.float64)
    law = radial.normalise_law((torch.ones(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)), 10**5)
    assert torch.allclose(radial.amplify_radial(a, law, 10**5), math.sqrt(2 / math.pi) * a, atol=1e-5)
    assert radial.measure_kurtosis(law, 10**5) == pytest.approx(3, abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nu": 2}, "nu must be above 2, as the variance is infinite otherwise"),
        ({"law": "table"}, "radii are for the law 'table'"),
        ({"law": "shell", "radii": (1.0,)}, "radii are for the law 'table'"),
        ({"law": "table", "radii": (-1.0, 2.0)}, "must not be negative"),
        ({"law": "table", "radii": (0.0,)}, "nor all 0"),
        ({"law": "cauchy"}, "law: "),
        ({"lengthscales": (1, 15)}, "15 is too long for a ring of 40 sites"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        Task.parse({"kind": "elliptical", **settings})
