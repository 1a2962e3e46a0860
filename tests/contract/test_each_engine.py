"""What every engine must do, present and future."""

import os

import pytest

from prunefield.core.names import modules
from prunefield.engines import Engine, Outcome

CLUSTERS = {"slurm": [pytest.mark.engines]}  # kinds that need a cluster of their own: `make test-engines`
KINDS = [pytest.param(kind, marks=CLUSTERS.get(kind, [])) for kind in modules("engines")]


def halve(number: int) -> float:
    if number == 3:
        raise ValueError("three is odd\nand this is a second line")
    return number / 2


def environment(name: str) -> str | None:
    return os.environ.get(name)


@pytest.mark.parametrize("kind", KINDS)
class TestEngine:
    def test_maps_everything_and_survives_failures(self, kind, monkeypatch, request, tmp_path):
        if kind in ("ray", "slurm"):
            request.getfixturevalue(kind) if kind in CLUSTERS else pytest.importorskip(kind)
            monkeypatch.setenv("PRUNEFIELD_STORE", str(tmp_path))
            monkeypatch.setenv("PYTHONPATH", f"{os.path.dirname(__file__)}{os.pathsep}{os.environ['PYTHONPATH']}")
        engine = Engine.parse({"kind": kind, "jobs": 2})
        outcomes = [said for said in engine.map(halve, [0, 1, 2, 3, 4]) if isinstance(said, Outcome)]
        assert sorted(outcome.index for outcome in outcomes) == [0, 1, 2, 3, 4]
        assert {outcome.index: outcome.value for outcome in outcomes if outcome.error is None} == {
            0: 0.0, 1: 0.5, 2: 1.0, 4: 2.0,
        }  # fmt: skip
        assert [outcome.error for outcome in outcomes if outcome.index == 3] == ["ValueError: three is odd"]

    def test_nothing_to_do_is_no_trouble(self, kind):
        assert list(Engine.parse(kind).map(halve, [])) == []

    def test_has_a_docstring(self, kind):
        assert type(Engine.parse(kind)).__doc__
