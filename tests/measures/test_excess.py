"""The interval of the excess kurtosis has the stated coverage, and heavy tails are detected."""

import math

import pytest
import torch

from prunefield.measures.excess import estimate_excess
from prunefield.tasks.elliptical import Elliptical
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp


@pytest.mark.parametrize(("power", "known"), [(1, 0.0), (0, -1.2)], ids=["normal", "uniform"])
def test_the_error_of_independent_values_has_the_known_value(power, known):
    """For a Gaussian 24/n; for a uniform law Var[u⁴ − 2κu²] of unit u, from its moments 1, 9/5, 27/7, 9."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(200_000, generator=generator) if power else torch.rand(200_000, generator=generator)
    variance = 24 if power else 9 - 4 * 1.8 * 27 / 7 + 4 * 1.8**3 - (1.8 - 3.6) ** 2
    seen = estimate_excess(x)
    assert seen.error == pytest.approx(math.sqrt(variance / len(x)), rel=0.05)
    assert abs(seen.value - known) < 4 * seen.error


@pytest.mark.parametrize("task", [Nlgp(g=1.0), Nlgp(g=0.01)], ids=lambda task: task.title)
def test_the_interval_covers_the_truth_of_dependent_sites(task):
    truth = task.kurtosis() - 3
    generator = torch.Generator().manual_seed(0)
    seen = [estimate_excess(task.sample(2000, generator=generator).x) for _ in range(100)]
    covered = sum(each.low <= truth <= each.high for each in seen)
    assert 88 <= covered <= 100  # 95 within three deviations
    assert sum(each.doubtful for each in seen) <= 5


def test_heavy_tails_are_doubtful_and_binary_values_are_certain():
    x = Kur(k=3.0).sample(20_000, generator=torch.Generator().manual_seed(0)).x[:, 0]
    assert estimate_excess(x).doubtful
    spins = estimate_excess(Ising().sample(1000, generator=torch.Generator().manual_seed(0)).x)
    assert spins.value == pytest.approx(-2, abs=1e-3)
    assert spins.error < 1e-3


def test_the_ends_of_a_narrow_interval_are_written_with_digits_that_tell_them_apart():
    seen = estimate_excess(Ising().sample(2000, generator=torch.Generator().manual_seed(0)).x)
    narrow = seen._replace(value=-1.99401, low=-1.99415, high=-1.99387, tail=-1.0)
    assert narrow.describe().endswith(": -1.99401, 95% interval -1.99415 to -1.99387")
    assert narrow._replace(low=-2.1, high=-1.9).describe().endswith(": -1.994, 95% interval -2.100 to -1.900")


def test_shift_and_scale_do_not_matter():
    x = torch.randn(500, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) ** 3
    one, other = estimate_excess(x), estimate_excess(-7 * x + 2)
    assert other == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("shape", [(200, 4), (600, 12)])
def test_plain_gaussian_data_raise_no_alarm(shape):
    """At most 2% of samples; it was 53% and 17%."""
    generator = torch.Generator().manual_seed(0)
    assert sum(estimate_excess(torch.randn(shape, generator=generator)).doubtful for _ in range(100)) <= 2


@pytest.mark.parametrize("task", [Kur(k=3.0), Elliptical(nu=3.0)], ids=lambda task: task.title)
def test_laws_without_a_kurtosis_are_detected(task):
    generator = torch.Generator().manual_seed(0)
    found = [estimate_excess(task.sample(2000, generator=generator).x) for _ in range(10)]
    assert sum(each.doubtful for each in found) >= 9
    assert any("may not exist" in each.describe() for each in found)
