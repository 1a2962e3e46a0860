"""Loops are compiled with or without a folder for what was compiled."""

import numba
import pytest

from prunefield.core.compilation import LOOSE, compile_loop


@pytest.mark.parametrize(
    ("exact", "options"), [(True, {}), (False, {"fastmath": LOOSE, "error_model": "numpy"})], ids=["exact", "loose"]
)
def test_it_compiles_without_a_folder_for_the_cache(exact, options, monkeypatch):
    calls = []

    def njit(**given):
        calls.append(given)
        if given.get("cache"):
            return refuse
        return lambda loop: loop

    def refuse(loop):
        raise RuntimeError("cannot cache function")

    def loop():
        return 1

    monkeypatch.setattr(numba, "njit", njit)
    assert compile_loop(loop, exact=exact) is loop
    assert calls == [{"cache": True, **options}, options]
