"""Compilation of loops to machine code, once per process or, if there is a writable folder, once per machine."""

from collections.abc import Callable
from functools import cache
from typing import Any

LOOSE = {"contract", "reassoc", "arcp", "nsz"}  # no assumption that numbers are finite


@cache
def compile_loop(loop: Callable[..., Any], *, exact: bool = False) -> Callable[..., Any]:
    """The loop compiled to machine code, which may change the order of sums unless it has to be exact.

    >>> def add(values):
    ...     total = 0.0
    ...     for value in values:
    ...         total += value
    ...     return total
    >>> import numpy as np
    >>> compile_loop(add)(np.array([1.0, 2.0]))
    3.0
    """
    from numba import njit  # importing it takes half a second, so only where it is needed

    options = {} if exact else {"fastmath": LOOSE, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(loop)
    except RuntimeError:  # no writable folder for the cache: compile again in every process
        return njit(**options)(loop)
