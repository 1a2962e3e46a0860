"""Streams of crops of one's own photographs: any size and colour; what cannot be used is reported in one line."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from prunefield.core.errors import UsageError
from prunefield.tasks import Task, draw_balanced
from prunefield.tasks._pictures import open_image

RNG = np.random.default_rng(0)


def noise(height=40, width=48):
    return Image.fromarray(RNG.integers(0, 256, (height, width, 3), dtype=np.uint8))


def fill(folder, kinds=("cat", "dog"), count=5, make=noise):
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
        for number in range(count):
            make().save(folder / kind / f"{number}.png")
    return folder


def stream(folder, **settings):
    return Task.parse({"kind": "folder", "path": str(folder), "crops": True, "side": 8, **settings})


def grey(task, x):
    black, white = task.levels
    return ((x - black) / (white - black) * 255).view(-1, *task.shape)


def seed(number=0):
    return torch.Generator().manual_seed(number)


def gradient(width, height):
    """Red grows from left to right, green from top to bottom, both by one per pixel of a hundredth of the edge."""
    red = np.broadcast_to(np.arange(width) * 100 // width, (height, width))
    green = np.broadcast_to((np.arange(height) * 100 // height)[:, None], (height, width))
    return Image.fromarray(np.stack([red, green, np.zeros_like(red)], -1).astype(np.uint8))


def test_photographs_of_any_size_give_crops_of_every_scale(tmp_path):
    sizes = iter([(100, 100), (400, 200), (203, 411), (64, 90), (600, 600)] * 2)
    task = stream(fill(tmp_path, make=lambda: gradient(*next(sizes))), smallest=0.2)
    assert (task.shape, task.classes) == ((3, 8, 8), 2)
    x = grey(task, task.sample(3000, generator=seed()).x)
    wide = (x[:, 0, :, -1] - x[:, 0, :, 0]).abs().mean(1) * 8 / 7
    assert 5 < wide.min() < 22  # of 100: the smallest crop of the widest image, which is twice as wide as high
    assert 90 < wide.max() < 102
    assert abs((x[:, 0, 0, 0] > x[:, 0, 0, -1]).double().mean() - 0.5) < 0.05  # mirrored
    assert (x[:, 1, 0] <= x[:, 1, -1]).all()  # never upside down
    assert x[:, 2].abs().max() < 1e-3


def test_a_crop_reads_the_same_pixels_as_from_the_whole_image(tmp_path):
    fill(tmp_path, count=1, make=lambda: noise(33, 47))
    for split in ("train", "test"):
        fill(tmp_path / split, count=1, make=lambda: noise(33, 47))
    task = stream(tmp_path, smallest=0.3)
    from prunefield.tasks._squares import Planes, cut_squares

    squares = torch.rand(50, 4, dtype=torch.float64, generator=seed()) * torch.tensor([47 - 33, 0, 0, 1])
    squares[:, 2] = torch.linspace(8, 33, 50)
    squares[:, 1] = (33 - squares[:, 2]) * torch.rand(50, dtype=torch.float64, generator=seed(1))
    mine = task._cut(torch.zeros(50, dtype=torch.long), "test", squares)
    pixels = np.asarray(Image.open(tmp_path / "test" / "cat" / "0.png")).transpose(2, 0, 1).reshape(-1)
    whole = Planes(np.tile(pixels, 50), np.full(50, 33), np.full(50, 47), 3)
    assert torch.allclose(mine, cut_squares(whole, squares, 8), atol=1e-3)


def test_large_photographs_are_stored_small(tmp_path):
    task = stream(fill(tmp_path, make=lambda: noise(700, 1000)), smallest=0.25)
    edges = np.load(task.folder() / "train-edges.npy") if task.classes else None
    assert edges[0].tolist() == [34, 48, 33]  # reduced by 21: a quarter of the shorter edge still has 8 pixels


def test_images_in_a_folder_val_are_held_out(tmp_path):
    for split, level in (("train", 10), ("val", 200)):
        fill(tmp_path / split, count=2, make=lambda level=level: Image.new("L", (30, 30), level))
    task = stream(tmp_path)
    assert grey(task, task.sample(20, generator=seed()).x).max() < 11
    assert grey(task, task.held_out(20, generator=seed()).x).min() > 199


def test_held_out_crops_are_of_every_fifth_photograph(tmp_path):
    levels = iter([0, 10, 20, 30, 200, 5, 15, 25, 35, 205])
    task = stream(fill(tmp_path, make=lambda: Image.new("L", (30, 30), next(levels))))
    assert grey(task, task.sample(200, generator=seed()).x).max() < 36
    batch = task.held_out(40, generator=seed())
    assert batch.y.bincount().tolist() == [20, 20]
    assert torch.allclose(grey(task, batch.x)[:, 0, 0, 0], torch.where(batch.y == 0, 200.0, 205.0))


def test_the_photograph_as_label_keeps_a_third_of_each_apart(tmp_path):
    for number, (width, height) in enumerate([(300, 90), (90, 300), (120, 120)]):
        gradient(width, height).save(tmp_path / f"{number}.png")
    task = stream(tmp_path, label="photograph", flips=False)
    assert task.classes == 3
    for number, channel in ((0, 0), (1, 1), (2, 0)):
        seen = [
            grey(task, draw_balanced(task, 200, generator=seed(), training=training).x)[200 * number :][:200, channel]
            for training in (True, False)
        ]
        assert seen[0].max() < 67
        assert seen[1].min() > 66
        spread = [part.amax((1, 2)) - part.amin((1, 2)) for part in seen]
        assert abs(spread[0].mean() - spread[1].mean()) < 2  # the same scales


@pytest.mark.parametrize(
    ("mode", "suffix"), [("L", "png"), ("CMYK", "jpg"), ("P", "gif"), ("RGBA", "png"), ("1", "bmp"), ("LA", "webp")]
)
def test_every_kind_of_colour_is_read(mode, suffix, tmp_path):
    fill(tmp_path)
    plain = Image.new("RGB", (30, 30), (255, 255, 255)).convert("RGB" if mode == "P" else mode)
    more = {"save_all": True, "append_images": [noise(30, 30)]} if mode == "P" else {}
    plain.save(tmp_path / "cat" / f"9.{suffix}", **more)
    task = stream(tmp_path, smallest=1.0, flips=False)
    whites = grey(task, task.sample(300, generator=seed()).x).amin((1, 2, 3)) > 252
    assert 20 < whites.sum() < 60  # one of nine: an animation shows its first picture


def test_deep_grey_levels_are_scaled_and_a_turned_photograph_stands_upright(tmp_path):
    fill(tmp_path, count=4)
    Image.fromarray(np.full((30, 30), 0x8000, np.uint16)).save(tmp_path / "cat" / "4.png")
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    picture = gradient(100, 100)
    picture.save(tmp_path / "dog" / "4.png", exif=exif)
    task = stream(tmp_path, side=20, smallest=1.0, flips=False)
    x = grey(task, task.held_out(2, generator=seed()).x[task.held_out(2, generator=seed()).y.argsort()])
    assert torch.allclose(x[0], torch.tensor(128.0), atol=0.01)
    assert x[1, 0, 0, 0] > x[1, 0, 0, -1]
    assert x[1, 1, 0, 0] > x[1, 1, -1, 0]


def write_text(folder):
    (folder / "cat" / "9.png").write_text("not an image")


def cut_short(folder):
    path = folder / "cat" / "0.png"
    path.write_bytes(path.read_bytes()[:300])


def remove_dogs(folder):
    for path in (folder / "dog").iterdir():
        path.unlink()


def leave_three(folder):
    for name in ("3.png", "4.png"):
        (folder / "dog" / name).unlink()


@pytest.mark.parametrize(
    ("spoil", "settings", "message"),
    [
        (write_text, {}, "cat/9.png is not an image that can be read (allowed: PNG, JPEG"),
        (cut_short, {}, "cat/0.png is not an image that can be read ("),
        (
            lambda top: noise(7, 50).save(top / "dog" / "9.png"),
            {},
            "9.png has 50 × 7 pixels, too few for crops of 8 × 8",
        ),
        (
            remove_dogs,
            {},
            'at least two classes, the same in train and test (found: cat); with crops = true, label = "ph',
        ),
        (leave_three, {}, "dog has 3 images; at least 5 are needed to hold one out"),
        (
            lambda top: Image.new("F", (30, 30)).save(top / "cat" / "9.tiff"),
            {},
            "9.tiff is not an image that can be read (its grey levels have 32 bits; save it with 8 or 16)",
        ),
        (
            lambda top: None,
            {"label": "photograph", "side": 20},
            "0.png has 48 × 40 pixels, too few for crops of 20 × 20 and 1/3 of its longer edge for held-out crops",
        ),
        (lambda top: (top / "cat" / "9.png").symlink_to("nowhere"), {}, "cannot read"),
        (lambda top: None, {"path": "cat/0.png"}, "0.png is not a folder; a folder has images of each class"),
        (
            lambda top: [(top / kind / "4.png").unlink() for kind in ("cat", "dog")],
            {"crops": False},
            "cat has 4 images; at least 5 are needed to hold one out, unless there are folders train and test",
        ),
        (leave_three, {"crops": False}, "dog has 3 images; at least 5 are needed to hold one out"),
        (
            lambda top: noise(1, 50).save(top / "dog" / "9.png"),
            {"crops": False},
            "9.png has 50 × 1 pixels; remove it",
        ),
        (lambda top: None, {"label": "photograph", "crops": False}, 'label = "photograph" needs crops = true'),
    ],
)
def test_what_cannot_be_used_is_reported_in_one_line(spoil, settings, message, tmp_path):
    spoil(fill(tmp_path))
    with pytest.raises(UsageError) as caught:
        stream(tmp_path / settings.pop("path", ""), **settings).sample(1, generator=seed())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "0x" not in str(caught.value)


def test_one_photograph_is_not_enough(tmp_path):
    noise().save(tmp_path / "a.png")
    with pytest.raises(UsageError, match=r"needs at least two photographs \(found: 1\)"):
        stream(tmp_path, label="photograph").require()


def test_a_damaged_copy_is_refused(tmp_path):
    task = stream(fill(tmp_path / "photos"))
    task.require()
    edges = np.load(task.folder() / "train-edges.npy")
    for path, spoilt in (("train-edges.npy", edges * 0), ("train-edges.npy", edges[:, :2]), ("train.npy", edges)):
        from prunefield.tasks._photographs import open_album

        whole = (task.folder() / path).read_bytes()
        np.save(task.folder() / path, spoilt)
        open_album.cache_clear()
        with pytest.raises(UsageError, match="is damaged"):
            task.require()
        (task.folder() / path).write_bytes(whole)
    open_album.cache_clear()
    task.require()


def test_hidden_files_and_folders_are_neither_classes_nor_photographs(tmp_path):
    fill(tmp_path, kinds=("cat", "dog", ".ipynb_checkpoints"))
    (tmp_path / "cat" / "._0.png").write_text("of another system")
    assert stream(tmp_path).classes == 2
    assert stream(tmp_path, label="photograph").classes == 10


def test_images_behind_links_are_read_and_must_not_change(tmp_path):
    fill(tmp_path / "elsewhere")
    top = tmp_path / "links"
    top.mkdir()
    for kind in ("cat", "dog"):
        (top / kind).symlink_to(tmp_path / "elsewhere" / kind)
    (tmp_path / "elsewhere" / "cat" / "around").symlink_to(top)
    task = stream(top)
    assert (task.classes, stream(top, label="photograph").classes) == (2, 10)
    noise().save(tmp_path / "elsewhere" / "dog" / "0.png")
    with pytest.raises(UsageError, match="has changed since it was first read"):
        task.require()


def test_an_image_of_16_bits_is_turned_as_the_camera_noted():
    file, noted = io.BytesIO(), Image.Exif()
    noted[0x0112] = 6  # turn it clockwise
    Image.fromarray(np.arange(6, dtype=np.uint16).reshape(2, 3) << 8).save(file, "PNG", exif=noted)
    turned = open_image(file.getvalue(), "deep.png", "L", upright=True)
    assert np.asarray(turned).tolist() == [[3, 0], [4, 1], [5, 2]]
