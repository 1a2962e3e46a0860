"""Components against scikit-learn on the whole data, known sources and closed forms."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.measures.components import find_components, find_sources, rate_locality, rate_periodicity


def draw(n, *shape, seed=0):
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def sources():
    """Sparse sources, each at its own pixels, in a little Gaussian noise."""
    maps = torch.zeros(4, 36, dtype=torch.float64)
    for row, places in enumerate(((0, 1, 6), (3, 4, 9), (14, 15, 20), (28, 29, 34))):
        maps[row, list(places)] = 1
    x = draw(3000, 4) ** 3 @ maps + 0.05 * draw(3000, 36, seed=1)
    return x, maps


def alignment(first, second):
    normal = [rows / rows.norm(dim=1, keepdim=True) for rows in (first, second)]
    return (normal[0] @ normal[1].T).abs()


def test_ica_in_the_principal_space_equals_ica_of_all_inputs(sources):
    x, _ = sources
    found = find_components(x, 4, iterations=200, seed=0)
    whole = find_sources(x, 4, iterations=200, seed=0)
    assert found.ica.converged
    assert whole.converged
    assert alignment(found.ica.filters, whole.filters).amax(1).min() > 0.999


def test_known_sources_are_found_by_ica_only(sources):
    x, maps = sources
    found = find_components(x, 4, iterations=200, seed=0)
    assert alignment(found.ica.filters, maps).amax(1).min() > 0.99
    assert alignment(found.mixed, maps).amax(1).min() < 0.95
    local = [rate_locality(part.view(-1, 1, 6, 6)).mean() for part in (found.ica.filters, found.mixed)]
    assert local[0] > 1.5 * local[1]


def test_principal_components_are_the_eigenvectors(sources):
    x, _ = sources
    found = find_components(x, 4, iterations=50, seed=0)
    values, vectors = torch.linalg.eigh(x.T.cov())
    assert torch.allclose(alignment(found.pca, vectors.T[-4:].flip(0)), torch.eye(4).double(), atol=1e-6)
    assert found.explained == pytest.approx((values[-4:].sum() / values.sum()).item())
    mixed = (x - x.mean(0)) @ found.mixed.T
    assert torch.allclose(mixed.T.cov(), torch.eye(4).double(), atol=1e-8)


def test_locality_and_periodicity_of_known_fields():
    assert rate_locality(draw(4000, 1, 8, 8)).mean().item() == pytest.approx(3 * 64 / 66, rel=0.01)
    assert rate_periodicity(draw(4000, 1, 8, 8)).mean().item() == pytest.approx(3 * 64 / 66, rel=0.01)
    angle = 2 * torch.pi * torch.arange(16).double() / 16
    wave = (2 * angle).sin()[:, None] * (3 * angle).sin()
    assert rate_locality(wave.view(1, 1, 16, 16)).item() == pytest.approx(2.25)
    dot = torch.zeros(1, 3, 16, 16)
    dot[0, 1, 5, 5] = 1
    assert rate_locality(dot).item() == 256
    assert rate_periodicity(dot).item() < 3


def test_too_many_components_are_reported():
    with pytest.raises(UsageError, match=r"at most 5, .*got 6"):
        find_components(draw(20, 5), 6, iterations=5, seed=0)
