"""Dead leaves against a slow painter, closed forms and the symmetry of their classes."""

import math

import numpy as np
import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.tasks import Task
from prunefield.tasks.leaves import Leaves


def paint_back_to_front(task, leaves):
    """The same picture by the painter's algorithm: every ellipse over the whole image, the front one last."""
    mean, deviation = task.moments
    rows, columns = np.mgrid[: task.side, : task.side].astype(np.float64)
    images = np.full((len(leaves), 3, task.side, task.side), -mean / deviation)
    for image, shapes in zip(images, leaves.double().numpy(), strict=True):
        for x, y, long, short, angle, *colour in shapes[::-1]:
            along = (columns - x) * math.cos(angle) + (rows - y) * math.sin(angle)
            across = (rows - y) * math.cos(angle) - (columns - x) * math.sin(angle)
            inside = (along / long) ** 2 + (across / short) ** 2 <= 1
            image[:, inside] = (np.array(colour)[:, None] - mean) / deviation
    return images.reshape(len(leaves), -1)


@pytest.mark.parametrize("settings", [{}, {"side": 16, "count": 25}, {"side": 12, "count": 300}])
def test_the_first_ellipse_over_a_pixel_is_visible(settings):
    task = Leaves(**settings)
    leaves = task.draw(torch.arange(10), generator=generator(0, "leaves"))
    slow = torch.from_numpy(paint_back_to_front(task, leaves)).float()
    torch.testing.assert_close(task.paint(leaves), slow, atol=1e-5, rtol=0)


def test_the_same_stream_gives_the_same_images_and_another_does_not():
    task = Leaves(side=16)
    first, again, other = (task.sample(20, generator=generator(0, name)) for name in ("a", "a", "b"))
    assert torch.equal(first.x, again.x)
    assert torch.equal(first.y, again.y)
    assert not torch.equal(first.x, other.x)


def test_shapes_and_labels():
    task = Leaves(side=8, categories=3)
    x, y = task.sample(300, generator=generator(0, "x"))
    assert x.shape == (300, 3 * 8 * 8)
    assert x.dtype == torch.float32
    assert task.shape == (3, 8, 8)
    assert task.classes == 3
    assert set(y.tolist()) == {0, 1, 2}


def test_a_pixel_far_from_the_edges_is_standardised():
    x, _ = Leaves().sample(4000, generator=generator(1, "moments"))
    centre = x.view(-1, 3, 32, 32)[:, :, 16, 16].double()
    assert abs(centre.mean().item()) < 4 / math.sqrt(4000)  # the channels of an image are alike, so n = 4000 at worst
    assert centre.std().item() == pytest.approx(1, abs=0.05)


def test_sizes_follow_the_power_law():
    task = Leaves(power=3.0)
    leaves = task.draw(torch.zeros(500, dtype=torch.long), generator=generator(0, "sizes"))
    size = leaves[..., 2].double().flatten() / task.long
    torch.testing.assert_close(leaves[..., 3] / task.short, leaves[..., 2] / task.long)
    for bound in (1.3, 2.0, 4.0):
        share = (task.smallest**-2 - bound**-2) / (task.smallest**-2 - task.largest**-2)
        assert (size < bound).double().mean().item() == pytest.approx(share, abs=0.01)
    assert size.square().mean().item() == pytest.approx(task._mean_square_size(), rel=0.05)


def test_classes_differ_in_orientation():
    # Class 0 is stretched along x, class 5 of 10 along y: neighbours are more alike in that direction.
    task = Leaves()
    for label, sign in ((0, 1), (5, -1)):
        leaves = task.draw(torch.full((200,), label), generator=generator(2, "orientation"))
        x = task.paint(leaves).view(-1, 3, 32, 32)
        along = (x[..., :, 4:] - x[..., :, :-4]).square().mean()
        across = (x[..., 4:, :] - x[..., :-4, :]).square().mean()
        assert sign * (across - along) > 0.3


def test_classes_a_quarter_turn_apart_are_mirror_images():
    leaves = Leaves(jitter=0).draw(torch.tensor([0]), generator=generator(0, "turn"))
    turned = leaves.clone()
    turned[..., 0], turned[..., 1] = leaves[..., 1], leaves[..., 0]
    turned[..., 4] = math.pi / 2 - leaves[..., 4]
    first, second = (Leaves().paint(item).view(3, 32, 32) for item in (leaves, turned))
    assert (first != second.transpose(1, 2)).float().mean() < 0.01  # but for rounding at the rims


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"side": 1}, "side: .*greater than or equal to 2"),
        ({"smallest": 5, "largest": 4}, "smallest .5.0. must be less than largest .4.0."),
        ({"grey": 1.5}, "grey"),
        ({"leaf": 3}, "unknown key 'leaf'"),
    ],
)
def test_bad_settings_are_reported_in_one_line(settings, message):
    with pytest.raises(UsageError, match=message) as caught:
        Task.parse({"kind": "leaves", **settings})
    assert "\n" not in str(caught.value)
