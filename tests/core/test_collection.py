"""Pausing the search for cycles."""

import gc

import pytest

from prunefield.core.collection import pause_collection


def test_it_is_paused_and_then_as_it_was():
    with pause_collection():
        assert not gc.isenabled()
        with pause_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="x"), pause_collection():
        raise ValueError("x")
    assert gc.isenabled()
