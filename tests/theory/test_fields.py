"""Periodic Gaussian fields: samples have the requested covariance."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.theory import fields


@pytest.mark.parametrize(("size", "lengthscale"), [(40, 1.0), (40, 3.0), (41, 3.0), (7, 1.0), (100, 0.3)])
def test_the_root_squares_to_the_covariance(size, lengthscale):
    matrix = fields.root_covariance(size, lengthscale)
    covariance = fields.make_circulant(fields.correlate_sites(size, lengthscale))
    assert torch.allclose(matrix @ matrix, covariance, rtol=0, atol=1e-6)
    assert torch.equal(matrix, matrix.T) or torch.allclose(matrix, matrix.T, atol=1e-15)


def test_the_covariance_depends_on_the_distance_on_the_ring():
    covariance = fields.make_circulant(fields.correlate_sites(40, 3.0))
    for i, j in ((0, 0), (3, 1), (0, 39), (2, 30), (39, 12)):
        d = min(abs(i - j), 40 - abs(i - j))
        assert covariance[i, j].item() == pytest.approx(torch.tensor(-(d**2) / 9.0).exp().item(), rel=1e-6)


def test_the_transform_gives_the_eigenvalues():
    row = fields.correlate_sites(9, 1.2)
    twice = torch.cat([fields.find_eigenvalues(row), fields.find_eigenvalues(row)[1:]])
    assert torch.allclose(twice.sort()[0], torch.linalg.eigvalsh(fields.make_circulant(row)), atol=1e-13)


def test_each_label_gets_a_field_of_its_class():
    roots = torch.stack([fields.root_covariance(10, 0.4), fields.root_covariance(10, 1.5)])
    labels = torch.arange(40_000) % 2
    drawn = fields.draw_fields(labels, roots, generator=torch.Generator().manual_seed(1))
    for label, lengthscale in enumerate((0.4, 1.5)):
        chosen = drawn[labels == label]
        seen = chosen.T @ chosen / len(chosen)
        # Five standard errors of a product of two unit normals.
        assert (seen - fields.make_circulant(fields.correlate_sites(10, lengthscale))).abs().max() < 5 * (
            2 / 20_000
        ) ** 0.5


def test_a_lengthscale_too_long_for_the_ring_is_refused_with_the_maximum():
    with pytest.raises(UsageError, match=r"15 is too long for a ring of 40 sites; the maximum is 5\.74"):
        fields.root_covariance(40, 15.0)
    fields.root_covariance(40, fields.limit_lengthscale(40))
    with pytest.raises(UsageError):
        fields.root_covariance(40, fields.limit_lengthscale(40) + 0.02)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_long_sides_are_smoothed_by_ffts_to_the_same_fields(dimensions):
    size = fields.PRODUCT + 3
    roots = torch.stack([fields.root_covariance(size, 1.0), fields.root_covariance(size, 3.0)])
    labels = torch.tensor([0, 1, 1])
    noise = torch.randn(3, size**dimensions, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    seen = fields.correlate_noise(noise, labels, roots, dimensions)
    for label, row, field in zip(labels, noise, seen, strict=True):
        whole = row @ roots[label] if dimensions == 1 else roots[label] @ row.view(size, size) @ roots[label]
        assert torch.allclose(field, whole.flatten(), atol=1e-12)
    assert torch.allclose(fields.correlate_noise(noise[1:], labels[1:], roots, dimensions), seen[1:], atol=1e-12)
