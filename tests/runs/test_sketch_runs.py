"""The runs behind Theorem 4.4: what they record."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.runs import Record, Run, State
from prunefield.runs.enumeration import Enumeration
from prunefield.runs.sketch import Sketch


def _records(run: Run, state: State) -> list[Record]:
    return [record for record in run(state) if record is not None]


def test_the_counts_are_those_of_the_recorded_draws():
    (record,) = _records(Sketch(dimension=10, draws=500, tau=1.0, kept=7), State())
    exact = record.tensors["exact"]
    for bound in ("printed", "sum", "minimum"):
        assert record[f"{bound}_failures"] == int((exact > record.tensors[bound]).sum())
    assert record["uniform_losses"] == int((exact > record.tensors["uniform"]).sum())
    assert 0 < record["printed_failures"] < 500
    assert record["sum_failures"] == record["minimum_failures"] == 0


def test_the_number_of_draws_of_a_mask_only_scales_the_errors():
    one, seven = (_records(Sketch(dimension=10, draws=50, kept=s), State())[0] for s in (1, 7))
    assert torch.allclose(one.tensors["exact"], 7 * seven.tensors["exact"])
    assert one["printed_failures"] == seven["printed_failures"]


@pytest.mark.parametrize(("examples", "exact"), [(1, 63.66834343448177), (8, 93.96571889032136)])
def test_enumeration_finds_the_counterexample(examples, exact):
    run = Enumeration(start=(1, 0.01), end=(1, 1), examples=examples, draws=5000)
    (record,) = _records(run, State())
    assert record["enumerated"] == pytest.approx(exact, rel=1e-11)
    assert record["enumerated_uniform"] == pytest.approx(2, rel=1e-11)
    assert abs(record["sampled"] - exact) < 4.5 * record["sampled_spread"]
    assert record["printed"] < 4.02


def test_a_weight_that_starts_at_zero_is_enumerated_too():
    (record,) = _records(Enumeration(start=(1, 0), end=(1, 1), kept=3, draws=100), State())
    assert record["enumerated"] == pytest.approx(1)
    assert record["minimum"] is None


def test_unusable_settings_are_refused():
    table = {"kind": "enumeration", "start": [1, 2], "end": [1, 2]}
    for change, message in [
        ({"end": [1]}, "same length"),
        ({"start": [0, 0]}, "non-zero"),
        ({"kept": 40}, "can be enumerated"),
        ({"kept": 0}, "greater than or equal to 1"),
    ]:
        with pytest.raises(UsageError, match=message):
            Run.parse(table | change)
    with pytest.raises(UsageError, match="tau"):
        Run.parse({"kind": "sketch", "tau": -1})
    with pytest.raises(UsageError, match="raise `nodes`"):
        _records(Enumeration(start=(1, 2), end=(1, 2), examples=128, nodes=8), State())
