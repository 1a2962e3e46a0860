"""Covariances and the amplifier of a sample and its resamples, with as little noise as S1 and S2 allow.

Sample covariances of N sites have N²/2 errors of 1/√n, and the flow of lufkin2024 (Eq. 5) adds them all up, which
can hide a weakly curved amplifier. If the data are translation invariant (S2), covariances are averages along the ring
or torus, and lags whose average is within its noise are set to 0 (S1: distant sites are nearly independent).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from prunefield.theory.amplifier import invert_alg

GROUPS = 500  # largest number of parts of a sample that are resampled, instead of single examples
BINS, KNOTS, CELLS = 500, 257, 2048
FALSE = 0.01  # share of samples in which a lag is kept by chance alone
SAME = 3.0  # standard errors within which the variances of the two classes count as equal


class Lags(NamedTuple):
    """Products x_s x_(s+d), averaged over sites s: sums over the examples of each group (groups, *grid), and counts."""

    sums: Tensor
    counts: Tensor

    def average(self, weights: Tensor) -> Tensor:
        """The covariance of each lag, shape (resamples, *grid), with the weights (resamples, groups) of groups."""
        shape = (len(weights), *(1,) * (self.sums.ndim - 1))
        return torch.tensordot(weights, self.sums, 1) / (weights @ self.counts).view(shape)

    def estimate_errors(self) -> Tensor:
        """The standard error of each lag's average, from the scatter between groups, shape (*grid)."""
        means = self.sums / self.counts.view(-1, *(1,) * (self.sums.ndim - 1))
        return means.std(0) / math.sqrt(len(means))


def correlate_lags(x: Tensor) -> Lags:
    """The lags of examples (n, *grid) on a ring or torus, by FFT."""
    axes, groups = tuple(range(1, x.ndim)), min(len(x), GROUPS)
    sums = torch.stack([torch.fft.rfftn(x[first::groups], dim=axes).abs().square().sum(0) for first in range(groups)])
    sums = torch.fft.irfftn(sums, s=x.shape[1:], dim=axes) / x.shape[1:].numel()
    counts = torch.tensor([len(range(first, len(x), groups)) for first in range(groups)], dtype=torch.float64)
    return Lags(sums, counts)


def measure_lengthscale(x: Tensor) -> float:
    """Σ_d ρ(d)² over all lags d of centred examples (n, *grid), corrected for noise: 1 without correlations.

    ρ(d) is the average along the ring or torus, which has far less noise than the correlations of single pairs.

    >>> white = torch.randn(1000, 40, generator=torch.Generator().manual_seed(0))
    >>> round(measure_lengthscale(white), 2)
    1.0
    """
    lags = correlate_lags((x - x.mean(0)).to(torch.float64))
    squares = (lags.average(torch.ones(1, len(lags.counts), dtype=torch.float64))[0].square()).flatten()
    noise = lags.estimate_errors().square().flatten()
    return 1 + float((squares[1:] - noise[1:]).sum() / squares[0].clamp(min=1e-300))


def estimate_kernels(short: Lags | None, long: Lags, weights: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Kernels (resamples, *grid) of Σ₀ and Σ₁ from lags and the weights of their groups.

    A lag is 0 unless its average exceeds its threshold, which noise exceeds for one lag in 100 samples. Every resample
    decides anew, so doubt about a lag enters the answer. Variances that agree within 3 standard errors are set to 1 in
    both classes. Without `short`, class 0 has no correlations.
    """
    kernels = [_truncate_lags(lags, weight) for lags, weight in ((short, weights[0]), (long, weights[1])) if lags]
    if len(kernels) == 1:
        alone = torch.zeros_like(kernels[0])
        alone.view(len(alone), -1)[:, 0] = kernels[0].view(len(alone), -1)[:, 0]
        kernels.insert(0, alone)
    if _lags_agree(short, long):
        kernels = [
            kernel / kernel.view(len(kernel), -1)[:, :1].view(-1, *(1,) * (kernel.ndim - 1)) for kernel in kernels
        ]
    return kernels[0], kernels[1]


def _truncate_lags(lags: Lags, weights: Tensor) -> Tensor:
    found = lags.average(weights)
    chance = torch.tensor(FALSE / found[0].numel(), dtype=torch.float64)  # a lag equals its mirror image
    bound = -torch.special.ndtri(chance) * lags.estimate_errors()
    whole = lags.average(torch.ones(1, len(lags.counts), dtype=torch.float64))[0]
    # A resample has the noise of the sample plus as much of its own.
    bound = torch.where(whole.abs() > bound, bound, math.sqrt(2) * bound)
    kept = found.abs() > bound
    kept.view(len(kept), -1)[:, 0] = True
    return found * kept


def _lags_agree(short: Lags | None, long: Lags) -> bool:
    if short is None:
        return True
    means = [lags.average(torch.ones(1, len(lags.counts), dtype=torch.float64)).flatten()[0] for lags in (short, long)]
    errors = [lags.estimate_errors().flatten()[0] for lags in (short, long)]
    return abs(float(means[0] - means[1])) <= SAME * math.hypot(*map(float, errors))


def shrink_covariance(x: Tensor, weights: Tensor) -> Tensor:
    """The covariance of centred examples (n, N) with weights (n,), shrunk towards its diagonal.

    The shrinkage is that of Ledoit and Wolf: the mean squared error of the products divided by the squares of the
    sample covariances, both summed over pairs of different sites.

    >>> white = torch.randn(100, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    >>> shrunk = shrink_covariance(white, torch.ones(100, dtype=torch.float64))
    >>> bool((shrunk - torch.eye(50)).triu(1).abs().max() < 0.05)
    True
    """
    total = weights.sum()
    sample = x.T @ (x * (weights / total)[:, None])
    squares = x.square()
    scatter = float((weights * squares.sum(1).square()).sum() - (weights @ squares.square()).sum()) / float(total)
    off = float(sample.square().sum() - sample.diagonal().square().sum())
    noise = (scatter - off) / float(total)
    share = min(1.0, max(0.0, noise / off)) if off > 0 else 1.0
    return (1 - share) * sample + share * sample.diagonal().diag()


class Histogram(NamedTuple):
    """The marginal distribution of |x|: a node for each bin, and the counts of each group, (groups, bins)."""

    nodes: Tensor
    counts: Tensor


def count_values(x: Tensor) -> Histogram:
    """The histogram of |x| for examples (n, …), finer in the tail; the node of a bin is its mean."""
    size, groups = x.flatten(1).abs(), min(len(x), GROUPS)
    every = size.flatten()[:: max(1, size.numel() // 1_000_000)].sort().values
    level = 1 - (1 - torch.arange(1, BINS, dtype=torch.float64) / BINS).square()
    edges = every[(level * (len(every) - 1)).long()].unique()
    counts, sums = [], torch.zeros(len(edges) + 1, dtype=torch.float64)
    for first in range(groups):
        values = size[first::groups].flatten().contiguous()
        bins = torch.bucketize(values, edges)
        counts.append(torch.bincount(bins, minlength=len(sums)))
        sums += torch.bincount(bins, values, len(sums))
    table = torch.stack(counts).to(torch.float64)
    return Histogram(sums / table.sum(0).clamp(min=1), table)


def amplify_resamples(law: Histogram, weights: Tensor) -> Callable[[Tensor], Tensor]:
    """φ (lufkin2024, Eq. 6) of each resample, symmetrised (S3) and with unit variance, for a of shape (resamples, …).

    It is tabulated and interpolated with an error of about 1e-5.

    >>> normal = torch.special.ndtri((torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000)[:, None]
    >>> law = count_values(normal)
    >>> phi = amplify_resamples(law, torch.ones(1, len(law.counts), dtype=torch.float64))
    >>> round(phi(torch.tensor([[0.5]], dtype=torch.float64)).item(), 3)  # √(2/π)·a
    0.399
    """
    shares = weights @ law.counts
    shares = shares / shares.sum(1, keepdim=True)
    scale = (shares @ law.nodes.square()).sqrt()
    slope = invert_alg(torch.linspace(0, math.pi / 2, KNOTS, dtype=torch.float64).sin()).clamp(max=1e12) / math.sqrt(2)
    table = torch.empty(len(weights), KNOTS, dtype=torch.float64)
    for index, (share, size) in enumerate(zip(shares, scale, strict=True)):
        nodes = law.nodes / size
        table[index] = torch.erf(slope[:, None] * nodes) @ (share * nodes)
    even = torch.linspace(0, 1, CELLS + 1, dtype=torch.float64)
    place = even.asin() * ((KNOTS - 1) / (math.pi / 2))
    low = place.long().clamp(max=KNOTS - 2)
    flat = torch.lerp(table[:, low], table[:, low + 1], place - low).flatten()
    first = torch.arange(0, len(flat), CELLS + 1)

    def phi(a: Tensor) -> Tensor:
        place = a.abs().clamp(max=1.0) * CELLS
        low = place.long().clamp_(max=CELLS - 1)
        place -= low
        low += first.view(-1, *(1,) * (a.ndim - 1))
        return torch.lerp(flat[low], flat[low + 1], place).copysign_(a)

    return phi
