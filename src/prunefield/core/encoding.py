"""JSON without the set-up of every call, for hundreds of thousands of small tables."""

import json
import json.encoder
from collections.abc import Callable
from typing import Any

_make = getattr(json.encoder, "c_make_encoder", None)  # what `json` itself calls; other Pythons may have none


def make_encoder(**options: Any) -> Callable[[Any], str]:
    """`json.JSONEncoder(…).encode`, with the same text; that makes a new encoder for each value, this one does not.

    It does not look for tables that contain themselves: they end in a RecursionError.

    >>> make_encoder(sort_keys=True, separators=(",", ":"))({"b": [1.5, None], "a": "é"})
    '{"a":"\\\\u00e9","b":[1.5,null]}'
    """
    like = json.JSONEncoder(**options, check_circular=False)
    if _make is None:
        return like.encode
    texts = json.encoder.encode_basestring_ascii if like.ensure_ascii else json.encoder.encode_basestring
    separators = like.key_separator, like.item_separator
    encode = _make(None, like.default, texts, None, *separators, like.sort_keys, like.skipkeys, like.allow_nan)
    return lambda value: "".join(encode(value, 0))
