"""Known distances of trajectories."""

import math

import pytest
import torch

from prunefield.measures.trajectories import measure_distance, measure_distance_per_site


def test_two_disjoint_peaks():
    """The fact sheet's case: peaks of 0.5 at two of 100 sites."""
    first, second = torch.zeros(2, 100, dtype=torch.float64)
    first[3] = second[60] = 0.5
    assert measure_distance(first, second).item() == pytest.approx(math.sqrt(0.5))
    assert measure_distance_per_site(first, second).item() == pytest.approx(math.sqrt(0.5) / 10)
