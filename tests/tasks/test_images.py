"""Finite sets of images: official files are read exactly, and invalid files are refused in one line."""

import gzip
import io
import pickle
import subprocess
import sys
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image

import official_files
from prunefield.core.errors import RunError, UsageError
from prunefield.data import shelf
from prunefield.tasks import Task, draw_balanced
from prunefield.tasks import cifar10 as cifar10_module
from prunefield.tasks import fashion_mnist as fashion_module
from prunefield.tasks.cifar10 import Cifar10
from prunefield.tasks.folder import Folder


def quiet(have, size):
    """No progress bar."""


def get(kind, origin, root, monkeypatch):
    monkeypatch.setenv("PRUNEFIELD_DATA", str(root))
    task = Task.parse(kind)
    task.get(origin, quiet)
    return task


def grey(task, rows, training=True):
    black, white = task.levels
    return ((task.take(torch.tensor(rows), training=training) - black) / (white - black) * 255).round().byte().numpy()


def test_cifar10_is_in_the_official_order(tmp_path, monkeypatch):
    path = official_files.cifar10(tmp_path)
    task = get("cifar10", path, tmp_path / "data", monkeypatch)
    with tarfile.open(path) as archive:
        second = pickle.loads(archive.extractfile("cifar-10-batches-py/data_batch_2").read(), encoding="bytes")
    assert np.array_equal(grey(task, range(20, 40)), second[b"data"])
    assert task.labels(training=True)[20:40].tolist() == second[b"labels"]
    assert len(task.labels(training=False)) == 60


def test_the_png_copy_has_the_same_pixels(tmp_path, monkeypatch):
    path = official_files.cifar10_png(tmp_path)
    task = get("cifar10", path, tmp_path / "data", monkeypatch)
    with tarfile.open(path) as archive:
        pixels = np.asarray(Image.open(archive.extractfile("package/data_batch_3.png")))
    assert np.array_equal(grey(task, [45])[0].reshape(3, 32, 32), pixels[5].reshape(32, 32, 3).transpose(2, 0, 1))


def test_labels_of_imagenet32_begin_at_0(datasets):
    task = Task.parse("imagenet32")
    labels = task.labels(training=True)
    assert labels[:3].tolist() == [999, 0, 1]
    assert labels.bincount().tolist() == [10] * 1000


def test_tiny_imagenet_is_interleaved_and_its_test_labels_come_from_the_annotations(datasets):
    task = Task.parse({"kind": "tiny-imagenet", "limit": 200})
    assert task.labels(training=True).tolist() == list(range(200))
    assert task.labels(training=False).tolist() == [label for label in range(200) for _ in range(4)]
    image = grey(task, [7])[0].reshape(3, 64, 64)  # a grey JPEG
    assert (image[0] == image[1]).all()


def test_moments_are_those_of_all_training_images(datasets):
    for standardise in ("pixel", "channel"):
        task = Task.parse({"kind": "cifar10", "standardise": standardise})
        x = task.take(torch.arange(100), training=True).view(100, 3, 1024).double()
        over = 0 if standardise == "pixel" else (0, 2)
        assert x.mean(over).abs().max() < 1e-5
        assert (x.std(over, correction=0) - 1).abs().max() < 1e-5


@pytest.mark.parametrize("standardise", ["pixel", "channel"])
def test_a_smaller_side_is_the_mean_over_squares(standardise, datasets):
    whole, small = (Task.parse({"kind": "cifar10", "standardise": standardise, "side": side}) for side in (32, 8))
    assert "side" not in whole.settings()  # ids of earlier runs stay as they are
    x, means = (task.take(torch.arange(5), training=True) for task in (whole, small))
    blocks = x.view(5, 3, 8, 4, 8, 4).double().mean((3, 5))
    assert torch.allclose(means.double(), blocks.flatten(1), atol=1e-5)
    assert small.shape == (3, 8, 8)
    black = whole.levels[0].double().expand(3072).reshape(3, 8, 4, 8, 4).mean((2, 4)).flatten()
    assert torch.allclose(small.levels[0].double(), black, atol=1e-5)


def test_limit_keeps_the_first_images_and_the_scale(datasets):
    few, whole = Task.parse({"kind": "cifar10", "limit": 3}), Task.parse("cifar10")
    x = few.sample(200, generator=torch.Generator().manual_seed(0)).x
    assert torch.equal(x.unique(dim=0), whole.take(torch.arange(3), training=True).unique(dim=0))


def test_held_out_images_are_distinct_test_images(datasets):
    task = Task.parse("cifar10")
    x, _ = task.held_out(60, generator=torch.Generator().manual_seed(0))
    assert torch.equal(x.unique(dim=0), task.take(torch.arange(60), training=False).unique(dim=0))
    with pytest.raises(UsageError, match="60 test examples, but 61 were requested"):
        task.held_out(61, generator=torch.Generator())


@pytest.mark.parametrize("task", [{"kind": "cifar10", "limit": 10**6}, {"kind": "noise", "images": 5, "limit": 6}])
def test_a_limit_above_the_number_of_examples_is_refused(task, datasets):
    found = Task.parse(task)
    with pytest.raises(UsageError, match=r"training examples, but limit is [\d,]+; choose a smaller limit"):
        found.labels(training=True)
    assert len(found.labels(training=False))


def test_balanced_examples_are_limited_by_the_test_set(datasets, tmp_path, monkeypatch):
    assert draw_balanced(Task.parse("cifar10"), 50, generator=torch.Generator()).y.tolist() == [
        label for label in range(10) for _ in range(6)
    ]
    np.savez(tmp_path / "few.npz", x=np.zeros((30, 4)), y=np.arange(30) % 2)
    few = Task.parse({"kind": "npz", "path": str(tmp_path / "few.npz")})
    with pytest.raises(UsageError, match="npz has 3 test examples of class 0; at least 4 are needed"):
        draw_balanced(few, 50, generator=torch.Generator())


def test_missing_data_are_reported_with_the_command_that_fetches_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PRUNEFIELD_DATA", str(tmp_path))
    with pytest.raises(UsageError, match=f"not in {tmp_path}/cifar10; fetch it: prunefield data get cifar10"):
        Cifar10().sample(1, generator=torch.Generator())


def test_without_a_network_both_sources_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PRUNEFIELD_DATA", str(tmp_path))

    def fail(*_, **__):
        raise RunError("cannot fetch it: no network")

    monkeypatch.setattr("prunefield.tasks._images.download_file", fail)
    monkeypatch.setattr(cifar10_module.shutil, "which", lambda name: None)
    with pytest.raises(RunError, match="no network; npm, which could fetch a copy, is not installed"):
        Cifar10().get(None, quiet)
    monkeypatch.setattr(fashion_module, "DEBIAN", tmp_path / "none")
    with pytest.raises(RunError, match="apt-get install dataset-fashion-mnist"):
        fashion_module.FashionMnist().get(None, quiet)


def corrupt(batch):
    """An archive whose first batch is `batch`."""
    return lambda folder: official_files.tar(
        folder / "a.tar.gz", {"x/data_batch_1": official_files.pickle_batch(batch)}
    )


@pytest.mark.parametrize(
    ("kind", "write", "message"),
    [
        (
            "cifar10",
            corrupt({b"data": np.zeros((2, 3000), np.uint8), b"labels": [0, 1]}),
            r"shape \(2, 3000\), expected",
        ),
        (
            "cifar10",
            corrupt({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 10]}),
            "from 0 to 10, expected 0 to 9",
        ),
        ("cifar10", corrupt({b"data": np.zeros((2, 3072)), b"labels": [0, 1]}), "no uint8 array 'data'"),
        ("cifar10", corrupt({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0]}), "2 train inputs and labels of"),
        ("cifar10", official_files.cifar100, "no file 'data_batch_1'"),
        ("cifar100", official_files.fashion_mnist, "no file 'train'"),
        ("fashion-mnist", official_files.cifar10, "no file 'train-images-idx3-ubyte'"),
    ],
)
def test_wrong_files_are_refused_in_one_line(kind, write, message, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=message) as caught:
        get(kind, write(tmp_path), tmp_path / "data", monkeypatch)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "data" / kind).exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-10], "damaged"),
        (lambda content: gzip.compress(gzip.decompress(content)[:-1]), "too few or too many bytes"),
        (lambda content: gzip.compress(b"\0\0\x0d" + gzip.decompress(content)[3:]), "not an IDX file"),
    ],
)
def test_damaged_idx_files_are_refused(change, message, tmp_path, monkeypatch):
    path = official_files.fashion_mnist(tmp_path) / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(UsageError, match=message):
        get("fashion-mnist", tmp_path, tmp_path / "data", monkeypatch)


def test_a_folder_of_images_holds_out_every_fifth_file(datasets):
    task = Folder(side=40)
    assert task.shape == (3, 40, 40)
    assert task.labels(training=True).bincount().tolist() == [20] * 3
    assert task.labels(training=False).bincount().tolist() == [5] * 3
    pixels = np.asarray(Image.open(datasets / "images" / "dog" / "04.png"))[:, 4:44]
    assert np.array_equal(grey(task, [1], training=False)[0].reshape(3, 40, 40), pixels.transpose(2, 0, 1))


def test_own_files_must_not_change(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(60.0).reshape(20, 3), y=["a", "b"] * 10)
    task = Task.parse({"kind": "npz", "path": str(path)})
    assert task.shape == (3,)
    content = path.read_bytes()
    path.write_bytes(content)  # another time, the same bytes
    task.require()
    assert task.classes == 2
    np.savez(path, x=np.zeros((20, 3)), y=np.arange(20) % 2)
    assert task.sample(4, generator=torch.Generator()).x.count_nonzero()  # the copy is what this process goes on with
    with pytest.raises(UsageError, match="has changed since it was first read; delete"):
        task.require()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((4, 2))}, "must contain the arrays x and y"),
        ({"x": np.zeros((4, 2)), "y": np.zeros(3)}, "with n labels"),
        ({"x": np.full((4, 2), np.nan), "y": np.arange(4)}, "not finite"),
        ({"x": np.zeros((4, 2)), "y": np.zeros(4)}, "at least two classes"),
        ({"x": np.array([[{}]]), "y": np.zeros(1)}, "safe to read"),
        ({"x": np.zeros((20, 2)), "y": np.arange(20) % 2, "y_test": np.zeros(2)}, "has y_test but no x_test"),
        (
            {"x": np.zeros((20, 2)), "y": np.arange(20) % 2, "x_test": np.zeros((2, 3)), "y_test": np.zeros(2)},
            "must have",
        ),
    ],
)
def test_bad_arrays_are_reported_in_one_line(arrays, message, tmp_path):
    file = io.BytesIO()
    np.savez(file, **arrays)
    (tmp_path / "a.npz").write_bytes(file.getvalue())
    with pytest.raises(UsageError, match=message) as caught:
        Task.parse({"kind": "npz", "path": str(tmp_path / "a.npz")}).sample(1, generator=torch.Generator())
    assert "\n" not in str(caught.value)


MEMORY = """
import resource, torch
from prunefield.tasks.imagenet32 import Imagenet32
task, generator = Imagenet32(), torch.Generator().manual_seed(0)
task.sample(100, generator=generator)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(400):
    task.sample(100, generator=generator)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_training_on_a_large_file_needs_little_memory(tmp_path, monkeypatch):
    """Draws 40,000 of the 68,000 rows of a 209 MB file in a separate process."""
    monkeypatch.setenv("PRUNEFIELD_DATA", str(tmp_path))
    x = np.arange(4000 * 3072, dtype=np.uint32).astype(np.uint8).reshape(4000, 3072)
    y = np.arange(4000) % 1000
    parts = (("train", x, y) if number else ("test", x[:10], y[:10]) for number in range(18))
    task = Task.parse("imagenet32")
    shelf.write_shelf(task.folder(), parts, task.form, {})
    size = (task.folder() / "train.npy").stat().st_size
    growth = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout
    assert size > 200e6
    assert int(growth) * 1024 < 0.05 * size
