"""Periodic Gaussian fields on a ring: covariance, spectrum and exact sampling.

The latent field behind NLGP, Kur and the elliptical data of lufkin2024 (§2.3) has unit variance and the covariance
exp(−d²/ξ²), d being the distance on the ring. Its covariance is circulant, so the Fourier basis diagonalises it.
"""

import torch
from torch import Tensor

from prunefield.errors import UsageError

# By so much may the clipping of negative eigenvalues change a covariance before it counts as a change of the field.
TOLERANCE = 1e-6


def measure_distances(size: int) -> Tensor:
    """The distance on the ring of each site from site 0, shape (size,).

    >>> measure_distances(5).tolist()
    [0.0, 1.0, 2.0, 2.0, 1.0]
    """
    site = torch.arange(size, dtype=torch.float64)
    return torch.minimum(site, size - site)


def correlate(size: int, lengthscale: float) -> Tensor:
    """The first row exp(−d²/ξ²) of the covariance, shape (size,).

    >>> correlate(4, 1.0).round(decimals=4).tolist()
    [1.0, 0.3679, 0.0183, 0.3679]
    """
    return torch.exp(-((measure_distances(size) / lengthscale) ** 2))


def transform(row: Tensor) -> Tensor:
    """The eigenvalues of the symmetric circulant matrix with the first row `row`, shape (size // 2 + 1,)."""
    return torch.fft.rfft(row).real


def wrap(row: Tensor) -> Tensor:
    """The circulant matrix with the symmetric first row `row`, shape (size, size).

    >>> wrap(torch.tensor([2.0, 1.0, 0.0, 1.0]))[1].tolist()
    [1.0, 2.0, 1.0, 0.0]
    """
    site = torch.arange(len(row), device=row.device)
    return row[(site[None, :] - site[:, None]) % len(row)]


def deviate(size: int, lengthscale: float) -> float:
    """How much clipping the negative eigenvalues would change the covariance: the largest change of an entry."""
    negative = transform(correlate(size, lengthscale)).clamp(max=0.0)
    return float(torch.fft.irfft(negative, n=size).abs().max())


def limit(size: int) -> float:
    """The longest lengthscale that a ring of `size` sites can carry.

    >>> limit(40)
    5.74
    """
    low, high = 0.0, float(size)
    while high - low > 1e-4 * size:
        middle = (low + high) / 2
        low, high = (middle, high) if deviate(size, middle) <= TOLERANCE else (low, middle)
    return int(low * 100) / 100


def root(size: int, lengthscale: float) -> Tensor:
    """The symmetric square root R of the covariance C = R², shape (size, size): rows of `normal @ R` are fields.

    Beyond `limit(size)` no field with this covariance exists on the ring, which is an error.
    """
    if deviate(size, lengthscale) > TOLERANCE:
        raise UsageError(
            f"lengthscale {lengthscale:g} is too long for a ring of {size} sites; the longest is {limit(size):g}"
        )
    spectrum = transform(correlate(size, lengthscale)).clamp(min=0.0)
    return wrap(torch.fft.irfft(spectrum.sqrt(), n=size))


def sample(labels: Tensor, roots: Tensor, *, generator: torch.Generator) -> Tensor:
    """One field for each label: `roots` of shape (classes, size, size) gives fields of shape (n, size).

    A product with the root of each class is as fast as a pair of FFTs at 40 sites and needs no even size.

    >>> roots = torch.stack([root(8, 0.5), root(8, 1.0)])
    >>> sample(torch.tensor([0, 1, 1]), roots, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([3, 8])
    """
    noise = torch.randn(len(labels), roots.shape[-1], dtype=roots.dtype, generator=generator)
    fields = torch.empty_like(noise)
    for label, matrix in enumerate(roots):
        chosen = (labels == label).nonzero()[:, 0]
        fields[chosen] = noise[chosen] @ matrix
    return fields
