"""Fashion-MNIST: 60,000 training and 10,000 test images of 28 × 28 pixels, ten kinds of clothing."""

import gzip
import math
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import numpy as np

from prunefield.core.errors import RunError, UsageError
from prunefield.core.sizes import check_claim
from prunefield.data import shelf
from prunefield.data.bundles import Bundle
from prunefield.data.download import Tell
from prunefield.tasks._images import Published

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
FILES = {"train": "train", "test": "t10k"}


class FashionMnist(Published):
    """Fashion-MNIST in the official order, read from its four IDX files (bar2023, Sec. 5).

    Read from Debian's package `dataset-fashion-mnist`, or from your own folder with `--from`.

    >>> FashionMnist().shape, FashionMnist().classes
    ((1, 28, 28), 10)
    """

    form: ClassVar = shelf.Shape((1, 28, 28), 10)
    counts: ClassVar = (60_000, 10_000)
    licence: ClassVar = "MIT, Zalando SE"
    size: ClassVar = 30_878_551
    sources: ClassVar = ("debian",)

    @classmethod
    def fetch(cls, downloads: Path, tell: Tell, source: str) -> Path:
        if not DEBIAN.is_dir():
            raise RunError(
                f"fashion-mnist is not in {DEBIAN}; on Debian or Ubuntu: apt-get install dataset-fashion-mnist; "
                "elsewhere, download the four .gz files and give their folder with --from"
            )
        return DEBIAN

    @classmethod
    def read(cls, bundle: Bundle) -> Iterator[shelf.Part]:
        for split, begin in FILES.items():
            images = read_idx(bundle, f"{begin}-images-idx3-ubyte")
            if images.shape[1:] != cls.form.shape[1:]:
                raise UsageError(f"{begin}-images-idx3-ubyte contains images of {images.shape[1:]}, expected 28 × 28")
            yield (
                split,
                images.reshape(len(images), -1),
                read_idx(bundle, f"{begin}-labels-idx1-ubyte").astype(np.int64),
            )


def read_idx(bundle: Bundle, name: str) -> np.ndarray:
    """An IDX file of bytes, plain or gzipped: 0, 0, 8 (bytes), the number of axes, their lengths, the bytes."""
    zipped = bundle.find(f"{name}.gz")
    end = name if zipped is None else f"{name}.gz"
    with bundle.open(end) as plain, gzip.GzipFile(fileobj=plain) if zipped else nullcontext(plain) as file:
        head = file.read(4)
        axes = head[3] if head[:3] == b"\0\0\x08" and len(head) == 4 else 0
        lengths = file.read(4 * axes)
        if not 1 <= axes <= 3 or len(lengths) < 4 * axes:
            raise UsageError(f"{name} is not an IDX file of bytes: it begins with {head!r}")
        shape = np.frombuffer(lengths, ">u4").tolist()
        check_claim(f"{name} in {bundle.path}", math.prod(shape), bundle.count_stored(bundle.find(end) or end))
        content = file.read(math.prod(shape))
        if len(content) != math.prod(shape) or file.read(1):
            raise UsageError(f"{name} is damaged: it has too few or too many bytes for the shape {shape}")
    return np.frombuffer(content, np.uint8).reshape(shape)
