"""The compiled loops of batch normalisation of transposed inputs (features, batch), with the ReLU before it.

`real` is 1 for images and 0 for what fills a row up to a multiple of eight; `parts` is as in `compact_kernels`.
"""

from typing import Any

import numpy as np

from prunefield.core.compilation import compile_loop
from prunefield.training.lanes import (
    EIGHT,
    add,
    add_scaled,
    clip,
    fill,
    load,
    multiply,
    product,
    select,
    store,
    sum_one,
)

Parts = tuple[float, ...]


def normalise_rows(*arrays: Any) -> None:
    """out ← γ(h − μ)/√(v + ε) + β with h = max(x, low), the mean μ and the variance v of each row."""
    compile_loop(_normalise_rows)(*arrays)


def normalise_rows_back(*arrays: Any) -> None:
    """Turns the gradient g of `normalise_rows`' output into that of x, in place; γ and β take a step of descent."""
    compile_loop(_normalise_rows_back)(*arrays)


def _normalise_rows(
    x: np.ndarray,
    real: np.ndarray,
    n: Any,
    low: Any,
    eps: Any,
    gamma: np.ndarray,
    beta: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    parts: Parts,
    out: np.ndarray,
) -> None:
    """`low` is 0 where there is a ReLU and −∞ where there is none; a number that is not finite stays so."""
    width, one, zero = EIGHT * len(parts), x.dtype.type(1), x.dtype.type(0)
    for i in range(len(x)):
        total = zero
        for first in range(0, x.shape[1], width):
            h = clip(low, load(x, i, first, parts))
            total += sum_one(multiply(load(real, 0, first, parts), h))
        middle = total / n
        squares = zero
        for first in range(0, x.shape[1], width):
            rest = add_scaled(one, clip(low, load(x, i, first, parts)), fill(-middle, parts))
            squares += sum_one(multiply(product(load(real, 0, first, parts), rest), rest))
        spread = squares / n
        mean[i], variance[i] = middle, spread
        factor = gamma[i] * (one / np.sqrt(spread + eps))
        for first in range(0, x.shape[1], width):
            rest = add_scaled(one, clip(low, load(x, i, first, parts)), fill(-middle, parts))
            store(out, i, first, add_scaled(factor, rest, fill(beta[i], parts)))


def _normalise_rows_back(
    back: np.ndarray,
    x: np.ndarray,
    real: np.ndarray,
    n: Any,
    low: Any,
    eps: Any,
    gamma: np.ndarray,
    beta: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    parts: Parts,
    lr: Any,
    deepest: bool,
) -> None:
    """γ/√(v + ε)·(g − mean g − u·mean(g⊙u))·(x > low); nobody asks for that of the `deepest` layer."""
    width, one, zero = EIGHT * len(parts), x.dtype.type(1), x.dtype.type(0)
    for i in range(len(x)):
        slope, middle = one / np.sqrt(variance[i] + eps), mean[i]
        shift = stretch = zero
        for first in range(0, x.shape[1], width):
            g = load(back, i, first, parts)
            rest = add_scaled(one, clip(low, load(x, i, first, parts)), fill(-middle, parts))
            shift += sum_one(multiply(g, load(real, 0, first, parts)))
            stretch += sum_one(multiply(g, rest))
        stretch *= slope
        if not deepest:
            factor, own, other = slope * gamma[i], -shift / n, -slope * (stretch / n)
            for first in range(0, x.shape[1], width):
                row = load(x, i, first, parts)
                rest = add_scaled(one, row, fill(-middle, parts))
                inner = add(load(back, i, first, parts), add_scaled(other, rest, fill(own, parts)))
                scaled = product(add_scaled(factor, inner, fill(zero, parts)), load(real, 0, first, parts))
                store(back, i, first, select(low, row, scaled))
        gamma[i] -= lr * stretch
        beta[i] -= lr * shift
