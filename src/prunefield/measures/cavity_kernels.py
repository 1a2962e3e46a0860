"""The compiled loops of the cavity score; operations on whole matrices would take longer than the matrix products."""

from typing import Any

import numpy as np

from prunefield.core.compilation import compile_loop


def combine_moments(*arrays: Any) -> None:
    """Adds one class for a tile of units and inputs, from matrices of moments."""
    compile_loop(_combine_moments)(*arrays)


def add_weights(*arrays: Any) -> None:
    """Adds all classes for single weights, computing their moments."""
    compile_loop(_add_weights)(*arrays)


def _combine_moments(
    exact: np.ndarray,
    changes: np.ndarray,
    first: np.ndarray,
    lost: np.ndarray,
    lost_kurtosis: np.ndarray,
    moments: np.ndarray,
    weight: np.ndarray,
    scale: np.ndarray,
    fourth: np.ndarray,
    inverse: np.ndarray,
    kurtosis: np.ndarray,
    factor: np.ndarray,
    n: int,
) -> None:
    """Moments (4·units, inputs) are n times E[uv], E[u³v], E[u²v²], E[uv³]; outputs that are empty are not computed.

    `factor` (units,) is the sign of eq. 5, or what multiplies the change of the kurtosis in `exact` instead.

    Each loop writes only one array: otherwise the compiler cannot prove that they do not overlap, and does not
    vectorise.
    """
    units, inputs = weight.shape
    number = weight.dtype.type
    zero, one, two, four, six, size = number(0), number(1), number(2 / n), number(4), number(6), number(n)
    least = number(np.finfo(weight.dtype).eps * 64)
    change = np.empty(inputs, weight.dtype)
    for i in range(units):
        if inverse[i] == 0:
            continue
        inv, per, kurt = number(inverse[i]), number(1 / (n * kurtosis[i])), number(kurtosis[i])
        uv, u3v, u2v2, uv3 = moments[i], moments[units + i], moments[2 * units + i], moments[3 * units + i]
        w = weight[i]
        sign = number(factor[i])
        bad = zero  # of the same type as the rest, as a wider one is slower
        for j in range(inputs):
            a = w[j] * scale[j] * inv
            d2 = a * (a - two * uv[j])
            d4 = per * a * (a * (six * u2v2[j] + a * (a * size * fourth[j] - four * uv3[j])) - four * u3v[j])
            rest = one + d2
            bad += zero if rest > least else one
            found = (d4 - d2 - d2 * rest) / (rest * rest)
            change[j] = found if rest > least else zero
        if bad > 0:
            for j in range(inputs):
                a = w[j] * scale[j] * inv
                if one + a * (a - two * uv[j]) <= least:
                    lost[i, j] += 1
                    if len(lost_kurtosis) > 0:
                        lost_kurtosis[i, j] += kurtosis[i]
        if len(exact) > 0:
            out = exact[i]
            for j in range(inputs):
                out[j] += sign * change[j]
        if len(changes) > 0:
            out = changes[i]
            for j in range(inputs):
                out[j] += kurt * change[j]
        if len(first) > 0:
            out = first[i]
            for j in range(inputs):
                out[j] += sign * four * (w[j] * scale[j] * inv * (uv[j] / size - per * u3v[j]))


def _add_weights(
    exact: np.ndarray,
    changes: np.ndarray,
    first: np.ndarray,
    lost: np.ndarray,
    lost_kurtosis: np.ndarray,
    units: np.ndarray,
    inputs: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    weight: np.ndarray,
    classes: np.ndarray,
    bounds: np.ndarray,
    scale: np.ndarray,
    inverse: np.ndarray,
    kurtosis: np.ndarray,
    factor: np.ndarray,
) -> None:
    """The weights are (units[k], inputs[k]), sorted by unit; u is (units, n) and v (inputs, n); some `classes`."""
    least = np.finfo(weight.dtype).eps * 64
    for k in range(len(units)):
        i, j = units[k], inputs[k]
        for c in classes:
            if inverse[c, i] == 0:
                continue
            uv = u3v = u2v2 = uv3 = v4 = u.dtype.type(0)
            for t in range(bounds[c], bounds[c + 1]):
                p, q = u[i, t], v[j, t]
                pq, pp, qq = p * q, p * p, q * q
                uv += pq
                u3v += pp * pq
                u2v2 += pp * qq
                uv3 += pq * qq
                v4 += qq * qq
            n = bounds[c + 1] - bounds[c]
            a = weight[i, j] * scale[c, j] * inverse[c, i]
            sign = factor[c, i]
            m11, m31 = uv / n, u3v / (n * kurtosis[c, i])
            d2 = a * (a - 2 * m11)
            d4 = a * (-4 * m31 + a * (6 * u2v2 + a * (-4 * uv3 + a * v4)) / (n * kurtosis[c, i]))
            rest = 1 + d2
            if rest > least:
                change = (d4 - 2 * d2 - d2 * d2) / (rest * rest)
                if len(exact) > 0:
                    exact[i, j] += sign * change
                if len(changes) > 0:
                    changes[i, j] += kurtosis[c, i] * change
            else:
                lost[i, j] += 1
                if len(lost_kurtosis) > 0:
                    lost_kurtosis[i, j] += kurtosis[c, i]
            if len(first) > 0:
                first[i, j] += sign * 4 * a * (m11 - m31)
