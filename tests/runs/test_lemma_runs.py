"""The runs behind the lemmas, Theorem 7.2 and Sections 5 and 6: what they record."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.runs import Record, Run, State
from prunefield.runs.linear_scores import LinearScores
from prunefield.runs.outcomes import Outcomes
from prunefield.runs.tangent import Tangent
from prunefield.theory.sketch_bounds import fresh_constant


def _records(run: Run, state: State | None = None) -> list[Record]:
    return [record for record in run(state or State()) if record is not None]


def test_large_cases_are_not_enumerated():
    (record,) = _records(Outcomes(dimension=50, kept=20, cases=3))
    assert "enumerated" not in record.tensors
    assert torch.allclose(record.tensors["exact"], record.tensors["optimal"])
    assert (record.tensors["rival"] > record.tensors["exact"]).all()


def test_scores_of_a_linear_layer_are_those_of_sketching():
    found = _records(LinearScores(dimension=40, data="single"))[-1].tensors
    for name in ("norms_gap", "snip_gap", "flow_formula", "snip_formula"):
        assert found[name].max() < 1e-12, name
    assert found["snip_printed"].min() > 0.1
    assert found["ones_excess"].min() > 1


def test_chi_inputs_cost_what_the_constant_says():
    found = _records(LinearScores(dimension=500, examples=8, cases=60))[-1].tensors
    ratio = found["chi_excess"] / found["ones_excess"]
    # With many weights the errors of one X are near their means over X; a few per cent are left at d = 500.
    assert ratio.mean().item() == pytest.approx(fresh_constant(8), rel=0.03)


def test_the_tangent_is_trained_and_dead_parameters_are_counted():
    records = _records(Tangent(width=64, steps=40, every=10))
    assert [record["step"] for record in records] == [0, 10, 20, 30, 40]
    losses = [record["loss"] for record in records]
    assert losses == sorted(losses, reverse=True)
    assert all(record["dead"] == 0 and record["printed"] > record["exact"] for record in records)
    relu = _records(Tangent(width=64, activation="relu", steps=2, every=2))
    assert relu[0]["dead"] > 0
    assert all(record["printed"] is None for record in relu)
    for record in records + relu:
        assert record["enumerated"] == pytest.approx(record["exact"], rel=1e-10)


def test_unusable_settings_are_refused():
    for change, message in [
        ({"start": [1, 2]}, "one entry per weight, 3, not 2"),
        ({"start": [0, 0, 0]}, "non-zero"),
        ({"inputs": [[1], [2], [3]]}, "needs 2 examples"),
    ]:
        with pytest.raises(UsageError, match=message):
            Run.parse({"kind": "outcomes", "dimension": 3, "examples": 2, **change})
    with pytest.raises(UsageError, match="activation"):
        Run.parse({"kind": "tangent", "activation": "sine"})
