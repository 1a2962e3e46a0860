"""The velocity of Eq. 5, compiled: the amplifier is read from its table, and even and odd fields take half the work."""

from collections.abc import Callable

import numpy as np

from prunefield.core.compilation import compile_loop


def fold_matrices(both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrices side by side, (N, 2N), as blocks for even and odd fields, (N/2+1, N+2) and (N/2−1, N−2): half the work.

    A covariance on a ring maps even fields (wᵢ = w₋ᵢ) to even ones and odd to odd ones. If that does not hold, as on a
    torus or for an estimated covariance, or if N is odd, the first block holds the matrices and the second is empty.

    >>> ring = np.array([[2.0, 1.0, 0.0, 1.0], [1.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 1.0], [1.0, 0.0, 1.0, 2.0]])
    >>> [block.shape for block in fold_matrices(np.hstack([ring, ring]))]
    [(3, 6), (1, 2)]
    """
    size, middle = len(both), len(both) // 2
    blocks, mirror = both.reshape(size, 2, size), -np.arange(size) % size
    flipped = blocks[mirror]
    if size % 2 or size < 4 or not np.allclose(blocks, flipped[..., mirror], rtol=0, atol=1e-14):
        return both, np.empty((0, 0))
    even, odd = (blocks + flipped)[: middle + 1, :, : middle + 1], (blocks - flipped)[1:middle, :, 1:middle]
    even[[0, middle]] /= 2  # the two sites that are their own mirror images
    return np.ascontiguousarray(even).reshape(middle + 1, -1), np.ascontiguousarray(odd).reshape(middle - 1, -1)


def compile_velocity() -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """½φ(Σ₁w/√(wᵀΣ₁w)) − ½(Σ₀ + Σ₁)w for concatenated fields w, shape (n·N,).

    The other arguments are (Σ₁, Σ₀ + Σ₁) from `fold_matrices` and φ's table. It is compiled because, at these sizes,
    the overhead of numpy's calls would take most of the time of an integration.
    """
    return compile_loop(_compute_velocity, exact=True)


def _compute_velocity(flat: np.ndarray, even: np.ndarray, odd: np.ndarray, rows: np.ndarray) -> np.ndarray:
    size, middle, half, last = len(even) + len(odd), len(even) - 1, len(rows) / 2, len(rows) - 1
    w = flat.reshape(-1, size)
    if len(odd) == 0:
        products = np.dot(w, even)
    else:
        sums, differences = np.empty((len(w), middle + 1)), np.empty((len(w), middle - 1))
        for field in range(len(w)):
            sums[field, 0], sums[field, middle] = w[field, 0], w[field, middle]
            for site in range(1, middle):
                sums[field, site] = (w[field, site] + w[field, size - site]) / 2
                differences[field, site - 1] = (w[field, site] - w[field, size - site]) / 2
        alike, unlike = np.dot(sums, even), np.dot(differences, odd)
        products = np.empty((len(w), 2 * size))
        for field in range(len(w)):
            for part in range(2):
                here, first, second = part * size, part * (middle + 1), part * (middle - 1) - 1
                products[field, here] = alike[field, first]
                products[field, here + middle] = alike[field, first + middle]
                for site in range(1, middle):
                    same, other = alike[field, first + site], unlike[field, second + site]
                    products[field, here + site] = same + other
                    products[field, here + size - site] = same - other
    found = np.empty(w.shape)
    for field in range(len(w)):
        square = 0.0
        for site in range(size):
            square += w[field, site] * products[field, site]
        scale = half / np.sqrt(square)
        for site in range(size):
            x = half + scale * products[field, site]
            cell = min(max(int(x), 0), last)  # rounding may put it beyond ±1
            x -= cell
            phi = ((rows[cell, 0] * x + rows[cell, 1]) * x + rows[cell, 2]) * x + rows[cell, 3]
            found[field, site] = (phi - products[field, size + site]) / 2
    return found.ravel()
