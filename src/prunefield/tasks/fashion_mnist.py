"""Fashion-MNIST: 60,000 training and 10,000 test images of 28 × 28 pixels, ten kinds of clothing."""

import gzip
import math
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from prunefield.data import shelf
from prunefield.data.bundles import Bundle
from prunefield.data.download import Tell
from prunefield.errors import RunError, UsageError
from prunefield.tasks._images import Published

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
FILES = {"train": "train", "test": "t10k"}


class FashionMnist(Published):
    """Fashion-MNIST in the official order, read from its four IDX files (bar2023, Sec. 5).

    Taken from where Debian's package `dataset-fashion-mnist` puts them, or from a folder of your own with `--from`.

    >>> FashionMnist().shape, FashionMnist().classes
    ((1, 28, 28), 10)
    """

    form: ClassVar = shelf.Shape((1, 28, 28), 10)
    licence: ClassVar = "MIT, Zalando SE"
    size: ClassVar = 30_878_551

    @classmethod
    def fetch(cls, downloads: Path, tell: Tell) -> Path:
        if not DEBIAN.is_dir():
            raise RunError(
                f"fashion-mnist is not in {DEBIAN}; on Debian or Ubuntu: apt-get install dataset-fashion-mnist; "
                "elsewhere download the four .gz files and name their folder with --from"
            )
        return DEBIAN

    @classmethod
    def read(cls, bundle: Bundle) -> Iterator[shelf.Part]:
        for split, begin in FILES.items():
            images = read_idx(bundle, f"{begin}-images-idx3-ubyte")
            if images.shape[1:] != cls.form.shape[1:]:
                raise UsageError(f"{begin}-images-idx3-ubyte holds images of {images.shape[1:]}, expected 28 × 28")
            yield (
                split,
                images.reshape(len(images), -1),
                read_idx(bundle, f"{begin}-labels-idx1-ubyte").astype(np.int64),
            )


def read_idx(bundle: Bundle, name: str) -> np.ndarray:
    """An IDX file of bytes, plain or gzipped: 0, 0, 8 (bytes), the number of axes, their lengths, the bytes."""
    zipped = bundle.find(f"{name}.gz") is not None
    content = bundle.read(f"{name}.gz" if zipped else name)
    try:
        content = gzip.decompress(content) if zipped else content
    except (OSError, EOFError) as error:
        raise UsageError(f"{name}.gz is damaged ({error}); fetch it again") from None
    axes = content[3] if len(content) > 3 else 0
    if content[:3] != b"\0\0\x08" or not 1 <= axes <= 3 or len(content) < 4 + 4 * axes:
        raise UsageError(f"{name} is no IDX file of bytes: it begins with {content[:4]!r}")
    shape = np.frombuffer(content, ">u4", axes, 4).tolist()
    if len(content) != 4 + 4 * axes + math.prod(shape):
        raise UsageError(f"{name} is not whole: {len(content)} bytes for the shape {shape}")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
