"""Islands: the data of the page as blocks of text that its script unpacks when they are needed.

An island is JSON with arrays behind it, deflated and written in base64: four bytes with the length of the JSON, the
JSON, padding to a multiple of eight, then the arrays, each padded likewise. In the JSON an array is
`{"array": "uint8", "shape": [2, 3], "at": 16}`, `at` counting from the first array; `islands.js` turns it into a typed
array without copying. Numbers that are not finite become null.
"""

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

TABLE = 150_000  # characters of a table that are on the page
EDGE = 8  # bytes to which everything is aligned, as typed arrays require


def pack_island(document: Any) -> str:
    """A document of plain values and numpy arrays as the text of an island.

    >>> data = zlib.decompress(base64.b64decode(pack_island({"m": np.array([1, 0], np.uint8), "x": math.nan})))
    >>> data[4 : 4 + int.from_bytes(data[:4], "little")], data[56:]
    (b'{"m":{"array":"uint8","shape":[2],"at":0},"x":null}', b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
    """
    arrays: list[bytes] = []
    plain = _replace_arrays(document, arrays)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    head = len(text).to_bytes(4, "little") + text
    return base64.b64encode(zlib.compress(_pad(head) + b"".join(arrays), 9)).decode()


def _replace_arrays(value: Any, arrays: list[bytes]) -> Any:
    """The same without arrays, which are put at the end of `arrays`."""
    if isinstance(value, np.ndarray):
        place = sum(map(len, arrays))
        arrays.append(_pad(np.ascontiguousarray(value).tobytes()))
        return {"array": str(value.dtype), "shape": list(value.shape), "at": place}
    if isinstance(value, bytes):
        return _replace_arrays(np.frombuffer(value, np.uint8), arrays)
    if isinstance(value, Mapping):
        return {str(key): _replace_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_replace_arrays(item, arrays) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % EDGE)


def round_to_bytes(values: np.ndarray, kind: type[np.signedinteger]) -> tuple[np.ndarray, float]:
    """Real numbers as whole ones of a small type, and the number that one unit of them stands for.

    >>> whole, unit = round_to_bytes(np.array([-1.0, 0.5]), np.int8)
    >>> whole.tolist(), round(1 / unit)
    ([-127, 64], 127)
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    unit = largest / np.iinfo(kind).max or 1.0
    return np.nan_to_num(np.round(values / unit)).astype(kind), unit


def cut_table(text: str, most: int = TABLE) -> str:
    """The first rows of a CSV file: long tables would take the room of the explorers; the page says how many it has.

    >>> cut_table("a,b\\n1,2\\n3,4\\n", 9)
    'a,b\\n1,2\\n'
    """
    return text if len(text) <= most else text[: text.rindex("\n", 0, most) + 1]
