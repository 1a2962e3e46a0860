"""Covariances after an odd map of a Gaussian field."""

import math

import pytest
import torch

from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory import copula


@pytest.mark.parametrize("g", [0.01, 1.0, 100.0])
def test_the_series_gives_the_arcsine_law(g):
    rho = torch.tensor([-0.9, 0.0, 0.3, 0.895, 0.96, 1.0], dtype=torch.float64)
    q = 2 * g * g / (1 + 2 * g * g)
    expected = torch.asin(q * rho) / math.asin(q)
    assert torch.allclose(copula.correlate_transformed(Nlgp(g=g).squash, rho), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [3.0, 5.0, 30.0])
def test_the_series_agrees_with_a_grid_over_both_variables(k):
    rho = 0.8
    # The trapezium rule is spectrally accurate for what vanishes with all derivatives at its ends.
    z = torch.linspace(-14, 14, 1401, dtype=torch.float64)
    x = Kur(k=k).squash(z)
    power = (z[:, None] ** 2 - 2 * rho * z[:, None] * z + z**2) / (2 * (1 - rho**2))
    density = torch.exp(-power) / (2 * math.pi * math.sqrt(1 - rho**2))
    expected = (x[:, None] * x * density).sum() * 0.02**2
    seen = copula.correlate_transformed(Kur(k=k).squash, torch.tensor([rho], dtype=torch.float64))
    assert seen.item() == pytest.approx(expected.item(), abs=1e-9)


def test_the_series_preserves_the_variance():
    assert copula.expand_hermite(Kur(k=5.0).squash).square().sum().item() == pytest.approx(1.0, abs=1e-9)
