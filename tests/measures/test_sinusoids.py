"""The nearest sinusoid against least squares, and on fields where it is known."""

import math

import numpy as np
import pytest
import torch

from prunefield.measures.sinusoids import fit_sinusoid


@pytest.mark.parametrize("size", [7, 12, 40])
def test_it_is_the_least_squares_fit(size):
    field = torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(size))
    site = np.arange(size)
    for frequency in range(size // 2 + 1):
        angle = 2 * math.pi * frequency * site / size
        basis = np.stack([np.cos(angle), np.sin(angle)], 1)
        known, *_ = np.linalg.lstsq(basis, field.numpy(), rcond=1e-10)
        found = fit_sinusoid(field, frequency)
        assert found.curve(size).numpy() == pytest.approx(basis @ known, abs=1e-12)
        rest = np.linalg.norm(field.numpy() - basis @ known) / np.linalg.norm(field.numpy())
        assert found.error.item() == pytest.approx(rest, abs=1e-12)


def test_the_best_frequency_has_the_smallest_error():
    fields = torch.randn(3, 5, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    errors = torch.stack([fit_sinusoid(fields, frequency).error for frequency in range(21)])
    best = fit_sinusoid(fields)
    assert best.error.shape == (3, 5)
    assert torch.allclose(best.error, errors.amin(0))
    assert torch.equal(best.frequency, errors.argmin(0))


@pytest.mark.parametrize("frequency", [0, 1, 6, 20])
def test_a_sinusoid_is_its_own_fit(frequency):
    site = torch.arange(40, dtype=torch.float64)
    found = fit_sinusoid(torch.cos(2 * math.pi * frequency * site / 40).float() * 1e-3)
    assert found.frequency.item() == frequency
    assert found.cosine.item() == pytest.approx(1e-3, rel=1e-6)
    assert found.sine.item() == pytest.approx(0, abs=1e-9)
    assert found.error.item() < 1e-6


def test_the_explained_shares_of_all_frequencies_sum_to_one():
    """Parseval's identity."""
    field = torch.randn(40, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    explained = sum(1 - fit_sinusoid(field, frequency).error.item() ** 2 for frequency in range(21))
    assert explained == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [7, 12, 40])
def test_with_an_intercept_it_is_the_least_squares_fit_of_three_terms(size):
    field = 2 + torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(size))
    site = np.arange(size)
    errors = []
    for frequency in range(1, size // 2 + 1):
        angle = 2 * math.pi * frequency * site / size
        basis = np.stack([np.ones(size), np.cos(angle), np.sin(angle)], 1)
        known, *_ = np.linalg.lstsq(basis, field.numpy(), rcond=1e-10)
        found = fit_sinusoid(field, frequency, intercept=True)
        assert found.curve(size).numpy() == pytest.approx(basis @ known, abs=1e-12)
        errors.append(found.error.item())
    best = fit_sinusoid(field, intercept=True)
    assert best.error.item() == pytest.approx(min(errors))
    assert best.frequency.item() == 1 + int(np.argmin(errors))
    assert best.error.item() <= fit_sinusoid(field).error.item()


def test_a_constant_with_an_intercept_is_its_own_fit():
    assert fit_sinusoid(torch.full((40,), -0.04), intercept=True).error.item() < 1e-7
    assert fit_sinusoid(torch.full((40,), -0.04), intercept=True).intercept.item() == pytest.approx(-0.04)
