"""The conditions under which every run computes, wherever it is executed: its bits must not depend on the caller."""

import atexit
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache, lru_cache
from typing import Any

import torch
from threadpoolctl import LibController, ThreadpoolController

from prunefield.core.errors import UsageError

AUTOCAST = ("cpu", "cuda", "mps", "xpu")  # devices on which torch may compute in lower precision
_lock = threading.Lock()
_inside = 0  # how many runs of this process are under way, in threads of the caller or nested in each other
_process = ExitStack()  # gives the process its own settings back


def check_device(device: str) -> str:
    """The device, if this machine has it."""
    try:
        if torch.empty(1, device=device).is_meta:
            raise RuntimeError("it computes nothing")
    except (RuntimeError, AssertionError, ValueError, OverflowError) as error:
        raise UsageError(f"no device {device!r} here: {str(error).partition(chr(10))[0]}") from None
    return device


@contextmanager
def fixed_conditions() -> Iterator[None]:
    """One thread, float32 and the CPU as torch's defaults, exact products and gradients; then the caller's settings.

    How a sum is split over threads decides its last bits. Some settings belong to the whole process: the first run
    that begins changes them, and the last one that ends restores them. The others belong to the caller's thread.
    """
    global _inside
    with _lock:
        if _inside == 0:
            _remember()
        _inside += 1
        blas, own = _limit("blas"), _limit("openmp")  # the first are numpy's and scipy's own libraries
        if _inside == 1:
            _process.callback(_restore, blas)
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float32)
        _set_precision("highest", ["ieee"] * len(_find_knobs()))
    try:
        with _without_surroundings(), torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        _restore(own)
        _leave()


@cache
def keep_conditions() -> None:
    """The same until this process ends, for one that only executes runs: then each of them finds little to change."""
    kept = ExitStack()
    kept.enter_context(fixed_conditions())
    atexit.register(kept.close)


def _without_surroundings() -> AbstractContextManager[Any]:
    """Ends contexts of the caller that change what torch computes, or where."""
    found: list[AbstractContextManager[Any]] = [
        torch.autocast(device, enabled=False) for device in AUTOCAST if torch.is_autocast_enabled(device)
    ]
    if torch.empty(0).device.type != "cpu":  # only then: it makes every call of torch slower
        found.append(torch.device("cpu"))
    if not found:
        return nullcontext()
    with ExitStack() as stack:
        for context in found:
            stack.enter_context(context)
        return stack.pop_all()


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _process.close()


def _remember() -> None:
    """What belongs to the whole process, to be restored by `_process`."""
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # the caller has chosen by `fp32_precision`, which torch will not mix with this
        precision = "highest"
    _process.callback(_set_precision, precision, [knob.fp32_precision for knob in _find_knobs()])
    _process.callback(torch.set_default_dtype, torch.get_default_dtype())
    _process.callback(torch.set_num_threads, torch.get_num_threads())


def _limit(user_api: str) -> list[tuple[LibController, int]]:
    """One thread for libraries of one sort only, and what they had: `threadpool_limits` would restore the others too.

    It would also ask each library for its version and more, which takes a short run longer than all else here.
    """
    before = [(pool, pool.get_num_threads() or 1) for pool in _find_pools(len(sys.modules))[user_api]]
    for pool, number in before:
        if number != 1:
            pool.set_num_threads(1)
    return before


def _restore(before: Sequence[tuple[LibController, int]]) -> None:
    for pool, number in before:
        pool.set_num_threads(number)


@lru_cache(maxsize=1)
def _find_pools(modules: int) -> dict[str, list[LibController]]:
    """The libraries with threads of their own; looked for again when a module was imported, which may load some."""
    import scipy.linalg  # noqa: F401  (its threads are limited with the others only if it is loaded before)

    every = ThreadpoolController()
    return {user_api: every.select(user_api=user_api).lib_controllers for user_api in ("openmp", "blas")}


@cache
def _find_knobs() -> list[Any]:
    """What holds how exact products of float32 are, for each library below torch; nothing before torch 2.9."""
    mkldnn, cuda = torch.backends.mkldnn, torch.backends.cuda
    places = ((mkldnn, "matmul"), (mkldnn, "conv"), (mkldnn, "rnn"), (cuda, "matmul"))
    return [knob for place in places if hasattr(knob := getattr(*place, None), "fp32_precision")]


def _set_precision(precision: str, each: Sequence[str]) -> None:
    """Sets torch's older, single precision, then that of each library where it differs."""
    torch.set_float32_matmul_precision(precision)
    for knob, wanted in zip(_find_knobs(), each, strict=True):
        if knob.fp32_precision != wanted:
            knob.fp32_precision = wanted
