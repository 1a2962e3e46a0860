"""Pickles that cannot execute anything: arrays of numbers, bytes, text, lists and dicts, and nothing else.

The official files of CIFAR and ImageNet32 are pickles, and a pickle may name any function for the reader to call. Here
the few names that arrays are written with lead to stand-ins, which record shape, type and bytes; numpy's own
unpickling is never run. A pickle is a program, so it can also fill the memory or never end. The reader is therefore
Python's own reader written in Python, whose memory grows a little with each step, whatever a step claims. It takes at
most STEPS steps, and only text and bytes may be keys, because hashing an object that contains itself would not end.
"""

import pickle
from collections.abc import Callable, Mapping
from typing import IO, Any, cast

import numpy as np

from prunefield.core.errors import UsageError

STEPS = 1_000_000  # at most five for an image, and no official file has more than 130,000 images
KEYS = (str, bytes)


def read_pickle(file: IO[bytes], name: str) -> dict[str, Any]:
    """The dict in a pickle, its keys as text, its arrays as numpy arrays."""
    try:
        found = Reader(file, ALLOWED).load()
    except _ForbiddenError as error:
        raise UsageError(f"{name} is a pickle that asks for {error}; it could run code, so it was not read") from None
    except Exception as error:  # damaged pickles raise whatever the damaged byte leads to
        raise UsageError(f"{name} is damaged or truncated ({type(error).__name__}: {error}); fetch it again") from None
    if not isinstance(found, dict):
        raise UsageError(f"{name} contains a {type(found).__name__}, expected a dict of arrays")
    return {_decode_key(key): value.array(name) if isinstance(value, _Array) else value for key, value in found.items()}


class _ForbiddenError(Exception):
    """A name that no data file should need."""


class _Type:
    """Stands for a numpy dtype."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code = _decode_key(code)[:8]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = _decode_key(state[1])
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
            raise UsageError(f"{name} contains an array that is not a plain block of numbers ({error})") from None


def _make_array(*_: object) -> _Array:
    return _Array()


def _encode_text(text: str, codec: str = "latin1") -> bytes:
    """How Python 3 writes bytes for Python 2."""
    if codec not in ("latin1", "latin-1"):
        raise _ForbiddenError(f"the codec {codec!r}")
    return text.encode("latin1")


def _ndarray() -> None:
    """Stands for the class of arrays, which is only passed as an argument."""


ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _make_array,
    ("numpy._core.multiarray", "_reconstruct"): _make_array,
    ("numpy", "ndarray"): _ndarray,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode_text,
}


class Reader(pickle._Unpickler):
    """Reads one pickle from a file; only the names in `allowed` are known, with their stand-ins."""

    def __init__(self, file: IO[bytes], allowed: Mapping[tuple[str, str], Any], keys: tuple[type, ...] = KEYS) -> None:
        super().__init__(file, encoding="bytes")
        self.allowed, self.keys, self.steps = allowed, keys, 0

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.allowed:
            raise _ForbiddenError(f"{module}.{name}")
        return self.allowed[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise _ForbiddenError("a persistent object")

    def check_keys(self, items: list[Any]) -> None:
        for key in items[::2]:
            if not isinstance(key, self.keys):
                raise _ForbiddenError(f"a {type(key).__name__} as a key")


def _count_steps(load: Callable[[Any], None], keys: Callable[[Any], list[Any]] | None) -> Callable[[Reader], None]:
    """A step of the reader that counts and limits the steps; `keys` gives the keys and values that it will hash."""

    def step(reader: Reader) -> None:
        reader.steps += 1
        if reader.steps > STEPS:
            raise _ForbiddenError(f"more than {STEPS:,} steps")
        if keys is not None:
            reader.check_keys(keys(reader))
        load(reader)

    return step


_HASHING = {  # where a step finds the keys that it hashes
    pickle.DICT[0]: lambda reader: reader.stack,
    pickle.SETITEM[0]: lambda reader: reader.stack[-2:],
    pickle.SETITEMS[0]: lambda reader: reader.stack,
}
_UNKNOWN = {pickle.EMPTY_SET[0], pickle.ADDITEMS[0], pickle.FROZENSET[0], pickle.DUP[0]}  # no data file has them
_KNOWN = {code: load for code, load in pickle._Unpickler.dispatch.items() if code not in _UNKNOWN}
Reader.dispatch = {code: cast(Any, _count_steps(load, _HASHING.get(code))) for code, load in _KNOWN.items()}


def _decode_key(key: object) -> str:
    if not isinstance(key, KEYS):
        raise ValueError(f"a {type(key).__name__} instead of text")
    return key.decode("latin1") if isinstance(key, bytes) else key
