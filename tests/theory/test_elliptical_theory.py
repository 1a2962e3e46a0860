"""Proposition 3.3 against the values of the fact sheet, autograd and the integrated flow."""

import math

import pytest
import torch

from prunefield.measures.sinusoids import fit_sinusoid
from prunefield.runs import State
from prunefield.runs.flow import Flow
from prunefield.tasks.elliptical import Elliptical
from prunefield.tasks.gaussian import Gaussian
from prunefield.theory import elliptical, flow

GAUSSIAN = Gaussian()
SHORT, LONG = GAUSSIAN.covariance(0), GAUSSIAN.covariance(1)
MEAN = math.sqrt(2 / math.pi)


def _wave(frequency: int, height: float, size: int = 40) -> torch.Tensor:
    return height * torch.cos(2 * math.pi * frequency * torch.arange(size, dtype=torch.float64) / size)


def test_the_values_of_the_fact_sheet():
    heights = elliptical.find_amplitudes(SHORT, LONG, MEAN)
    assert heights[0].item() == pytest.approx(0.0410, abs=5e-5)
    assert heights[0].item() == pytest.approx(flow.find_flat_state(SHORT, LONG, GAUSSIAN.amplifier), rel=1e-12)
    student = float(Elliptical(nu=3.0).amplifier(torch.tensor(1.0, dtype=torch.float64)))
    assert elliptical.find_amplitudes(SHORT, LONG, student)[:2].tolist() == pytest.approx([0.0327, 0.0470], abs=5e-5)
    assert elliptical.find_growth_rates(SHORT, LONG)[1, 0].item() == pytest.approx(0.0448, abs=5e-5)
    assert elliptical.find_stable_frequency(SHORT, LONG) == 0


def test_ratios_agree_with_the_closed_form():
    k = torch.arange(21, dtype=torch.float64)
    # Poisson's sum: λₖ = √π ξ Σₘ exp(−(πξ(k/N + m))²).
    wave = math.pi * (k[:, None] / 40 + torch.arange(-3, 4))
    short, long = (xi * torch.exp(-((xi * wave) ** 2)).sum(1) for xi in (1.0, 3.0))
    assert torch.allclose(elliptical.compare_spectra(SHORT, LONG), short / long, rtol=1e-4)
    assert elliptical.compare_spectra(SHORT, LONG).diff().gt(0).all()


@pytest.mark.parametrize("size", [40, 41])
@pytest.mark.parametrize("frequency", [0, 1, 3, 20])
def test_every_sinusoid_is_a_steady_state(size, frequency):
    task = Gaussian(size=size)
    short, long = task.covariance(0), task.covariance(1)
    w = _wave(frequency, elliptical.find_amplitudes(short, long, 0.7)[frequency].item(), size)
    assert flow.compute_velocity(w, short, long, lambda a: 0.7 * a).abs().max() < 1e-6 * w.abs().max()


def test_the_rates_are_the_eigenvalues_of_the_jacobian():
    mean = 0.7
    w = _wave(1, elliptical.find_amplitudes(SHORT, LONG, mean)[1].item())
    jacobian = torch.autograd.functional.jacobian(
        lambda v: flow.compute_velocity(v, SHORT, LONG, lambda a: mean * a), w
    )
    rates = elliptical.find_growth_rates(SHORT, LONG)[1]
    for frequency in (0, 2, 5):
        wave = _wave(frequency, 1.0)
        assert torch.allclose(jacobian @ wave, rates[frequency] * wave, atol=1e-9)


def test_the_flow_is_the_gradient_of_the_true_loss():
    """For two shells: −∇ of the mean of (ReLU(w·x) − y)², by autograd, within five standard errors."""
    task = Elliptical(law="table", radii=(1.0, 8.0), size=12, lengthscales=(0.5, 1.5))
    x, y = task.sample(400_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w = torch.exp(-torch.arange(12, dtype=torch.float64)).requires_grad_()
    (((x @ w).clamp(min=0) - y) ** 2).mean().backward()
    assert w.grad is not None
    with torch.no_grad():
        single = 2 * (((x @ w).clamp(min=0) - y) * (x @ w > 0))[:, None] * x
        error = single.std(0) / math.sqrt(len(x))
        expected = flow.compute_velocity(
            w, task.covariance(0), task.covariance(1), elliptical.linearise_amplifier(task.amplifier)
        )
        assert ((-w.grad - expected) / error).abs().max() < 5
        # Eq. 5 with the amplifier of the marginal is another flow (its assumptions do not hold) and does not pass.
        other = flow.compute_velocity(w, task.covariance(0), task.covariance(1), task.amplifier)
        assert ((-w.grad - other) / error).abs().max() > 5


@pytest.mark.parametrize("task", [GAUSSIAN, Elliptical(nu=3.0), Elliptical(law="extreme")], ids=lambda task: task.title)
def test_the_flow_ends_in_the_stable_sinusoid(task):
    amplifier = elliptical.linearise_amplifier(task.amplifier)
    start = 0.01 * torch.randn(3, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    path = flow.integrate_flow(start, [0.0, 500.0], SHORT, LONG, amplifier)
    found = fit_sinusoid(path[-1])
    mean = float(amplifier(torch.tensor(1.0, dtype=torch.float64)))
    assert found.frequency.tolist() == [0, 0, 0]
    assert found.error.max() < 1e-3
    height = elliptical.find_amplitudes(SHORT, LONG, mean)[0].item()
    assert found.cosine.abs().tolist() == pytest.approx([height] * 3, rel=1e-5)


def test_the_saddle_is_left_at_its_rate():
    w = _wave(1, elliptical.find_amplitudes(SHORT, LONG, MEAN)[1].item()) + 1e-7
    path = flow.integrate_flow(w, [0.0, 20.0, 60.0], SHORT, LONG, GAUSSIAN.amplifier, tolerance=1e-10)
    seen = (path.mean(-1)[2] / path.mean(-1)[1]).log() / 40
    assert seen.item() == pytest.approx(elliptical.find_growth_rates(SHORT, LONG)[1, 0].item(), rel=1e-4)


def test_the_run_flow_uses_the_exact_amplifier_of_elliptical_data():
    run = Flow(task=Elliptical(nu=3.0), inits=2, amplifier="linear", time=400.0, record_every=200.0)
    last = [record for record in run(State()) if record is not None][-1].tensors["weights"]
    assert last.mean(-1).abs().tolist() == pytest.approx([0.0327] * 2, abs=5e-5)
