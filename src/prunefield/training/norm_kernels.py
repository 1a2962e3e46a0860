"""The compiled loops of batch normalisation of transposed inputs (features, batch), with the ReLU before it.

Only the first n numbers of a row are images; what follows fills a row up to a multiple of eight.
"""

from typing import Any

import numpy as np

from prunefield.core.compilation import compile_loop


def normalise_rows(*arrays: Any) -> None:
    """out ← γ(h − μ)/√(v + ε) + β with h = max(x, low), the mean μ and the variance v of each row."""
    compile_loop(_normalise_rows)(*arrays)


def normalise_rows_back(*arrays: Any) -> None:
    """Turns the gradient g of `normalise_rows`' output into that of x, in place; γ and β take a step of descent."""
    compile_loop(_normalise_rows_back)(*arrays)


def _normalise_rows(
    x: np.ndarray,
    n: int,
    low: Any,
    eps: Any,
    gamma: np.ndarray,
    beta: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    out: np.ndarray,
) -> None:
    """`low` is 0 where there is a ReLU and −∞ where there is none; a number that is not finite stays so."""
    one, none = x.dtype.type(1), x.dtype.type(0)
    count = x.dtype.type(n)
    for i in range(len(x)):
        row, to = x[i], out[i]
        total = none
        for t in range(n):
            total += low if row[t] < low else row[t]
        middle = total / count
        squares = none
        for t in range(n):
            rest = (low if row[t] < low else row[t]) - middle
            squares += rest * rest
        spread = squares / count
        mean[i], variance[i] = middle, spread
        factor = gamma[i] * (one / np.sqrt(spread + eps))
        shift = beta[i]
        for t in range(n):
            to[t] = ((low if row[t] < low else row[t]) - middle) * factor + shift


def _normalise_rows_back(
    back: np.ndarray,
    x: np.ndarray,
    n: int,
    low: Any,
    eps: Any,
    gamma: np.ndarray,
    beta: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    lr: Any,
    deepest: bool,
) -> None:
    """γ/√(v + ε)·(g − mean g − u·mean(g⊙u))·(x > low); nobody asks for that of the `deepest` layer."""
    one, none = x.dtype.type(1), x.dtype.type(0)
    count = x.dtype.type(n)
    for i in range(len(x)):
        row, g = x[i], back[i]
        slope, middle = one / np.sqrt(variance[i] + eps), mean[i]
        shift = stretch = none
        for t in range(n):
            shift += g[t]
            stretch += g[t] * ((low if row[t] < low else row[t]) - middle)
        stretch *= slope
        if not deepest:
            factor, own, other = slope * gamma[i], shift / count, slope * (stretch / count)
            for t in range(n):
                inner = factor * (g[t] - own - other * (row[t] - middle))
                g[t] = inner if row[t] > low else none
        gamma[i] -= lr * stretch
        beta[i] -= lr * shift
