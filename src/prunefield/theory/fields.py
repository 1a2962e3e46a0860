"""Periodic Gaussian fields on a ring or a torus: covariance, spectrum and exact sampling.

The latent field behind NLGP, Kur and the elliptical data of lufkin2024 (§2.3) has unit variance and the covariance
exp(−d²/ξ²), d being the distance on the ring. Its covariance is circulant, so the Fourier basis diagonalises it.
On a torus d² is the sum over both axes, and the covariance is the Kronecker product of that of the ring with itself.
"""

import torch
from torch import Tensor

from prunefield.core.errors import UsageError

TOLERANCE = 1e-6  # largest acceptable change of a covariance when its negative eigenvalues are clipped
PRODUCT = 128  # number of sites on a side up to which a product with a root is as fast as a pair of FFTs


def measure_distances(size: int) -> Tensor:
    """The distance on the ring of each site from site 0, shape (size,).

    >>> measure_distances(5).tolist()
    [0.0, 1.0, 2.0, 2.0, 1.0]
    """
    site = torch.arange(size, dtype=torch.float64)
    return torch.minimum(site, size - site)


def correlate_sites(size: int, lengthscale: float, dimensions: int = 1) -> Tensor:
    """The covariance exp(−d²/ξ²) of site 0 with every site, shape (size,) on a ring and (size, size) on a torus.

    >>> correlate_sites(4, 1.0).round(decimals=4).tolist()
    [1.0, 0.3679, 0.0183, 0.3679]
    """
    row = torch.exp(-((measure_distances(size) / lengthscale) ** 2))
    return row if dimensions == 1 else torch.outer(row, row)


def find_eigenvalues(row: Tensor) -> Tensor:
    """The eigenvalues of the symmetric circulant matrix with the first row `row`, shape (size // 2 + 1,)."""
    return torch.fft.rfft(row).real


def make_circulant(row: Tensor) -> Tensor:
    """The circulant matrix with the symmetric first row `row`, shape (size, size).

    On a torus `row` is the kernel of shape (size, size), and the matrix has the shape (size², size²).

    >>> make_circulant(torch.tensor([2.0, 1.0, 0.0, 1.0]))[1].tolist()
    [1.0, 2.0, 1.0, 0.0]
    """
    site = torch.arange(len(row), device=row.device)
    gap = (site[None, :] - site[:, None]) % len(row)
    if row.ndim == 1:
        return row[gap]
    return row[gap[:, None, :, None], gap[None, :, None, :]].reshape(row.numel(), row.numel())


def measure_clipping(size: int, lengthscale: float) -> float:
    """The largest change of an entry of the covariance when its negative eigenvalues are clipped."""
    negative = find_eigenvalues(correlate_sites(size, lengthscale)).clamp(max=0.0)
    return float(torch.fft.irfft(negative, n=size).abs().max())


def limit_lengthscale(size: int) -> float:
    """The longest lengthscale for which a field exists on a ring of `size` sites.

    >>> limit_lengthscale(40)
    5.74
    """
    low, high = 0.0, float(size)
    while high - low > 1e-4 * size:
        middle = (low + high) / 2
        low, high = (middle, high) if measure_clipping(size, middle) <= TOLERANCE else (low, middle)
    return int(low * 100) / 100


def root_covariance(size: int, lengthscale: float) -> Tensor:
    """The symmetric square root R of the covariance C = R², shape (size, size): rows of `normal @ R` are fields.

    Beyond `limit_lengthscale(size)` no field with this covariance exists on the ring, which is an error.
    """
    if measure_clipping(size, lengthscale) > TOLERANCE:
        longest = limit_lengthscale(size)
        raise UsageError(
            f"lengthscale {lengthscale:g} is too long for a ring of {size} sites; the maximum is {longest:g}"
        )
    spectrum = find_eigenvalues(correlate_sites(size, lengthscale)).clamp(min=0.0)
    return make_circulant(torch.fft.irfft(spectrum.sqrt(), n=size))


def draw_fields(labels: Tensor, roots: Tensor, *, dimensions: int = 1, generator: torch.Generator) -> Tensor:
    """One field for each label: `roots` of shape (classes, size, size) gives fields of shape (n, size**dimensions).

    >>> roots = torch.stack([root_covariance(8, 0.5), root_covariance(8, 1.0)])
    >>> draw_fields(torch.tensor([0, 1, 1]), roots, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([3, 8])
    """
    sites = roots.shape[-1] ** dimensions
    return correlate_noise(
        torch.randn(len(labels), sites, dtype=roots.dtype, generator=generator), labels, roots, dimensions
    )


def correlate_noise(noise: Tensor, labels: Tensor, roots: Tensor, dimensions: int = 1) -> Tensor:
    """The field that white `noise` of shape (n, size**dimensions) becomes under the root of each label's class.

    On a torus the root is applied along each axis, which is cheaper by a factor of size than the whole root.
    """
    side = (roots.shape[-1],) * (dimensions - 1)
    fields = torch.empty_like(noise)
    for label, matrix in enumerate(roots):
        chosen = (labels == label).nonzero()[:, 0]
        grid = _multiply_circulant(noise[chosen].unflatten(-1, (*side, -1)), matrix)
        fields[chosen] = _multiply_circulant(grid.mT, matrix).mT.flatten(-2) if dimensions == 2 else grid
    return fields


def _multiply_circulant(noise: Tensor, matrix: Tensor) -> Tensor:
    """`noise @ matrix` for a symmetric circulant matrix."""
    if len(matrix) <= PRODUCT or not len(noise):  # MKL refuses to transform an empty array
        return noise @ matrix
    return torch.fft.irfft(torch.fft.rfft(noise) * find_eigenvalues(matrix[0]), n=len(matrix))
