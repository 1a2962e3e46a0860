"""Estimates of covariances and amplifiers: unbiased, with less noise than sample covariances."""

import pytest
import torch

from prunefield import Task
from prunefield.core.seeds import generator
from prunefield.measures.covariances import (
    amplify_resamples,
    correlate_lags,
    count_values,
    estimate_kernels,
    measure_lengthscale,
    shrink_covariance,
)
from prunefield.measures.examples import prepare_examples

GRID = torch.linspace(-1, 1, 41, dtype=torch.float64)


def once(groups):
    return torch.ones(1, len(groups.counts), dtype=torch.float64)


@pytest.mark.parametrize("kind", ["ising", {"kind": "nlgp", "g": 0.01}, {"kind": "kur", "k": 10.0}])
def test_the_amplifier_of_a_sample_agrees_with_that_of_the_law(kind):
    task = Task.parse(kind)
    law = count_values(task.sample(20_000, generator=generator(0, "data")).x.double())
    assert torch.allclose(amplify_resamples(law, once(law))(GRID[None])[0], task.amplifier(GRID), rtol=0, atol=0.01)


def test_kernels_have_a_tenth_of_the_noise_of_sample_covariances():
    task = Task.parse({"kind": "gaussian", "lengthscales": (0.3, 0.7)})
    x, y = task.sample(1000, generator=generator(0, "data"), dtype=torch.float64)
    short, long = (correlate_lags(x[y == label]) for label in (0, 1))
    kernels = estimate_kernels(short, long, (once(short), once(long)))
    for label, kernel in enumerate(kernels):
        sample, exact = torch.cov(x[y == label].T), task.covariance(label)
        noise = (torch.fft.rfft(kernel[0]).real - torch.fft.rfft(exact[0]).real).abs().max()
        assert noise < 0.1 * torch.linalg.eigvalsh(sample - exact).abs().max()


def test_lags_are_the_averages_along_the_ring_or_torus():
    x = torch.randn(30, 4, 6, dtype=torch.float64, generator=generator(0, "x"))
    lags = correlate_lags(x)
    direct = (x * x.roll((-1, -2), (1, 2))).mean()
    assert lags.average(once(lags))[0, 1, 2] == pytest.approx(float(direct))


def test_shrinkage_removes_noise_and_leaves_correlations():
    task = Task.parse("gaussian")
    x = task.sample(4000, generator=generator(0, "data"), dtype=torch.float64).x
    ones, sample = torch.ones(len(x), dtype=torch.float64), x.T @ x / len(x)
    assert torch.allclose(shrink_covariance(x, ones), sample, atol=0.02)
    white = torch.randn(100, 60, dtype=torch.float64, generator=generator(0, "white"))
    off = shrink_covariance(white, torch.ones(100, dtype=torch.float64)) - torch.diag(white.square().mean(0))
    assert off.abs().max() < 0.1


def test_the_longer_lengthscale_is_class_1_whatever_the_labels_and_their_numbers():
    batch = Task.parse("gaussian").sample(4000, generator=generator(0, "data"))
    kept = (batch.y == 1) | (torch.arange(4000) < 600)  # fewer examples have noisier correlations
    found = prepare_examples(batch.x[kept], 1 - batch.y[kept])
    assert found.labels == (1, 0)
    assert found.short is not None
    assert measure_lengthscale(found.short) < 2 < measure_lengthscale(found.long)
    assert any("class sizes differ" in note for note in found.notes)


def test_classes_with_weak_correlations_are_ordered_correctly():
    task = Task.parse({"kind": "gaussian", "lengthscales": (0.3, 0.7)})
    for seed in range(20):
        batch = task.sample(500, generator=generator(seed, "data"))
        assert prepare_examples(batch.x, batch.y).labels == (0, 1)
