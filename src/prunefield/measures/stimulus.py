"""Whether a sample has the stimulus properties of lufkin2024 (§2.2): S1 weak dependence, S2 translation invariance, S3
sign symmetry.

Each function takes a sample of fields of shape (n, *shape), on a ring or a torus, and tests the property in some
moments; no finite number of tests can be complete. Examples are independent, sites are not, so every standard error
comes from the scatter between examples. `p` is the p-value of the largest score, by Bonferroni, from Student's t: with
50 examples the tails of a normal distribution reject 3 to 11 times as often as they say at a level of 1%.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import stdtr
from torch import Tensor

from prunefield.core.errors import UsageError

FAR = 0.1  # largest correlation at the greatest distance that counts as weak


class Answer(NamedTuple):
    """The result of a test: the largest |z| (a mean over its standard error), its p-value, a dimensionless effect, and
    whether the property is `met`.
    """

    z: float
    p: float
    effect: float
    met: bool


def probe_dependence(x: Tensor, *, level: float = 1e-3) -> Answer:
    """S1: are sites at the greatest distance nearly independent, in value, in size and in sign?

    The effect is the largest correlation between sites half a ring apart, of x, |x| and the sign of x; under
    independence all are 0. S1 is a statement about large N: it is met unless a correlation is significantly above 0.1.

    >>> stream = torch.Generator().manual_seed(0)
    >>> white = torch.randn(2000, 20, generator=stream)
    >>> probe_dependence(white).met, probe_dependence(white * torch.rand(2000, 1, generator=stream)).met
    (True, False)
    """
    x = _prepare_sites(x)
    axes = tuple(range(1, x.ndim))
    found = []
    for values in (x - x.mean(0), x.abs(), x.sign()):
        centred = values - values.mean(0)
        variance = centred.square().mean()
        if variance > 1e-12:  # |x| is constant for spins
            opposite = centred.roll([x.shape[axis] // 2 for axis in axes], axes)
            pairs = (centred * opposite).flatten(1)
            used = (pairs != 0).any(0)  # a constant site has no correlations
            found.append((pairs[:, used].mean(1) / variance)[:, None])
    products = torch.cat(found, 1)
    effect = float(products.mean(0).abs().max())
    error = products.std(0) / math.sqrt(len(x))
    z = (products.mean(0).abs() - FAR) / error
    p = _bound_p_value(z.clamp(min=0), len(x) - 1)
    return Answer(float(z.max()), p, effect, bool(z.max() <= 0 or p >= level))


def probe_translation(x: Tensor, *, level: float = 1e-3) -> Answer:
    """S2: do all sites have the same mean and square, and the same products with their neighbours?

    The effect is the largest deviation of a site from the average over sites, in standard deviations of an example.

    >>> white = torch.randn(2000, 20, generator=torch.Generator().manual_seed(0))
    >>> probe_translation(white).met, probe_translation(white * torch.linspace(1, 2, 20)).met
    (True, False)
    """
    x = _prepare_sites(x)
    # Bounded values have all moments; with heavy tails one large value would otherwise dominate a site.
    y = _squash_values(x)
    products = [y, y.square(), *(y * y.roll(step, axis) for axis in range(1, x.ndim) for step in (1, 2, 4))]
    return _test_means(
        ((part - part.mean(tuple(range(1, x.ndim)), keepdim=True)).flatten(1) for part in products), level
    )


def probe_sign(x: Tensor, *, level: float = 1e-3) -> Answer:
    """S3: do odd moments vanish: of sites, of three neighbours, and of a site with the square of another?

    >>> white = torch.randn(2000, 20, generator=torch.Generator().manual_seed(0))
    >>> probe_sign(white).met, probe_sign(white + 0.1).met, probe_sign(white.exp() - white.exp().mean()).met
    (True, False, False)
    """
    x = _prepare_sites(x)
    # If S3 holds, bounded odd functions have a mean of exactly 0, however heavy the tails.
    scale = x.square().mean().sqrt()
    y = x / (x.abs() + scale)
    products = [y, y**3]
    for axis in range(1, x.ndim):
        products += [y * y.roll(1, axis) * y.roll(2, axis), y * y.roll(1, axis).square()]
    parts = [part.flatten(1) for part in products]
    # Averages over sites detect what is the same everywhere, single sites what is not.
    return _test_means([*parts, torch.stack([part.mean(1) for part in parts], 1)], level)


def probe_means(first: Tensor, second: Tensor, *, level: float = 1e-3) -> Answer:
    """Do two classes have the same mean at every site? The effect is the largest difference, in standard deviations.

    >>> white = torch.randn(2000, 20, generator=torch.Generator().manual_seed(0))
    >>> probe_means(white[:900], white[900:]).met, probe_means(white[:900], white[900:] + 0.5).met
    (True, False)
    """
    return _compare_means(first.flatten(1), second.flatten(1), level)


def probe_classes(first: Tensor, second: Tensor, *, level: float = 1e-3) -> Answer:
    """Do two classes differ at all: in the mean of a site, in squares, or in products of neighbours?

    `met` means that they do. Products are averaged over sites.

    >>> white = torch.randn(2000, 20, generator=torch.Generator().manual_seed(0))
    >>> probe_classes(white[:900], white[900:]).met, probe_classes(white[:900], white[900:].cumsum(1)).met
    (False, True)
    """
    scale = torch.cat([first, second]).square().mean().sqrt()

    def describe(x: Tensor) -> Tensor:
        y = x / (x.abs() + scale)
        products = [y.square(), *(y * y.roll(step, axis) for axis in range(1, x.ndim) for step in (1, 2, 4))]
        return torch.cat([torch.stack([part.flatten(1).mean(1) for part in products], 1), y.flatten(1)], 1)

    found = _compare_means(describe(first), describe(second), level)
    return found._replace(met=not found.met)


def probe_force(x: Tensor, fields: Tensor, pull: Tensor, force: Tensor, *, shifts: bool) -> Answer:
    """Does Eq. 5 hold at `fields` (inits, *grid): is E[x sign(w·x)], over examples (n, *grid) of class 1, given by φ?

    `pull` (inits, *grid) is Σ₁w/√(wᵀΣ₁w), and `force` is the excess of φ over √(2/π) times that. Only the part of the
    force that is orthogonal to the pull makes a field narrower: elliptical data have E[x sign(w·x)] = φ(1)·pull, and so
    none of it, however curved φ is. The effect is the share of that part that the examples show: 1 if Eq. 5 holds, 0
    for elliptical data. It is met if the share is above 0 with 95% certainty. With `shifts`, all shifts of a field
    along the ring or torus are used, as S2 allows.
    """
    axes, values = tuple(range(1, x.ndim)), []
    spectrum = torch.fft.rfftn(x, dim=axes) if shifts else None
    for field, drawn, full in zip(fields, pull, force, strict=True):
        extra = full - drawn * ((full * drawn).sum() / drawn.square().sum().clamp(min=1e-300))
        if spectrum is None:
            reach, gain = (x.flatten(1) @ part.flatten() for part in (field, extra))
        else:
            reach, gain = (
                torch.fft.irfftn(spectrum * torch.fft.rfftn(part).conj(), s=x.shape[1:], dim=axes)
                for part in (field, extra)
            )
        seen = (reach.sign() * gain).flatten(1).mean(1) if shifts else reach.sign() * gain
        values.append(seen / extra.square().sum().clamp(min=1e-300))
    shares = torch.stack(values).mean(0)
    value, error = float(shares.mean()), float(shares.std()) / math.sqrt(len(x))
    z = value / max(error, 1e-12)
    p = float(stdtr(len(x) - 1, -z))
    return Answer(z, p, value, p < 0.05)


def _compare_means(first: Tensor, second: Tensor, level: float) -> Answer:
    """Tests that the columns of two samples have equal means."""
    spreads = [part.var(0) for part in (first, second)]
    shares = [spread / len(part) for spread, part in zip(spreads, (first, second), strict=True)]
    error = (shares[0] + shares[1]).sqrt()
    varies = error > 1e-12
    gaps = (first.mean(0) - second.mean(0)).abs()
    if bool((gaps[~varies] > 1e-12).any()):  # constants that differ
        return Answer(math.inf, 0.0, math.inf, False)
    if not bool(varies.any()):
        return Answer(0.0, 1.0, 0.0, True)
    gap = gaps[varies]
    z = gap / error[varies]
    effect = gap / ((spreads[0] + spreads[1]) / 2).sqrt()[varies]
    within = sum(share.square() / (len(part) - 1) for share, part in zip(shares, (first, second), strict=True))
    p = _bound_p_value(z, (error**4 / within)[varies])  # Welch's degrees of freedom
    return Answer(float(z.max()), p, float(effect.max()), p >= level)


def _prepare_sites(x: Tensor) -> Tensor:
    if x.ndim not in (2, 3) or len(x) < 50 or min(x.shape[1:]) < 4:
        raise UsageError(f"a sample has the shape (n, N) or (n, N, N), n ≥ 50 and N ≥ 4 (got {tuple(x.shape)})")
    if not bool(x.isfinite().all()):
        raise UsageError("a sample must be finite (got NaN or infinite values)")
    x = x.to(torch.float64)
    if not bool((x.flatten(1).var(0) > 0).any()):
        raise UsageError("at least one site must vary (got constant ones)")
    return x


def _squash_values(x: Tensor) -> Tensor:
    """x squashed into (−1, 1) by the same function at all sites."""
    centred = x - x.mean()
    return centred / (centred.abs() + centred.square().mean().sqrt())


def _test_means(parts: Iterable[Tensor], level: float) -> Answer:
    """Tests that every column of every part, shape (n, columns), has mean 0."""
    scores, effects, count = [], [], 0
    for part in parts:
        count = len(part)
        mean, spread = part.mean(0), part.std(0)
        varies = spread > 1e-12
        scores.append(mean[varies].abs() / spread[varies] * math.sqrt(count))
        effects.append(mean[varies].abs() / spread[varies])
    z = torch.cat(scores)
    if not len(z):
        return Answer(0.0, 1.0, 0.0, True)
    p = _bound_p_value(z, count - 1)
    return Answer(float(z.max()), p, float(torch.cat(effects).max()), p >= level)


def _bound_p_value(z: Tensor, freedom: Tensor | int) -> float:
    """Bonferroni's p-value of the largest of two-sided scores, by Student's t with these degrees of freedom."""
    tails = stdtr(np.asarray(freedom), -z.numpy())
    return min(1.0, 2 * len(z) * float(tails.min()))
