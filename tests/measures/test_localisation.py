"""The inverse participation ratio and the peak, on fields where they are known."""

import math

import pytest
import torch

from prunefield.measures.localisation import compute_ipr, locate_peak, measure_ring_distance


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_known_fields(dtype):
    site = torch.arange(40, dtype=dtype)
    flat, spike, wave = torch.ones(40, dtype=dtype), (site == 7).to(dtype), torch.cos(2 * math.pi * 3 * site / 40)
    ipr = compute_ipr(torch.stack([flat, spike, wave]) * 1e-12)
    assert ipr.tolist() == pytest.approx([1 / 40, 1, 1.5 / 40], rel=1e-4)


def test_gaussian_noise_has_three_over_n_plus_two():
    noise = torch.randn(20_000, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert compute_ipr(noise).mean().item() == pytest.approx(3 / 42, rel=0.01)


def test_it_does_not_depend_on_shift_sign_or_scale():
    w = torch.randn(5, 3, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(compute_ipr(w), compute_ipr(-7 * w.roll(11, -1)))
    assert torch.equal((locate_peak(w) + 11) % 40, locate_peak(-w.roll(11, -1)))


def test_distances_go_the_short_way_round():
    first, second = torch.tensor([0, 39, 10, 5]), torch.tensor([39, 0, 30, 5])
    assert measure_ring_distance(first, second, 40).tolist() == [1, 1, 20, 0]
