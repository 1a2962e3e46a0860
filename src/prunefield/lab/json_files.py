"""Tables as JSON files, without numbers that JSON cannot hold."""

import json
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from prunefield.core.encoding import make_encoder
from prunefield.core.errors import StoreError
from prunefield.core.files import read_regular

_encode = make_encoder(allow_nan=False, ensure_ascii=False)
PLAIN = (str, int, float, type(None))


def encode_table(value: Any) -> bytes:
    """JSON with one entry in a line: the bytes of `json.dumps(…, indent=1)`, which takes three times as long.

    Numbers, texts and empty tables are encoded by the same library, so only the lines are ours.
    """
    return (_indent(value, "\n") + "\n").encode()


def _indent(value: Any, line: str) -> str:
    inner = line + " "
    if isinstance(value, dict) and value and all(type(key) is str for key in value):
        if all(isinstance(item, PLAIN) or _is_empty(item) for item in value.values()):
            return "{" + inner + _make_flat(inner)(value)[1:-1] + line + "}"
        rows = [f"{_encode(key)}: {_indent(item, inner)}" for key, item in value.items()]
        return "{" + inner + f",{inner}".join(rows) + line + "}"
    if isinstance(value, list | tuple) and value:
        return "[" + inner + f",{inner}".join([_indent(item, inner) for item in value]) + line + "]"
    if isinstance(value, dict) and value:  # keys that JSON turns into texts, or refuses
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1)
        return text.replace("\n", line)
    return _encode(value)


def _is_empty(value: Any) -> bool:
    return isinstance(value, list | tuple | dict) and not value


@lru_cache(maxsize=32)
def _make_flat(inner: str) -> Callable[[Any], str]:
    """An encoder of tables without tables inside, an entry in a line: one call for all entries."""
    return make_encoder(allow_nan=False, ensure_ascii=False, separators=(f",{inner}", ": "))


def _parse_number(text: str) -> float:
    """A number that JSON can hold again."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


_decode = json.JSONDecoder(parse_float=_parse_number, parse_constant=_parse_number).decode


def decode_table(data: bytes) -> dict[str, Any]:
    """The table in JSON; ValueError or RecursionError if there is none."""
    table = _decode(data.decode())
    if not isinstance(table, dict):
        raise ValueError(f"a table was expected, not {type(table).__name__}")
    return table


def read_table(path: Path | str, default: dict[str, Any] | None = None) -> dict[str, Any]:
    """The table in a JSON file, or `default` if there is no such file."""
    try:
        return decode_table(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        if default is not None and isinstance(error, FileNotFoundError):
            return default
        raise StoreError(f"{path} is unreadable ({error}); remove it and repeat the command that made it") from None
