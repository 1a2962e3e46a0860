"""Cavity score: the change of the kurtosis of a pre-activation when one weight is removed, for all weights at once."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from prunefield.core.errors import UsageError, unknown
from prunefield.measures.cavity_halves import Halves
from prunefield.measures.cavity_kernels import add_weights, combine_moments

Column = Literal["exact", "of_mean", "first", "corrected", "corrected_mean"]
COLUMNS: tuple[Column, ...] = ("exact", "of_mean", "first", "corrected", "corrected_mean")
WHOLE = COLUMNS[:3]  # computed from whole classes; the others from halves of them
UNITS, INPUTS = 256, 1024  # size of a tile, so that moments are combined while they are in the cache
ROOM = 6_000  # images whose powers are held in memory at all inputs of a tile
THIN, FEW = 0.1, 16  # below this density or number per unit, weights are taken one by one, in float64
LEAST = 4  # smallest number of images of a class


def score_weights(
    weight: Tensor,
    x: Tensor,
    y: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    columns: Sequence[Column] = ("exact",),
) -> dict[str, Tensor]:
    """Cavity scores ±(kurt λ_i^(−j) − kurt λ_i)/kurt λ_i, λ = Wx, λ^(−j) = λ − W_ij x_j (redman2025, eq. 5).

    The sign is + where kurt λ_i > 3, else −. Weights (units, inputs), images (n, inputs) and their classes (n,);
    without classes all images are pooled. `exact` is eq. 5 in each class, averaged over classes; `of_mean` is eq. 5 of
    the kurtosis averaged over classes; `first` is the first order of `exact` in the weight. `corrected` and
    `corrected_mean` are `exact` and `of_mean` without their bias for few images: each class is divided into halves, and
    the sign comes from the half that the change does not come from (see `Halves`). Each is (units, inputs) in float64,
    NaN where a weight is pruned or has no score in any class. `excluded` (always returned) counts the classes
    in which a kept weight has no score because its unit has no variance, or none without this weight.

    Nothing is recomputed for single weights: with u = λ/σ, v = x/s centred within a class, a = W_ij s_j/σ_i, κ =
    E[u⁴], and the moments E[uv], E[u³v], E[u²v²], E[uv³] as matrix products, δ₂ = a(a − 2E[uv]), δ₄ = a(−4E[u³v] +
    a(6E[u²v²] + a(−4E[uv³] + aE[v⁴])))/κ and kurt λ^(−j)/kurt λ − 1 = (δ₄ − 2δ₂ − δ₂²)/(1 + δ₂)². To first order that
    is 4a(E[uv] − E[u³v]/κ), which sums to zero over the weights of a unit: kurtosis does not depend on scale. Products
    have the type of `weight`, or float64 if few weights are kept; sums over classes are in float64.

    >>> stream = torch.Generator().manual_seed(0)
    >>> w, x = (torch.randn(2, 5, generator=stream).double(), torch.randn(60, 5, generator=stream).double() ** 3)
    >>> found = score_weights(w, x, columns=("exact", "first"))
    >>> without = x @ (w[0] * torch.tensor([0, 1, 1, 1, 1.0]))
    >>> from prunefield.measures.kurtosis import kurtosis
    >>> before, after = kurtosis((x @ w[0])[:, None]), kurtosis(without[:, None])
    >>> bool(before > 3), torch.allclose(found["exact"][0, 0], (after - before) / before)
    (True, True)
    >>> bool(found["first"].sum(1).abs().max() < 1e-12)
    True
    """
    for column in columns:
        if column not in COLUMNS:
            raise unknown("column of cavity scores", column, COLUMNS)
    x = x if x.is_floating_point() else x.to(weight.dtype)
    kept = torch.ones_like(weight, dtype=torch.bool) if mask is None else mask.bool()
    thin = int(kept.sum()) < len(kept) * max(THIN * kept.shape[1], FEW)
    # One by one is faster at low density. And if a unit has few weights left, each carries much of the variance, so
    # 1 + δ₂ may be small and float32 is too coarse.
    weight = torch.where(kept, weight, 0).to(torch.float64 if thin else weight.dtype).contiguous()
    y = torch.zeros(len(x), dtype=torch.long) if y is None else y
    found: dict[str, Tensor] = {}
    for sums in (_Sums(columns, *weight.shape), *([Halves(*weight.shape)] if set(columns) - set(WHOLE) else [])):
        for rows, bounds in _group_classes(x, y, sums.parts):
            group = _Group(weight, x, rows, bounds)
            sums.take(group)
            for places in _slices(weight.shape[1], max(64, min(INPUTS, INPUTS * ROOM // len(rows)))):
                (_add_thin if thin else _add_dense)(sums, weight, kept, group, places)
        found |= sums.scores(kept)
    return {name: found[name] for name in (*columns, "excluded")}


class _Sums:
    """Sums over classes: the scores of every weight, and the number and kurtosis of excluded classes."""

    parts = 1  # of a class
    places = (((0, 1, 2), (0, 1)),)  # for each part, the arrays of `all` and of `lost` to which a kernel adds

    def __init__(self, columns: Sequence[Column], units: int, inputs: int) -> None:
        self.columns = [column for column in columns if column in WHOLE]
        self.all = [np.zeros((units, inputs) if column in columns else (0, 0)) for column in WHOLE]
        self.lost = [np.zeros((units, inputs)), np.zeros_like(self.all[1])]
        self.kurtosis, self.flat = [], []

    def take(self, group: "_Group") -> None:
        self.kurtosis.append(group.kurtosis)
        self.flat.append(group.inverse == 0)
        group.factor = torch.where(group.kurtosis > 3, 1.0, -1.0).double()

    def scores(self, kept: Tensor) -> dict[str, Tensor]:
        kurtosis, flat = torch.cat(self.kurtosis), torch.cat(self.flat)
        excluded, without = map(torch.from_numpy, self.lost)
        excluded += flat.double().sum(0)[:, None]
        excluded.masked_fill_(~kept, 0)
        classes = len(kurtosis) - excluded
        exact, change, first = map(torch.from_numpy, self.all)
        if "of_mean" in self.columns:
            whole = kurtosis.sum(0)[:, None] - without
            change.div_(whole).mul_((whole > 3 * classes).double().mul_(2).sub_(1))
        missing = ~kept | (classes <= 0)
        for score in (exact, first):
            if score.numel():
                score.div_(classes)
        found: dict[str, Tensor] = dict(zip(WHOLE, (exact, change, first), strict=True))
        return {name: found[name].masked_fill_(missing, torch.nan) for name in self.columns} | {
            "excluded": excluded.int()
        }


class _Group:
    """Images of classes or of halves: u = λ/σ (units, n), and for each 1/σ, κ and a factor of units, mean and s of
    inputs.

    1/σ and s are zero if there is no variance: then a = 0, and removing such an input changes nothing.
    """

    factor: Tensor  # of the change of the kurtosis in the score, (classes, units)

    def __init__(self, weight: Tensor, x: Tensor, rows: Tensor, bounds: list[int]) -> None:
        self.x, self.rows, self.dtype = x, rows, weight.dtype
        self.bounds, self.spans = np.array(bounds), [slice(*pair) for pair in pairwise(bounds)]
        self.mean, self.scale = (torch.empty(len(self.spans), x.shape[1], dtype=self.dtype) for _ in range(2))
        for c, span in enumerate(self.spans):
            self._describe(c, rows[span])
        self.u = torch.empty(len(weight), len(rows), dtype=self.dtype)
        for start in range(0, len(rows), ROOM):
            self.u[:, start : start + ROOM] = weight @ self._centre(slice(start, start + ROOM)).T
        self._standardise(weight)

    def _describe(self, c: int, rows: Tensor) -> None:
        total, greatest = (torch.zeros(self.x.shape[1], dtype=torch.float64) for _ in range(2))
        for part in rows.split(ROOM):
            images = self.x[part]
            total += images.sum(0, dtype=torch.float64)
            torch.maximum(greatest, images.abs().amax(0), out=greatest)
        self.mean[c], square = total / len(rows), torch.zeros_like(total)
        for part in rows.split(ROOM):
            square += (self.x[part].to(self.dtype) - self.mean[c]).square().sum(0)
        scale = (square / len(rows)).sqrt()
        constant = 4 * torch.finfo(self.x.dtype).eps * greatest  # what rounding leaves of a constant
        self.scale[c] = torch.where(scale > constant, scale, 0)

    def _centre(self, span: slice, places: slice = slice(None)) -> Tensor:
        """Some images at some inputs, centred within their classes; an input without variance is zero."""
        centred = self.x[:, places].index_select(0, self.rows[span]).to(self.dtype)
        first, last, _ = span.indices(len(self.rows))
        for c, own in enumerate(self.spans):
            part = centred[max(own.start - first, 0) : max(min(own.stop, last) - first, 0)]
            part -= self.mean[c, places]
            part.masked_fill_(self.scale[c, places] == 0, 0)
        return centred

    def _standardise(self, weight: Tensor) -> None:
        spread = self.scale.square() @ weight.square().T  # the variance if the inputs were independent
        variance = torch.stack([self.u[:, span].square().mean(1, dtype=torch.float64) for span in self.spans])
        flat = variance <= (64 * torch.finfo(self.dtype).eps) ** 2 * spread
        self.inverse = torch.where(flat, 0, variance.rsqrt())
        for span, inverse in zip(self.spans, self.inverse, strict=True):
            self.u[:, span] *= inverse[:, None].to(self.dtype)
        fourths = [self.u[:, span].square().square_().mean(1, dtype=torch.float64) for span in self.spans]
        self.kurtosis = torch.stack(fourths)

    def inputs(self, places: slice) -> Tensor:
        """v = x/s at some inputs, (n, inputs)."""
        v = self._centre(slice(None), places)
        for span, scale in zip(self.spans, self.scale, strict=True):
            v[span] /= torch.where(scale[places] > 0, scale[places], 1)
        return v


def _group_classes(x: Tensor, y: Tensor, parts: int) -> Iterator[tuple[Tensor, list[int]]]:
    """The positions of the images of as many classes at a time as there is room for, and where their parts begin."""
    if len(y) != len(x) or len(x) == 0:
        raise UsageError(f"cavity scores need one label per image, but there are {len(y)} labels and {len(x)} images")
    labels, counts = y.unique(return_counts=True)
    if int(counts.min()) < parts * LEAST:
        label, n = int(labels[counts.argmin()]), int(counts.min())
        what = "a kurtosis needs" if parts == 1 else "corrected scores need"
        raise UsageError(
            f"class {label} has {n} images, but {what} at least {parts * LEAST}; use more images or leave this class "
            "out"
        )
    order, start, bounds = y.argsort(stable=True), 0, [0]
    for count in [*counts.tolist(), ROOM]:
        if len(bounds) > 1 and bounds[-1] + count > ROOM:
            yield order[start : start + bounds[-1]], bounds
            start, bounds = start + bounds[-1], [0]
        bounds += [bounds[-1] + count * part // parts for part in range(1, parts + 1)]


def _add_dense(sums: _Sums | Halves, weight: Tensor, _: Tensor, group: _Group, places: slice) -> None:
    """Adds some classes for all weights of some inputs, by matrix products, tile by tile."""
    v = group.inputs(places)
    v2 = v.square()
    v3 = v2 * v
    v4 = torch.stack([v2[span].square().mean(0) for span in group.spans])
    scale = group.scale[:, places].contiguous()
    for rows in _slices(len(weight), UNITS):
        u = group.u[rows]
        u2, size = u.square(), len(u)
        odd = torch.cat([u, u2 * u])
        w = weight[rows, places].contiguous()
        moments = torch.empty(4 * size, w.shape[1], dtype=w.dtype)
        outs = moments.split([2 * size, size, size])
        added = [np.zeros(w.shape if len(column) else (0, 0), w.numpy().dtype) for column in sums.all]
        lost = [item[rows, places] for item in sums.lost]
        for c, span in enumerate(group.spans):
            for out, left, right in zip(outs, (odd, u2, u), (v, v2, v3), strict=True):
                torch.mm(left[:, span], right[span], out=out)
            pixels = (item[c].numpy() for item in (scale, v4))
            units = (item[c, rows].numpy() for item in (group.inverse, group.kurtosis, group.factor))
            ours, gone = sums.places[c % sums.parts]
            outputs = (*(added[k] for k in ours), *(lost[k] for k in gone))
            combine_moments(*outputs, moments.numpy(), w.numpy(), *pixels, *units, span.stop - span.start)
        for column, part in zip(sums.all, added, strict=True):
            if len(column):
                column[rows, places] += part


def _add_thin(sums: _Sums | Halves, weight: Tensor, kept: Tensor, group: _Group, places: slice) -> None:
    """Adds some classes for only the kept weights of some inputs, one by one."""
    chosen = (part.numpy() for part in torch.nonzero(kept[:, places], as_tuple=True))
    images = (group.u.numpy(), group.inputs(places).T.contiguous().numpy(), weight[:, places].contiguous().numpy())
    scale = group.scale[:, places].contiguous().numpy()
    units = (item.numpy() for item in (group.inverse, group.kurtosis, group.factor))
    given = (*chosen, *images), (group.bounds, scale, *units)
    for part, (ours, gone) in enumerate(sums.places):
        outputs = (*(sums.all[k] for k in ours), *(sums.lost[k] for k in gone))
        classes = np.arange(part, len(group.spans), sums.parts)
        add_weights(*(item[:, places] for item in outputs), *given[0], classes, *given[1])


def _slices(size: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]
