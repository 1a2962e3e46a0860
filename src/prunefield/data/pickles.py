"""Pickles that cannot execute anything: arrays of numbers, bytes, text, lists and dicts, and nothing else.

The official files of CIFAR and ImageNet32 are pickles, and a pickle may name any function for the reader to call. Here
the few names that arrays are written with lead to stand-ins, which remember shape, type and bytes; numpy's own
unpickling is never run.
"""

import pickle
from typing import IO, Any

import numpy as np

from prunefield.errors import UsageError


def read_pickle(file: IO[bytes], name: str) -> dict[str, Any]:
    """The dict in a pickle, its keys as text, its arrays as numpy arrays."""
    try:
        found = _Reader(file, encoding="bytes").load()
    except _ForbiddenError as error:
        raise UsageError(f"{name} is a pickle that asks for {error}; it may run code and was not read") from None
    except Exception as error:  # damaged pickles raise whatever the damaged byte leads to
        raise UsageError(f"{name} is no whole pickle ({type(error).__name__}: {error}); fetch it again") from None
    if not isinstance(found, dict):
        raise UsageError(f"{name} holds a {type(found).__name__}, expected a dict of arrays")
    return {_text(key): value.array(name) if isinstance(value, _Array) else value for key, value in found.items()}


class _ForbiddenError(Exception):
    """A name that no data file needs."""


class _Type:
    """Stands for a numpy dtype."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code = _text(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = _text(state[1])
        self.code = f"{order if order in ('<', '>') else ''}{self.code}"


class _Array:
    """Stands for a numpy array."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.type, self.fortran, self.data = state

    def array(self, name: str) -> np.ndarray:
        try:
            dtype = np.dtype(self.type.code)
            if dtype.kind not in "biuf":
                raise ValueError(f"type {dtype}")
            return np.frombuffer(self.data, dtype).reshape(self.shape, order="F" if self.fortran else "C")
        except Exception as error:
            raise UsageError(f"{name} holds an array that is no plain block of numbers ({error})") from None


def _make_array(*_: object) -> _Array:
    return _Array()


def _encode(text: str, codec: str = "latin1") -> bytes:
    """How Python 3 writes bytes for Python 2."""
    if codec not in ("latin1", "latin-1"):
        raise _ForbiddenError(f"the codec {codec!r}")
    return text.encode("latin1")


def _ndarray() -> None:
    """Stands for the class of arrays, which is only handed on."""


ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _make_array,
    ("numpy._core.multiarray", "_reconstruct"): _make_array,
    ("numpy", "ndarray"): _ndarray,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in ALLOWED:
            raise _ForbiddenError(f"{module_name}.{global_name}")
        return ALLOWED[module_name, global_name]

    def persistent_load(self, pid: Any) -> Any:
        raise _ForbiddenError("a persistent object")


def _text(key: object) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else str(key)
