"""Random crops: an endless stream that its generator determines, of training or of held-out images."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import official_files
from prunefield.core.errors import UsageError
from prunefield.tasks import Task, draw_balanced, draw_classes, is_finite

pytestmark = pytest.mark.usefixtures("datasets")
TINY = "tiny-imagenet,crops=true"


def grey(task, x):
    black, white = task.levels
    return ((x - black) / (white - black) * 255).view(-1, *task.shape)


def seed(number):
    return torch.Generator().manual_seed(number)


@pytest.fixture
def stripes(tmp_path, monkeypatch):
    """Tiny ImageNet whose training images have dark and whose validation images have bright grey levels.

    In a training image grey level = column, so that a crop shows where it was cut and whether it was mirrored.
    """
    monkeypatch.setenv("PRUNEFIELD_DATA", str(tmp_path))
    monkeypatch.setattr(official_files, "encode", lambda pixels, kind: paint("JPEG"))
    task = Task.parse(TINY)
    task.get(official_files.tiny_imagenet(tmp_path), lambda have, size: None)
    files = task.folder()
    for split, level in (("train", np.arange(64)), ("test", 255 - np.arange(64))):
        array = np.load(files / f"{split}.npy")
        array[:] = np.broadcast_to(level.astype(np.uint8), (3, 64, 64)).reshape(-1)
        np.save(files / f"{split}.npy", array)
    return task


def paint(kind):
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (64, 64)).save(file, kind)
    return file.getvalue()


def test_whole_images_at_half_the_size_are_averages_of_four_pixels():
    whole, half = Task.parse("tiny-imagenet"), Task.parse("tiny-imagenet,side=32")
    rows = torch.tensor([3, 7])
    fine = grey(whole, whole.take(rows, training=True)).view(2, 3, 32, 2, 32, 2).mean((3, 5))
    assert torch.allclose(grey(half, half.take(rows, training=True)), fine, atol=1e-3)
    assert is_finite(half)
    x = half.take(torch.arange(400), training=True)
    assert x.mean(0).abs().max() < 1e-4
    assert (x.std(0, correction=0) - 1).abs().max() < 1e-3


def test_sizes_places_and_mirrors_are_those_that_were_asked_for(stripes):
    x = grey(stripes, stripes.sample(4000, generator=seed(0)).x)
    assert (x - x[:, :1, :1]).abs().max() < 1e-3  # all rows and channels of a stripe are alike
    line = x[:, 0, 0].double()
    step = (line[:, -1] - line[:, 0]) / 31
    size, mirrored = 32 * step.abs(), step < 0
    left = torch.where(mirrored, line[:, -1], line[:, 0]) + 0.5 - step.abs() / 2
    assert 39.8 < size.min() < 40.2
    assert 63.8 < size.max() < 64.2
    assert abs(size.mean() - 52) < 0.5
    assert abs(mirrored.double().mean() - 0.5) < 0.04
    assert left.min() > -0.5
    assert (left + size).max() < 64.5
    share = (left / (64 - size))[size < 60]
    assert abs(share.mean() - 0.5) < 0.03
    assert abs(share.std() - 12**-0.5) < 0.03
    plain = Task.parse(f"{TINY},flips=false,smallest=1.0")
    assert torch.allclose(grey(plain, plain.sample(9, generator=seed(0)).x)[:, 0, 5], torch.arange(32) * 2 + 0.5)


def test_held_out_crops_are_of_validation_images_and_show_them_in_turn(stripes):
    assert grey(stripes, stripes.sample(500, generator=seed(0)).x).max() < 64
    batch = stripes.held_out(800, generator=seed(0))  # of 800 validation images, four of each class
    assert grey(stripes, batch.x).min() > 190
    assert batch.y.bincount().tolist() == [4] * 200
    assert grey(stripes, draw_balanced(stripes, 6, generator=seed(0)).x).min() > 190
    assert grey(stripes, draw_balanced(stripes, 2, generator=seed(0), training=True).x).max() < 64


def test_crops_have_zero_mean_and_unit_variance():
    for standardise in ("pixel", "channel"):
        task = Task.parse(f"{TINY},standardise={standardise}")
        x = task.sample(4000, generator=seed(1)).x.view(-1, 3, 1024)
        assert x.mean((0, 2)).abs().max() < 0.02
        assert (x.std((0, 2)) - 1).abs().max() < 0.02
    few = Task.parse(f"{TINY},limit=10")
    assert all(map(torch.equal, few.levels, Task.parse(TINY).levels))


def test_limit_leaves_the_first_images():
    few = Task.parse(f"{TINY},limit=3")
    assert set(few.sample(50, generator=seed(0)).y.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("name", [TINY, "tiny-imagenet,side=32"])
def test_some_classes_are_the_first_ones_with_their_own_images(name):
    whole, some = Task.parse(name), Task.parse(f"{name},categories=3")
    assert (some.classes, whole.id) == (3, Task.parse(f"{name},categories=200").id)
    assert all(map(torch.equal, some.levels, whole.levels))
    for training in (True, False):
        labels = whole.labels(training=training)
        places = (labels < 3).nonzero().squeeze(1)
        assert torch.equal(some.labels(training=training), labels[places])
        rows = torch.arange(len(places))
        assert torch.equal(some.take(rows, training=training), whole.take(places, training=training))
    for batch in (some.sample(50, generator=seed(0)), some.held_out(5, generator=seed(0))):
        assert set(batch.y.tolist()) <= {0, 1, 2}
    assert len(Task.parse(f"{name},categories=3,limit=5").labels(training=True)) == 5


def test_crops_of_some_classes_are_of_their_images(stripes):
    some = Task.parse(f"{TINY},categories=2")
    assert len(list(draw_classes(some, 2, generator=seed(0)))) == 2
    assert torch.equal(
        some._crop(torch.tensor([1]), "train", seed(0)),
        stripes._crop((stripes.labels(training=True) < 2).nonzero()[1], "train", seed(0)),
    )


def test_balanced_crops_are_sorted_by_class_and_drawn_class_by_class():
    task = Task.parse(TINY)
    batch = draw_balanced(task, 7, generator=seed(0))  # more than the four images of a class
    assert batch.y.tolist() == [label for label in range(200) for _ in range(7)]
    assert len(batch.x.unique(dim=0)) == 1400
    again = torch.cat(list(draw_classes(task, 7, generator=seed(0))))
    assert torch.equal(batch.x, again)


PRINT = """
import hashlib, sys, torch
from prunefield.tasks import Task
torch.set_num_threads(int(sys.argv[1]))
stream = torch.Generator().manual_seed(0)
task = Task.parse("tiny-imagenet,crops=true")
x = [task.sample(n, generator=stream).x for n in (40, 3)] + [task.held_out(9, generator=stream).x]
print(hashlib.sha256(torch.cat(x).numpy().tobytes()).hexdigest())
"""


@pytest.mark.long
def test_another_process_with_more_threads_draws_the_same_bits():
    found = {
        subprocess.run([sys.executable, "-c", PRINT, threads], capture_output=True, text=True, check=True).stdout
        for threads in ("1", "2")
    }
    assert len(found) == 1


def test_a_stream_continues_from_the_state_of_its_generator():
    task, stream = Task.parse(TINY), seed(0)
    task.sample(40, generator=stream)
    saved = stream.get_state()
    rest = task.sample(40, generator=stream).x
    other = torch.Generator()
    other.set_state(saved)
    assert torch.equal(task.sample(40, generator=other).x, rest)


@pytest.mark.long
def test_the_clone_of_crops_has_their_covariance_and_full_rank():
    task = Task.parse(f"{TINY},side=4")
    clone = Task.parse({"kind": "clone", "of": task.settings(), "per_class": 60})
    assert json.loads(json.dumps(clone.settings()))["of"]["side"] == 4
    x = clone.draw(torch.full((20_000,), 5), generator=seed(0)).view(-1, 3, 16)
    crops = list(draw_classes(task, 4000, generator=seed(1), training=True))[5].view(-1, 3, 16)
    assert torch.allclose(x.mean(0), crops.mean(0), atol=0.6)
    for channel in range(3):
        ours, theirs = x[:, channel].T.cov(), crops[:, channel].T.cov()
        assert (ours - theirs).norm() < 0.6 * theirs.norm()
        assert torch.linalg.matrix_rank(ours) == 16


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("crops=true,side=41", "side (41) must be at most 64 × smallest = 40"),
        ("crops=true,smallest=0.9,largest=0.8", "smallest (0.9) must be at most largest (0.8)"),
        ("side=65", "less than or equal to 64"),
        ("crops=true,smallest=0", "greater than 0"),
        ("crops=maybe", "valid boolean"),
    ],
)
def test_impossible_crops_are_refused_in_one_line(settings, message):
    with pytest.raises(UsageError) as caught:
        Task.parse(f"tiny-imagenet,{settings}")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
