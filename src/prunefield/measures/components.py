"""Components of images: principal, independent and randomly mixed, and whether they are local or periodic."""

import warnings
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.measures.localisation import compute_ipr


class Sources(NamedTuple):
    """Filters (components, N) that FastICA found, whether it converged, and after how many iterations."""

    filters: Tensor
    converged: bool
    iterations: int


class ComponentFilters(NamedTuple):
    """Filters (components, N) of the same subspace, in float64, and the share of the variance that it explains.

    `pca`: the directions of greatest variance. `ica`: the most non-Gaussian directions. `mixed`: whitening and a random
    rotation, which is all that ICA can find in Gaussian data.
    """

    pca: Tensor
    ica: Sources
    mixed: Tensor
    explained: float


def find_components(x: Tensor, count: int, *, iterations: int, seed: int) -> ComponentFilters:
    """PCA and FastICA of inputs (n, N) as in redman2025 (App. B), and their null.

    ICA is done in the space of the first `count` principal components, as FastICA itself would do, but the covariance
    is decomposed only once.

    >>> x = torch.randn(500, 6, generator=torch.Generator().manual_seed(0)).double() ** 3
    >>> found = find_components(x, 3, iterations=200, seed=0)
    >>> sources = (x - x.mean(0)) @ found.ica.filters.T
    >>> torch.allclose(sources.T @ sources / 500, torch.eye(3).double(), atol=1e-2)
    True
    """
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    if count > min(x.shape):
        raise UsageError(f"components must be at most {min(x.shape)}, the number of inputs or samples (got {count})")
    x = x.to(torch.float64)
    with threadpool_limits(1):
        found = PCA(count, svd_solver="covariance_eigh").fit(x.numpy())
    pca = torch.tensor(found.components_)
    whitening = pca / torch.tensor(found.explained_variance_).sqrt()[:, None]
    turned = find_sources((x - x.mean(0)) @ whitening.T, count, iterations=iterations, seed=seed, whiten=False)
    noise = torch.randn(count, count, dtype=torch.float64, generator=seeds.generator(seed, "mixing"))
    rotation, _ = torch.linalg.qr(noise)
    filters = turned.filters @ whitening
    return ComponentFilters(
        pca, turned._replace(filters=filters), rotation @ whitening, float(found.explained_variance_ratio_.sum())
    )


def find_sources(
    x: Tensor, count: int, *, iterations: int, seed: int, whiten: Literal["unit-variance", False] = "unit-variance"
) -> Sources:
    """FastICA of scikit-learn on inputs (n, N): all components in parallel, with the default contrast log cosh."""
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    ica = FastICA(
        count if whiten else None,
        algorithm="parallel",
        whiten=whiten,  # pyright: ignore[reportArgumentType]
        max_iter=iterations,
        random_state=seeds.derive_seed(seed, "directions") % 2**32,
    )
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always", ConvergenceWarning)
        ica.fit(x.to(torch.float64).numpy())
    restless = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return Sources(torch.from_numpy(ica.components_.copy()), not restless, int(ica.n_iter_))


def rate_locality(fields: Tensor) -> Tensor:
    """How local a field is: the number of pixels times Σe²/(Σe)², where e = Σ_c w_c² is the energy of a pixel.

    Fields (n, channels, height, width) give (n,): 1 for a flat field, 2.25 for a product of two sinusoids, the number
    of pixels for a single pixel.

    >>> one, flat = torch.zeros(3, 4, 4), torch.ones(3, 4, 4)
    >>> one[0, 2, 1] = -2
    >>> rate_locality(torch.stack([one, flat])).tolist()
    [16.0, 1.0]
    """
    return _compute_ipr(fields.to(torch.float64))


def rate_periodicity(fields: Tensor) -> Tensor:
    """How periodic a field is: `rate_locality` of its cosine transform.

    Images are not periodic, so a wave may end at any phase, which suits the cosine transform but not Fourier's.

    >>> wave = torch.cos(torch.pi * 3 * (torch.arange(8) + 0.5) / 8)
    >>> rate_periodicity((wave[:, None] * torch.ones(8)).view(1, 1, 8, 8)).round(decimals=6).tolist()
    [64.0]
    """
    from scipy.fft import dctn

    return _compute_ipr(torch.from_numpy(dctn(fields.to(torch.float64).numpy(), axes=(-2, -1), norm="ortho")))


def _compute_ipr(fields: Tensor) -> Tensor:
    energy = fields.square().sum(1).flatten(1)
    return energy.shape[1] * compute_ipr(energy.sqrt())
