"""Tables as JSON files, without numbers that JSON cannot hold."""

import json
import math
from pathlib import Path
from typing import Any

from prunefield.core.errors import StoreError
from prunefield.core.files import read_regular


def encode_table(value: Any) -> bytes:
    return (json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1) + "\n").encode()


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
