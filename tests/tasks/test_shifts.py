"""CIFAR-10 as an endless stream: moved and mirrored copies of training images, and test images as they are."""

import itertools
import time
from contextlib import suppress

import numpy as np
import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.lab.execution import Pace, obtain
from prunefield.lab.folder import RunFolder
from prunefield.lab.store import Store
from prunefield.runs.imp import Imp
from prunefield.tasks import Task, draw_balanced, draw_classes, draw_distinct, is_finite
from prunefield.tasks.cifar10 import Cifar10

pytestmark = pytest.mark.usefixtures("datasets")
ID = "6a8648157f48465e"  # of cifar10 before it had the option


def grey(task, x):
    black, white = task.levels
    return ((x - black) / (white - black) * 255).round().byte().view(-1, *task.shape).numpy()


def seed(number):
    return torch.Generator().manual_seed(number)


def list_copies(image, shift):
    """All copies of an image, (n, 3, 32, 32), by slices of its mirror images."""
    wide = np.concatenate([image[..., shift:0:-1], image, image[..., -2 : -shift - 2 : -1]], 2)
    high = np.concatenate([wide[:, shift:0:-1], wide, wide[:, -2 : -shift - 2 : -1]], 1)
    steps = range(2 * shift + 1)
    moved = [high[:, down : down + 32, right : right + 32] for down, right in itertools.product(steps, steps)]
    return np.stack([copy[..., ::way] for way in (1, -1) for copy in moved])


def test_the_default_is_the_data_set_of_before():
    assert Cifar10().id == Cifar10(shift=0).id == ID
    assert "shift" not in Cifar10().settings()
    assert is_finite(Cifar10())
    assert not is_finite(Cifar10(shift=4))
    assert Cifar10(shift=4).id != ID
    assert Task.parse(Cifar10(shift=4).settings()) == Task.parse("cifar10,shift=4") == Cifar10(shift=4)


@pytest.mark.parametrize("shift", [1, 4])
def test_examples_are_all_copies_of_training_images_equally_often(shift):
    task, whole = Cifar10(shift=shift, limit=1), Cifar10()
    image = grey(whole, whole.take(torch.tensor([0]), training=True))[0]
    names = {copy.tobytes(): place for place, copy in enumerate(list_copies(image, shift))}
    count = len(names)
    assert count == 2 * (2 * shift + 1) ** 2
    batch = task.sample(200 * count, generator=seed(0))
    found = np.bincount([names[copy.tobytes()] for copy in grey(task, batch.x)], minlength=count)
    assert abs(found / 200 - 1).max() < 0.35  # five standard deviations
    assert batch.y.tolist() == [int(whole.labels(training=True)[0])] * len(batch.y)


@pytest.mark.parametrize("settings", ["side=16", "standardise=channel", "limit=7"])
def test_copies_have_the_shape_and_scale_of_the_images(settings):
    task, whole = Task.parse(f"cifar10,shift=4,{settings}"), Task.parse(f"cifar10,{settings}")
    batch = task.sample(50, generator=seed(0))
    assert batch.x.shape == (50, torch.Size(whole.shape).numel())
    assert batch.x.dtype == torch.float32
    assert all(map(torch.equal, task.levels, whole.levels))
    assert set(batch.y.tolist()) <= set(whole.labels(training=True).tolist())


def test_held_out_examples_are_the_test_images_as_they_are():
    task, whole = Cifar10(shift=4), Cifar10()
    for n in (1, 60):
        ours, theirs = (each.held_out(n, generator=seed(2)) for each in (task, whole))
        assert torch.equal(ours.x, theirs.x)
        assert torch.equal(ours.y, theirs.y)
    with pytest.raises(UsageError, match="60 test examples, but 61 were requested"):
        task.held_out(61, generator=seed(0))
    for per_class in (4, 50):  # six of each class are there
        ours, theirs = (draw_balanced(each, per_class, generator=seed(3)) for each in (task, whole))
        assert torch.equal(ours.x, theirs.x)
        assert torch.equal(ours.y, theirs.y)


def test_training_images_of_a_class_are_copied_in_turn():
    task, whole = Cifar10(shift=2), Cifar10()
    labels = whole.labels(training=True)
    parts = list(draw_classes(task, 30, generator=seed(0), training=True))
    images = grey(whole, whole.take((labels == 3).nonzero().squeeze(1), training=True))
    names = {copy.tobytes(): place for place, image in enumerate(images) for copy in list_copies(image, 2)}
    found = np.bincount([names[copy.tobytes()] for copy in grey(task, parts[3])], minlength=len(images))
    assert [len(part) for part in parts] == [30] * 10
    assert found.sum() == 30
    assert found.max() - found.min() <= 1
    assert len(draw_distinct(task, 500, generator=seed(0)).x) == 500  # more than there are images
    with pytest.raises(UsageError, match="cifar10 has no training images of class"):
        list(draw_classes(Cifar10(shift=2, limit=1), 3, generator=seed(0), training=True))


def test_a_generator_determines_the_copies_and_continues_from_its_state():
    task, stream = Cifar10(shift=4), seed(0)
    first = task.sample(40, generator=stream).x
    saved = stream.get_state()
    rest = task.sample(40, generator=stream).x
    other = torch.Generator()
    other.set_state(saved)
    assert torch.equal(task.sample(40, generator=seed(0)).x, first)
    assert torch.equal(task.sample(40, generator=other).x, rest)
    assert not torch.equal(first, rest)


class Killed(BaseException):
    """As if the process had died after it had written a safe point."""


def test_pruning_on_copies_gives_the_same_digest_if_killed_at_its_safe_points(tmp_path, monkeypatch):
    run = Imp(task=Cifar10(shift=4), hidden=(8, 8), steps=20, rewind=2, rounds=3, held_out=20)
    expected = obtain(Store(tmp_path / "whole"), run).digest
    store, save, lives = Store(tmp_path / "killed"), RunFolder.save, 0

    def die(*arguments):
        save(*arguments)
        raise Killed

    monkeypatch.setattr(RunFolder, "save", die)
    while not store.folder(run).is_done:
        lives += 1
        left = itertools.count(lives, -1)
        monkeypatch.setattr(Pace, "is_due", lambda self, now, left=left: next(left) <= 0)
        with suppress(Killed):
            obtain(store, run)
    assert obtain(store, run).digest == expected
    assert lives > 1


def test_a_batch_is_copied_at_once():
    task = Cifar10(shift=4)

    def measure(n, times):
        found = []
        for _ in range(5):
            begin = time.process_time()
            for _ in range(times):
                task.sample(n, generator=seed(0))
            found.append(time.process_time() - begin)
        return min(found)

    measure(1, 1)  # compiles the loop
    assert measure(400, 1) < 0.25 * measure(1, 400)


@pytest.mark.parametrize("shift", [-1, 17, 1.5, "some"])
def test_an_impossible_shift_is_refused_in_one_line(shift):
    with pytest.raises(UsageError, match="shift") as caught:
        Task.parse({"kind": "cifar10", "shift": shift})
    assert "\n" not in str(caught.value)
