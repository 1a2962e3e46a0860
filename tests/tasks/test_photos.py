"""Photographs: crops lie in the cell of their class, and held-out crops share no pixel with training."""

import numpy as np
import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.tasks import Task, draw_balanced
from prunefield.tasks.photos import Photos


def raw(task, x):
    black, white = task.levels
    return ((x - black) / (white - black) * 255).round().view(-1, *task.shape).numpy().astype(np.uint8)


@pytest.fixture(scope="module")
def pictures():
    from sklearn.datasets import load_sample_images

    return load_sample_images().images  # its own decoding of the same files


@pytest.mark.parametrize("held", [False, True])
def test_a_crop_lies_in_its_cell_and_its_zone(pictures, held):
    task = Photos()
    batch = (task.held_out if held else task.sample)(12, generator=generator(0, "photos"))
    for image, label in zip(raw(task, batch.x), batch.y.tolist(), strict=True):
        photo, cell = divmod(label, 24)
        top, left = 106 * (cell // 6), 106 * (cell % 6)
        zone = pictures[photo][top + 66 * held : top + (106 if held else 66), left : left + 106]
        windows = np.lib.stride_tricks.sliding_window_view(zone, (32, 32), (0, 1))
        assert (windows == image).all((2, 3, 4)).any()


def test_pixels_are_standardised():
    x = Photos().sample(4000, generator=generator(0, "x")).x.view(-1, 3, 1024)
    assert x.mean((0, 2)).abs().max() < 0.06
    assert (x.std((0, 2)) - 1).abs().max() < 0.05


def test_balanced_examples_are_held_out_crops_of_every_class():
    assert draw_balanced(Photos(), 5, generator=generator(0, "b")).y.bincount().tolist() == [5] * 48


@pytest.mark.parametrize("settings", [{"side": 64}, {"held": 20}, {"rows": 7}])
def test_crops_that_do_not_fit_are_reported_in_one_line(settings):
    with pytest.raises(UsageError, match="do not fit") as caught:
        Task.parse({"kind": "photos", **settings})
    assert "\n" not in str(caught.value)
    assert torch.tensor(Photos().classes) == 48
