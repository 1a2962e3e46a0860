"""The encoder that is made once writes what `json` writes: names of runs are hashes of its text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunefield.core import encoding
from prunefield.core.encoding import make_encoder

OPTIONS = (
    {"sort_keys": True, "separators": (",", ":"), "allow_nan": False},
    {"ensure_ascii": False, "allow_nan": False},
    {},
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
ENCODERS = [(make_encoder(**options), json.JSONEncoder(**options).encode) for options in OPTIONS]


@given(VALUES)
def test_its_text_is_that_of_json(value):
    for ours, theirs in ENCODERS:
        assert ours(value) == theirs(value)


@pytest.mark.parametrize("is_there", [True, False])
def test_what_json_refuses_is_refused(is_there, monkeypatch):
    monkeypatch.setattr(encoding, "_make", encoding._make if is_there else None)
    encode = make_encoder(allow_nan=False)
    assert encode({"a": [1]}) == '{"a": [1]}'
    for value, error in (({"a": float("inf")}, ValueError), ({1, 2}, TypeError), ({(1, 2): 3}, TypeError)):
        with pytest.raises(error):
            encode(value)
