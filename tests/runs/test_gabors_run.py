"""Gabor fits of a small pruning run: one record a method."""

import json

import pytest
import torch

from prunefield.measures.gabor import find_preference, flatten_fields
from prunefield.runs import Result, State
from prunefield.runs.gabors import Gabors, describe_gabors
from prunefield.runs.imp import Imp, read_masks
from prunefield.tasks.leaves import Leaves

IMP = Imp(
    task=Leaves(side=12, count=8, largest=4, categories=3),
    hidden=(12, 10),
    steps=50,
    rewind=7,
    rounds=2,
    held_out=60,
    batch_size=10,
)


@pytest.fixture(scope="module")
def read():
    records = [record for record in IMP(State()) if record is not None]
    return lambda run: Result(records)


@pytest.mark.parametrize("field", ["mask", "weight"])
def test_each_method_has_a_record_of_the_most_connected_units(read, field):
    run = Gabors(of=IMP, top=5, field=field)
    found = list(run(State(read=read)))
    assert [record["method"] for record in found] == ["imp", "oneshot", "random"]
    json.dumps([record.values for record in found], allow_nan=False)
    kept = read_masks(IMP, read(IMP).records, "imp")[-1]["layers.0.weight"]
    best = kept.sum(1).argsort(descending=True, stable=True)[:5]
    shown = kept if field == "mask" else kept * read(IMP).records[0].tensors["rewind:layers.0.weight"]
    expected = find_preference(flatten_fields(shown[best].view(-1, 3, 12, 12))).selectivity
    assert torch.equal(found[0].tensors["selectivity"], expected)
    assert all(0 < record["explained"] < 1 and record["units"] == 5 for record in found)
    assert run.seconds() > 0


def test_flat_fields_are_left_out():
    fields = torch.zeros(3, 1, 9, 9)
    values, _ = describe_gabors(fields)
    assert values == {"units": 0, "selectivity": None, "explained": None, "frequency": None}
    fields[1, 0, :, 2:4] = 1
    values, tensors = describe_gabors(fields)
    assert values["units"] == 1
    assert tensors["preferred"][1].item() % torch.pi == pytest.approx(0, abs=1e-6)
