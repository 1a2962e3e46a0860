"""The compiled loops of compact layers: the cost is that of the kept weights, not of the whole matrix.

Inputs and outputs are transposed, (features, batch), and a batch is a multiple of eight: then a weight meets whole
rows of them, in tiles of up to five registers (`parts`). Kept weights are sorted by block of columns, row and column:
the inputs of a block stay in the fastest cache. One order serves both directions, as what is added to the gradient of
the inputs stays in that cache, too; a second, transposed order was measured and is slower.
"""

from typing import Any

import numpy as np

from prunefield.core.compilation import compile_loop
from prunefield.training.lanes import (
    EIGHT,
    add,
    add_four,
    add_scaled,
    fill,
    load,
    multiply,
    pick,
    store,
    sum_four,
    sum_one,
)

Parts = tuple[float, ...]  # its length is the number of registers in a tile


def multiply_kept(*arrays: Any) -> None:
    """out ← W·x + bias."""
    compile_loop(_multiply_kept)(*arrays)


def differentiate_kept(*arrays: Any) -> None:
    """below ← Wᵀ·back, and target ← target + scale·(back·xᵀ) at the kept places; target may be W itself."""
    compile_loop(_differentiate_kept)(*arrays)


def correlate_kept(*arrays: Any) -> None:
    """target ← target + scale·(back·xᵀ) at the kept places, where nobody asks for the gradient of the inputs."""
    compile_loop(_correlate_kept)(*arrays)


def gather_kept(*arrays: Any) -> None:
    """values ← W at the kept places."""
    compile_loop(_read_kept)(*arrays)


def scatter_kept(*arrays: Any) -> None:
    """W ← values at the kept places; the others stay as they are."""
    compile_loop(_write_kept)(*arrays)


def _multiply_kept(
    values: np.ndarray,
    columns: np.ndarray,
    ends: np.ndarray,
    bias: np.ndarray,
    x: np.ndarray,
    out: np.ndarray,
    parts: Parts,
) -> None:
    """Two sums in turn, or each would wait for the one before."""
    blocks, rows = ends.shape
    width = EIGHT * len(parts)
    zero = out.dtype.type(0)
    for first in range(0, x.shape[1], width):
        k = 0
        for block in range(blocks):
            for i in range(rows):
                end = ends[block, i]
                even = load(out, i, first, parts) if block > 0 else fill(bias[i], parts)
                odd = fill(zero, parts)
                while k + 1 < end:
                    even = add_scaled(pick(values, k), load(x, pick(columns, k), first, parts), even)
                    odd = add_scaled(pick(values, k + 1), load(x, pick(columns, k + 1), first, parts), odd)
                    k += 2
                if k < end:
                    even = add_scaled(pick(values, k), load(x, pick(columns, k), first, parts), even)
                    k += 1
                store(out, i, first, add(even, odd))


def _differentiate_kept(
    values: np.ndarray,
    columns: np.ndarray,
    ends: np.ndarray,
    x: np.ndarray,
    back: np.ndarray,
    below: np.ndarray,
    target: np.ndarray,
    scale: Any,
    parts: Parts,
) -> None:
    """`below` must be zero at first; a target that is W itself needs a batch of one tile."""
    blocks, rows = ends.shape
    width = EIGHT * len(parts)
    for first in range(0, x.shape[1], width):
        k = 0
        for block in range(blocks):
            for i in range(rows):
                end = ends[block, i]
                g = load(back, i, first, parts)
                while k + 3 < end:
                    j = pick(columns, k)
                    store(below, j, first, add_scaled(pick(values, k), g, load(below, j, first, parts)))
                    a = multiply(g, load(x, j, first, parts))
                    j = pick(columns, k + 1)
                    store(below, j, first, add_scaled(pick(values, k + 1), g, load(below, j, first, parts)))
                    b = multiply(g, load(x, j, first, parts))
                    j = pick(columns, k + 2)
                    store(below, j, first, add_scaled(pick(values, k + 2), g, load(below, j, first, parts)))
                    c = multiply(g, load(x, j, first, parts))
                    j = pick(columns, k + 3)
                    store(below, j, first, add_scaled(pick(values, k + 3), g, load(below, j, first, parts)))
                    d = multiply(g, load(x, j, first, parts))
                    add_four(target, k, scale, sum_four(a, b, c, d))
                    k += 4
                while k < end:
                    j = pick(columns, k)
                    store(below, j, first, add_scaled(pick(values, k), g, load(below, j, first, parts)))
                    target[k] += scale * sum_one(multiply(g, load(x, j, first, parts)))
                    k += 1


def _correlate_kept(
    columns: np.ndarray,
    ends: np.ndarray,
    x: np.ndarray,
    back: np.ndarray,
    target: np.ndarray,
    scale: Any,
    parts: Parts,
) -> None:
    blocks, rows = ends.shape
    width = EIGHT * len(parts)
    for first in range(0, x.shape[1], width):
        k = 0
        for block in range(blocks):
            for i in range(rows):
                end = ends[block, i]
                g = load(back, i, first, parts)
                while k + 3 < end:
                    a = multiply(g, load(x, pick(columns, k), first, parts))
                    b = multiply(g, load(x, pick(columns, k + 1), first, parts))
                    c = multiply(g, load(x, pick(columns, k + 2), first, parts))
                    d = multiply(g, load(x, pick(columns, k + 3), first, parts))
                    add_four(target, k, scale, sum_four(a, b, c, d))
                    k += 4
                while k < end:
                    target[k] += scale * sum_one(multiply(g, load(x, pick(columns, k), first, parts)))
                    k += 1


def _read_kept(values: np.ndarray, columns: np.ndarray, ends: np.ndarray, weight: np.ndarray) -> None:
    blocks, rows = ends.shape
    k = 0
    for block in range(blocks):
        for i in range(rows):
            while k < ends[block, i]:
                values[k] = weight[i, columns[k]]
                k += 1


def _write_kept(values: np.ndarray, columns: np.ndarray, ends: np.ndarray, weight: np.ndarray) -> None:
    blocks, rows = ends.shape
    k = 0
    for block in range(blocks):
        for i in range(rows):
            while k < ends[block, i]:
                weight[i, columns[k]] = values[k]
                k += 1
