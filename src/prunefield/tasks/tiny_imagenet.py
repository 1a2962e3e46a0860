"""Tiny ImageNet: 100,000 training and 10,000 validation images of 64 × 64 pixels in 200 classes."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from prunefield.core.errors import UsageError
from prunefield.data import shelf
from prunefield.data.bundles import Bundle
from prunefield.tasks._images import Published, decode_image

BLOCK = 1000  # images in memory at a time


class TinyImagenet(Published):
    """Tiny ImageNet (bar2023, Sec. 5); classes are in the order of their names, and the validation images are the test
    images.

    Image 0 of every class comes first, then image 1 and so on, so that `limit` keeps classes balanced.

    >>> TinyImagenet().shape, TinyImagenet().classes
    ((3, 64, 64), 200)
    """

    form: ClassVar = shelf.Shape((3, 64, 64), 200)
    licence: ClassVar = "ImageNet terms: non-commercial research and education only"
    size: ClassVar = 248_100_043
    address: ClassVar = "http://cs231n.stanford.edu/tiny-imagenet-200.zip"
    sha256: ClassVar = "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821"

    @classmethod
    def read(cls, bundle: Bundle) -> Iterator[shelf.Part]:
        classes = {name: label for label, name in enumerate(sorted(_read_text(bundle, "wnids.txt").split()))}
        train: list[tuple[int, int, str]] = []
        for name in bundle.names:
            parts = name.split("/")
            if parts[-4:-3] == ["train"] or parts[:1] == ["train"]:
                stem = parts[-1].rpartition(".")[0]
                if parts[-2] == "images" and parts[-3] in classes and stem.rpartition("_")[2].isdigit():
                    train.append((int(stem.rpartition("_")[2]), classes[parts[-3]], name))
        yield from _decode_images(bundle, "train", [(name, label) for _, label, name in sorted(train)])
        test = []
        for line in _read_text(bundle, "val/val_annotations.txt").splitlines():
            name, wnid, *_ = [*line.split("\t"), ""]
            if wnid not in classes:
                raise UsageError(f"val_annotations.txt gives {name!r} the class {wnid!r}, which is not in wnids.txt")
            test.append((f"val/images/{name}", classes[wnid]))
        yield from _decode_images(bundle, "test", test)


def _read_text(bundle: Bundle, end: str) -> str:
    try:
        return bundle.read(end).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{end} in {bundle.path} is not text ({error})") from None


def _decode_images(bundle: Bundle, split: str, items: list[tuple[str, int]]) -> Iterator[shelf.Part]:
    full = {name.partition("/val/")[2]: name for name in bundle.names if "/val/" in name}  # faster than find()
    for begin in range(0, len(items), BLOCK):
        block = items[begin : begin + BLOCK]
        images = []
        for name, _ in block:
            image = decode_image(bundle.read(full.get(name.removeprefix("val/"), name)), name, "RGB")
            if image.shape != (3, 64, 64):
                raise UsageError(f"{name} has {image.shape[2]} × {image.shape[1]} pixels, expected 64 × 64")
            images.append(image.reshape(-1))
        yield split, np.stack(images), np.asarray([label for _, label in block])
