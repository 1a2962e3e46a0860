"""Options of iterative pruning: reused images, random labels, rewinding to the start, training that runs away."""

import pytest
import torch

from prunefield.core.errors import RunError, UsageError
from prunefield.core.seeds import generator
from prunefield.runs import Run, State
from prunefield.runs.imp import Imp
from prunefield.tasks.leaves import Leaves
from prunefield.training.ahead import Ahead

TASK = Leaves(side=8, count=30, largest=4, margin=1, categories=3)
SMALL = {"task": TASK, "hidden": (12, 10), "steps": 40, "rewind": 5, "rounds": 2, "held_out": 60, "batch_size": 10}


def finish(run, state=None):
    return [record for record in run(state or State()) if record is not None]


def drawn(run, count):
    """The first batches that a run trains on."""
    reused = run._reused()
    images, labels = Ahead(run.task, run.batch_size, generator(run.seed, "images")), generator(run.seed, "labels")
    return reused, [run._draw(reused, images, labels) for _ in range(count)]


def test_an_endless_stream_has_no_image_twice_and_a_reused_set_only_its_own():
    _, batches = drawn(Imp(**SMALL), 30)
    assert len(torch.cat([batch.x for batch in batches]).unique(dim=0)) == 300
    reused, batches = drawn(Imp(images=7, **SMALL), 30)
    assert reused.x.dtype == torch.float32
    x, y = (torch.cat(parts) for parts in zip(*batches, strict=True))
    assert len(x.unique(dim=0)) == 7
    for image, label in zip(x, y, strict=True):
        assert label == reused.y[(reused.x == image).all(1)].item()


def test_a_set_is_drawn_in_parts_without_a_seam():
    big = Imp(images=2_300, **SMALL)._reused()
    assert len(big.x.unique(dim=0)) == 2_300
    small = Imp(images=2_000, **SMALL)._reused()
    assert torch.equal(big.x[:2_000], small.x)


@pytest.mark.parametrize("images", [None, 400])
def test_random_labels_change_the_labels_alone(images):
    _, true = drawn(Imp(images=images, **SMALL), 60)
    _, chance = drawn(Imp(images=images, labels="random", **SMALL), 60)
    assert all(torch.equal(a.x, b.x) for a, b in zip(true, chance, strict=True))
    agree = torch.cat([a.y == b.y for a, b in zip(true, chance, strict=True)]).double().mean()
    assert agree == pytest.approx(1 / 3, abs=5 * (2 / 9 / (images or 600)) ** 0.5)


def test_few_images_with_random_labels_are_learnt_by_heart_and_nothing_else_is():
    settings = {**SMALL, "hidden": (60, 60), "steps": 400, "rounds": 1, "batch_norm": False, "held_out": 300}
    (kept, _) = finish(Imp(images=20, labels="random", **settings))
    assert kept["train_accuracy"] == 1.0
    assert kept["accuracy"] < 0.5
    (stream, _) = finish(Imp(labels="random", **settings))
    assert stream["train_accuracy"] < 0.5


def test_training_accuracy_is_that_on_the_first_images():
    run = Imp(**SMALL)
    _, batches = drawn(run, 6)
    first = run._first(None)
    assert torch.equal(first.x, torch.cat([batch.x for batch in batches]))
    records = finish(run)
    assert all(0 <= record["train_accuracy"] <= 1 for record in records[:-1])
    assert records[-1]["train_accuracy"] is None


def test_rewinding_to_step_zero_goes_back_to_the_first_weights():
    run = Imp(**{**SMALL, "rewind": 0})
    tensors = finish(run)[0].tensors
    for name, parameter in run.build().named_parameters():
        assert torch.equal(tensors[f"rewind:{name}"], parameter)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_training_that_runs_away_stops_with_one_line(batch_norm):
    run = Imp(batch_norm=batch_norm, **{**SMALL, "lr": 1e30})
    with pytest.raises(RunError, match=r"learning rate below 1e\+30 may help") as caught:
        finish(run)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [({"images": 0}, "images"), ({"labels": "false"}, "labels"), ({"image": 3}, "did you mean 'images'")],
)
def test_bad_options_are_told_in_one_line(table, message):
    with pytest.raises(UsageError, match=message) as caught:
        Run.parse({"kind": "imp", **table})
    assert "\n" not in str(caught.value)
