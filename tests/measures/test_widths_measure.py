"""S(d) by enumeration and identities, fits against scipy."""

import numpy as np
import pytest
import torch
from scipy.optimize import curve_fit

from prunefield.core.seeds import generator
from prunefield.measures.widths import count_pairs, fit_gaussians, measure_widths


def masks(units=6, side=32, density=0.05):
    """Half of the units random, half with a denser rectangle."""
    stream = generator(0, "masks")
    drawn = torch.rand(units, 3, side, side, generator=stream) < density
    blob = torch.rand(units // 2, 3, side // 2, side // 3, generator=stream) < 0.5
    drawn[: units // 2, :, 4 : 4 + side // 2, 5 : 5 + side // 3] |= blob
    return drawn


def test_pairs_by_enumeration():
    mask = torch.rand(1, 2, 4, 5, generator=generator(0, "small")) < 0.5
    expected = torch.zeros(7, 9)
    for channel in mask[0]:
        kept = channel.nonzero().tolist()
        for y, x in kept:
            for v, u in kept:
                expected[v - y + 3, u - x + 4] += (v, u) != (y, x)
    assert torch.equal(count_pairs(mask)[0].float(), expected)


def test_pairs_are_even_and_sum_to_all_pairs():
    drawn = masks()
    pairs = count_pairs(drawn)
    assert torch.equal(pairs, pairs.flip(1, 2))
    per_channel = drawn.flatten(2).sum(2).double()
    assert torch.equal(pairs.sum((1, 2)), (per_channel * (per_channel - 1)).sum(1))


def test_a_full_mask_is_a_pyramid_of_width_14():
    pairs = count_pairs(torch.ones(1, 3, 32, 32))
    d = torch.arange(-31, 32).abs()
    pyramid = 3 * (32 - d[:, None]) * (32 - d[None])
    pyramid[31, 31] = 0
    assert torch.equal(pairs[0], pyramid.double())
    fit = fit_gaussians(pairs)
    assert fit.width_x.item() == pytest.approx(14.43, abs=0.01)
    assert fit.width_y.item() == pytest.approx(fit.width_x.item(), rel=1e-6)


def test_counts_are_exact_at_the_largest_float32_size():
    found = count_pairs(torch.ones(1, 1, 256, 256))[0]
    d = 256 - torch.arange(-255, 256).abs().double()
    expected = d[:, None] * d
    expected[255, 255] = 0
    assert torch.equal(found, expected)


def fit_by_scipy(pairs):
    rows, columns = pairs.shape
    dy, dx = np.mgrid[:rows, :columns] - np.array([rows // 2, columns // 2])[:, None, None]
    away = (dx != 0) | (dy != 0)
    x2, y2, target = dx[away] ** 2, dy[away] ** 2, pairs[away] / pairs.max()

    def gaussian(_, a, sx, sy):
        return a * np.exp(-x2 / (2 * sx**2) - y2 / (2 * sy**2))

    fits = [curve_fit(gaussian, None, target, p0=(1, s, s), maxfev=5000, xtol=1e-12, ftol=1e-12)[0] for s in (2, 8)]
    return min((np.mean((gaussian(None, *p) - target) ** 2), *np.abs(p)) for p in fits)


@pytest.mark.parametrize(("side", "density"), [(32, 0.3), (32, 0.03), (16, 0.05)])
def test_fits_agree_with_scipy(side, density):
    drawn = masks(side=side, density=density)
    fit = measure_widths(drawn)
    for unit, pairs in enumerate(count_pairs(drawn).numpy()):
        misfit, amplitude, width_x, width_y = fit_by_scipy(pairs)
        assert fit.width_x[unit].item() == pytest.approx(width_x, rel=1e-3)
        assert fit.width_y[unit].item() == pytest.approx(width_y, rel=1e-3)
        assert fit.amplitude[unit].item() == pytest.approx(amplitude, rel=1e-3)
        assert fit.misfit[unit].item() == pytest.approx(misfit, rel=1e-6)


def test_a_gaussian_is_recovered_exactly():
    d = torch.arange(-15, 16, dtype=torch.float64)
    pairs = 7 * torch.exp(-(d[None] ** 2) / (2 * 3.5**2) - d[:, None] ** 2 / (2 * 1.25**2))
    pairs[15, 15] = 0
    fit = fit_gaussians(pairs[None])
    assert (fit.width_x.item(), fit.width_y.item()) == pytest.approx((3.5, 1.25), rel=1e-6)
    assert fit.misfit.item() < 1e-12


def test_transposing_the_masks_swaps_the_widths():
    drawn = masks()
    upright, lying = measure_widths(drawn), measure_widths(drawn.transpose(2, 3))
    torch.testing.assert_close(upright.width_x, lying.width_y, rtol=1e-5, atol=0)


def test_units_without_pairs_have_no_fit():
    drawn = torch.zeros(3, 3, 8, 8, dtype=torch.bool)
    drawn[1, 0, 2, 2] = True
    drawn[2, :, 2:6, 2:6] = True
    fit = measure_widths(drawn)
    assert fit.width_x.isnan().tolist() == [True, True, False]
    assert measure_widths(drawn[:2]).misfit.isnan().all()
