"""Compilation of loops to machine code, once in a process and, where a folder can be written, once on a machine."""

from collections.abc import Callable
from functools import cache
from typing import Any

LOOSE = {"contract", "reassoc", "arcp", "nsz"}  # no assumption that numbers are finite


@cache
def compile_loop(loop: Callable[..., Any]) -> Callable[..., Any]:
    """The loop as machine code, which may change the order of sums.

    >>> def add(values):
    ...     total = 0.0
    ...     for value in values:
    ...         total += value
    ...     return total
    >>> import numpy as np
    >>> compile_loop(add)(np.array([1.0, 2.0]))
    3.0
    """
    from numba import njit  # half a second, so only for those who need it

    try:
        return njit(cache=True, fastmath=LOOSE, error_model="numpy")(loop)
    except RuntimeError:  # no folder for the cache can be written
        return njit(fastmath=LOOSE, error_model="numpy")(loop)
