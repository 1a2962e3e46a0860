"""The gaps of A1 and A2: closed forms for binary pixels, and a large sample."""

import math

import pytest
import torch

from prunefield.tasks.kur import Kur
from prunefield.theory.conditioning import measure_copula_gaps, measure_spin_gaps


def test_nearly_binary_pixels_have_the_gap_of_the_sign():
    """E[sign Z₂ | Z₁ = z] has the variance (2/π) asin ρ², and its linear part in sign Z₁ (2/π asin ρ)²."""
    rho = 0.5
    expected = 1 - (2 / math.pi * math.asin(rho)) ** 2 / (2 / math.pi * math.asin(rho**2))
    seen = measure_copula_gaps(lambda z: torch.erf(1e5 * z), rho)
    assert seen.mean == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("k", [10.0, 30.0])
def test_gaps_are_those_of_a_large_sample(k):
    rho, task = 0.8, Kur(k=k)
    noise = torch.randn(2, 2_000_000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x, y = task.squash(noise[0]), task.squash(rho * noise[0] + (1 - rho**2) ** 0.5 * noise[1])
    order = x.argsort()
    bins = y[order].view(400, -1)  # of equal numbers, by the value of x
    means, variances, centres = bins.mean(1), bins.var(1), x[order].view(400, -1).mean(1)
    gap = 1 - (x * y).mean() ** 2 / means.square().mean()
    seen = measure_copula_gaps(task.squash, rho)
    assert seen.mean == pytest.approx(float(gap), abs=0.004)
    assert seen.variance == pytest.approx(float(variances.std() / variances.mean()), abs=0.03)
    assert centres.diff().min() > 0


def test_spins_satisfy_both_at_any_coupling():
    for coupling, distance in ((0.0, 1), (0.3, 2), (1.5, 3)):
        gaps = measure_spin_gaps(coupling, 7, distance)
        assert gaps.variance < 1e-12
        assert coupling == 0.0 or gaps.mean < 1e-12
