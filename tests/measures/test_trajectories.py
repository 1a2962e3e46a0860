"""Known distances of trajectories and times of localisation."""

import math

import pytest
import torch

from prunefield.measures.localisation import compute_ipr
from prunefield.measures.trajectories import find_localisation_time, measure_distance, measure_distance_per_site


def test_two_disjoint_peaks():
    """The fact sheet's case: peaks of 0.5 at two of 100 sites."""
    first, second = torch.zeros(2, 100, dtype=torch.float64)
    first[3] = second[60] = 0.5
    assert measure_distance(first, second).item() == pytest.approx(math.sqrt(0.5))
    assert measure_distance_per_site(first, second).item() == pytest.approx(math.sqrt(0.5) / 10)


def test_a_narrowing_bump_localises_at_the_expected_width():
    site = torch.arange(100, dtype=torch.float64) - 50
    times = [0.5 * step for step in range(40)]
    widths = torch.linspace(20, 1, 40, dtype=torch.float64)
    path = torch.exp(-(site**2) / 2 / widths[:, None] ** 2)[:, None].repeat(1, 2, 1)
    # A bump exp(−x²/2s²) has the IPR 1/(√(2π) s).
    level = 1 / (math.sqrt(2 * math.pi) * widths[25].item()) - 1e-6
    assert compute_ipr(path[25, 0]).item() == pytest.approx(level, rel=1e-3)
    assert find_localisation_time(times, path, level).tolist() == [12.5, 12.5]


def test_a_field_that_does_not_stay_local_never_localises():
    path = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])[:, None].repeat(1, 2, 1)
    path[3, 1] = torch.tensor([0.0, 2.0])
    assert find_localisation_time([0.0, 1.0, 2.0, 3.0], path, 0.9).tolist() == [math.inf, 2.0]
