"""Iterative pruning, small: records, identities, and the measurements of it."""

import json

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.measures.kurtosis import kurtosis, kurtosis_per_class
from prunefield.pruning.rounds import compute_removed
from prunefield.runs import Result, Run, State
from prunefield.runs.imp import METHODS, Imp, read_masks
from prunefield.runs.kurtosis import Kurtosis, rewound_weight
from prunefield.runs.widths import Widths
from prunefield.tasks import draw_balanced
from prunefield.tasks.leaves import Leaves

TASK = Leaves(side=8, count=8, largest=4, categories=3)
SMALL = {"task": TASK, "hidden": (12, 10), "steps": 50, "rewind": 7, "rounds": 3, "held_out": 60, "batch_size": 10}


def finish(run, state=None):
    return [record for record in run(state or State()) if record is not None]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "batch-norm"])
def imp(request):
    return Imp(batch_norm=request.param, **SMALL)


@pytest.fixture(scope="module")
def records(imp):
    return finish(imp)


def reader(records):
    return lambda run: Result(records)


def test_masks_are_nested_exact_and_equal_in_the_first_round(imp, records):
    masks = {method: read_masks(imp, records, method) for method in METHODS}
    for method in METHODS:
        for n, mask in enumerate(masks[method]):
            for names in imp.groups:
                total = sum(mask[name].numel() for name in names)
                kept = sum(mask.counts()[name] for name in names)
                assert kept == total - int(compute_removed(n, 0.3) * total)
            assert n == 0 or all(not (mask[name] & ~masks[method][n - 1][name]).any() for name in mask)
    assert masks["imp"][1] == masks["oneshot"][1]
    assert masks["imp"][3] != masks["oneshot"][3]


def test_records_are_plain(imp, records):
    assert [record["round"] for record in records] == [0, 1, 2, 3]
    assert [record["accuracy"] is None for record in records] == [False, False, False, True]
    json.dumps([record.values for record in records], allow_nan=False)


def test_the_rewound_net_is_the_one_after_so_many_steps(imp, records):
    shorter = imp.model_copy(update={"steps": 8, "rounds": 1})
    later = finish(shorter)[0].tensors
    for key, tensor in records[0].tensors.items():
        if key.startswith("rewind:"):
            assert torch.equal(tensor, later[key])
    start = imp.build()
    at_start = finish(imp.model_copy(update={"rewind": 0, "steps": 1, "rounds": 1}))[0].tensors
    assert torch.equal(at_start["rewind:layers.0.weight"], start.layers[0].weight)


def test_seeds_and_the_shorter_retraining_change_the_result(imp, records):
    for change in ({"seed": 1}, {"retrain": "rest"}):
        other = finish(imp.model_copy(update=change))
        assert read_masks(imp, other, "imp")[3] != read_masks(imp, records, "imp")[3]


def test_a_kurtosis_record_is_that_of_the_first_layers_pre_activations(imp, records):
    run = Kurtosis(of=imp, per_class=20)
    found = finish(run, State(read=reader(records)))
    assert [(r["method"], r["round"]) for r in found] == [(m, n) for m in METHODS for n in range(4)]
    batch = draw_balanced(TASK, 20, generator=generator(0, "kurtosis"))
    net = imp.build()
    tensors = records[0].tensors
    net.load_state_dict({k.removeprefix("rewind:"): t for k, t in tensors.items() if k.startswith("rewind:")})
    read_masks(imp, records, "imp")[2].apply_(net)
    net.eval()
    values = net.layers[0](batch.x if net.norms is None else net.norms[0](batch.x)).detach()
    record = found[2]
    assert record["pooled"] == pytest.approx(kurtosis(values).nanmean().item(), rel=1e-4)
    assert record["within"] == pytest.approx(kurtosis_per_class(values, batch.y, 3).nanmean().item(), rel=1e-4)
    assert rewound_weight(imp, tensors, batch.x).shape == (12, 192)


def test_balanced_batches_hold_as_many_of_each_class():
    batch = draw_balanced(TASK, 7, generator=generator(0, "balanced"))
    assert batch.y.tolist() == [0] * 7 + [1] * 7 + [2] * 7


def test_widths_count_what_they_leave_out(imp, records):
    found = finish(Widths(of=imp, top=5), State(read=reader(records)))
    for record in found:
        kept = record.tensors["kept"]
        assert record["bare"] == int((kept <= 1).sum())
        assert record["density"] == pytest.approx(int(kept.sum()) / (12 * 192))
        assert record["units_top"] <= 5
    full = found[0]
    for column in ("mean_x_top", "median_x_top", "mean_y_all"):
        assert full[column] == pytest.approx(full["mean_x_all"])
    assert full["differ"] == found[5]["differ"] == 0
    assert found[7]["differ"] > 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "imp", "steps": 10, "rewind": 10}, r"rewind \(10\) must be less than steps \(10\)"),
        ({"kind": "imp", "fraction": 1}, "fraction"),
        ({"kind": "imp", "hidden": []}, "hidden"),
        ({"kind": "widths", "of": {"kind": "widths", "of": "imp"}}, "of: the run 'widths' does not fit here"),
        ({"kind": "kurtosis"}, "the key 'of' is missing"),
    ],
)
def test_bad_settings_are_told_in_one_line(table, message):
    with pytest.raises(UsageError, match=message) as caught:
        Run.parse(table)
    assert "\n" not in str(caught.value)


def test_settings_survive_json(imp):
    for run in (imp, Widths(of=imp), Kurtosis(of=imp)):
        assert Run.parse(json.loads(json.dumps(run.settings()))) == run
        assert run.seconds() > 0
