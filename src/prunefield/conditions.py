"""The conditions under which every run computes, wherever it is executed: its bits must not depend on the caller."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import scipy.linalg  # noqa: F401  (its threads are limited with the others only if it is loaded before)
import torch
from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_inside = 0  # how many runs of this process are under way, in threads of the caller or one inside of the other
_before: tuple[int, torch.dtype, str, threadpool_limits] | None = None


@contextmanager
def fixed_conditions() -> Iterator[None]:
    """One thread, float32 as torch's default, exact products and gradients; afterwards the caller's settings are
    restored.

    How a sum is split over threads decides its last bits. The settings belong to the whole process: the first run
    that begins changes them, and the last one that ends restores them.
    """
    global _inside, _before
    with _lock:
        if _inside == 0:
            found = torch.get_num_threads(), torch.get_default_dtype(), torch.get_float32_matmul_precision()
            _before = *found, threadpool_limits(1)  # numpy's and scipy's own libraries
        _inside += 1
        _fix(1, torch.float32, "highest")
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _before is not None:
                _before[3].restore_original_limits()
                _fix(*_before[:3])


def _fix(threads: int, dtype: torch.dtype, precision: str) -> None:
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)
    torch.set_float32_matmul_precision(precision)
