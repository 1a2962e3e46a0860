"""What a ReLU neuron learns from elliptical data: the steady states of Proposition 3.3 of lufkin2024.

For elliptical data w·x is distributed as √(wᵀΣw)·X, X being a site's value, so the loss is exactly ½ − ½ m q + ¼ wᵀ(Σ₀
+ Σ₁)w with q = √(wᵀΣ₁w) and m = E|X| = φ(1), and its gradient flow (Eq. 11, with the constant and the halves that are
missing there) is ẇ = ½ m Σ₁w/q − ½ (Σ₀ + Σ₁)w: Eq. 5 with the linear amplifier φ(a) = m·a. The Fourier basis
diagonalises both covariances, and mode j grows at the rate ½ λ₁ⱼ [m/q − (1 + rⱼ)], rⱼ = λ₀ⱼ/λ₁ⱼ. A steady state
therefore has q = m/(1 + r) and only modes of that one ratio r: a sinusoid, if each ratio belongs to one frequency.

All functions take the circulant covariances Σ₀ and Σ₁ of a ring, shape (N, N); frequencies are 0, 1, …, N // 2.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from prunefield.theory.fields import find_eigenvalues


def compare_spectra(short: Tensor, long: Tensor) -> Tensor:
    """The ratios rₖ = λₖ(Σ₀)/λₖ(Σ₁) of Proposition 3.3, shape (N // 2 + 1,).

    >>> from prunefield.theory.fields import correlate_sites, make_circulant
    >>> short, long = (make_circulant(correlate_sites(40, xi)) for xi in (1.0, 3.0))
    >>> [round(float(r), 3) for r in compare_spectra(short, long)[:2]]  # near (ξ₀/ξ₁) exp((πk/N)²(ξ₁² − ξ₀²))
    [0.333, 0.35]
    """
    return find_eigenvalues(short[0]) / find_eigenvalues(long[0])


def find_amplitudes(short: Tensor, long: Tensor, mean: float) -> Tensor:
    """For each frequency, the amplitude of the sinusoid that is a steady state, shape (N // 2 + 1,); `mean` is m =
    E|X|.

    |v| = m√λ₁/(λ₀ + λ₁) in the orthonormal basis: this gives √(1/N)|v| for the frequencies 0 and N/2, and √(2/N)|v| for
    the others.

    >>> from prunefield.theory.fields import correlate_sites, make_circulant
    >>> short, long = (make_circulant(correlate_sites(40, xi)) for xi in (1.0, 3.0))
    >>> find_amplitudes(short, long, 0.79788)[:2].round(decimals=4).tolist()  # a Gaussian: m = √(2/π)
    [0.041, 0.0589]
    """
    low, high = find_eigenvalues(short[0]), find_eigenvalues(long[0])
    size = len(short)
    doubled = torch.full_like(low, 2.0)
    doubled[0] = 1.0
    if size % 2 == 0:
        doubled[-1] = 1.0
    return mean * (doubled / size * high).sqrt() / (low + high)


def find_growth_rates(short: Tensor, long: Tensor) -> Tensor:
    """The rate ½ λ₁ⱼ (rₖ − rⱼ) at which frequency j grows at the steady state of k, shape (k, j); it does not depend on
    m.

    Only the steady state with the smallest ratio has no positive rate: it is the stable one.

    >>> from prunefield.theory.fields import correlate_sites, make_circulant
    >>> short, long = (make_circulant(correlate_sites(40, xi)) for xi in (1.0, 3.0))
    >>> round(float(find_growth_rates(short, long)[1, 0]), 4)
    0.0448
    """
    ratios = compare_spectra(short, long)
    return find_eigenvalues(long[0]) * (ratios[:, None] - ratios) / 2


def find_stable_frequency(short: Tensor, long: Tensor) -> int:
    """The frequency of the only stable steady state, the one with the smallest ratio."""
    return int(compare_spectra(short, long).argmin())


def linearise_amplifier(amplifier: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The amplifier a ↦ φ(1)·a that makes Eq. 5 exact for elliptical data with the marginal of φ.

    >>> from prunefield.theory.amplifier import amplify_hypercube
    >>> linearise_amplifier(amplify_hypercube)(torch.tensor(0.25)).item()
    0.25
    """
    mean = float(amplifier(torch.tensor(1.0, dtype=torch.float64)))
    return lambda a: mean * a
