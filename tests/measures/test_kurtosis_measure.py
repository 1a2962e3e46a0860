"""Kurtosis against scipy and closed forms."""

import pytest
import torch
from scipy import stats

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.measures.kurtosis import correct_kurtosis, gaussian_kurtosis, kurtosis, kurtosis_per_class


def test_it_is_scipys_population_kurtosis():
    values = torch.randn(200, 5, generator=generator(0, "x"), dtype=torch.float64) ** 3
    expected = stats.kurtosis(values.numpy(), fisher=False, bias=True)
    torch.testing.assert_close(kurtosis(values), torch.from_numpy(expected))


def test_scale_and_shift_change_nothing():
    values = torch.randn(200, 5, generator=generator(0, "x"), dtype=torch.float64)
    torch.testing.assert_close(kurtosis(-3 * values + 7), kurtosis(values))


def test_the_mean_kurtosis_of_fifty_gaussian_numbers_is_below_three():
    values = torch.randn(50, 40_000, generator=generator(0, "gauss"), dtype=torch.float64)
    assert gaussian_kurtosis(50) == pytest.approx(2.882, abs=5e-4)
    assert kurtosis(values).mean().item() == pytest.approx(gaussian_kurtosis(50), abs=5 * 0.6 / 200)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6])
def test_a_constant_has_no_kurtosis(constant):
    values = torch.full((7, 1), constant)
    assert kurtosis(values).isnan().all()


def test_classes_are_measured_separately():
    values = torch.randn(90, 4, generator=generator(0, "x"), dtype=torch.float64)
    y = torch.arange(90) % 3
    expected = torch.stack([kurtosis(values[label::3]) for label in range(3)])
    torch.testing.assert_close(kurtosis_per_class(values + 5 * y[:, None], y, 3), expected)


@pytest.mark.parametrize("n", [4, 5, 50])
def test_the_corrected_kurtosis_is_scipys_unbiased_one(n):
    values = torch.randn(n, 5, generator=generator(0, "x"), dtype=torch.float64) ** 3
    expected = stats.kurtosis(values.numpy(), fisher=False, bias=False)
    torch.testing.assert_close(correct_kurtosis(kurtosis(values), n), torch.from_numpy(expected))


def test_three_numbers_have_no_corrected_kurtosis():
    with pytest.raises(UsageError, match="at least 4 images, not 3"):
        correct_kurtosis(torch.ones(1), 3)
