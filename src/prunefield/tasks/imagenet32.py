"""ImageNet32: 1,281,167 training and 50,000 validation images of 32 × 32 pixels in a thousand classes."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from prunefield.core.errors import RunError
from prunefield.data import shelf
from prunefield.data.bundles import Bundle
from prunefield.data.download import Tell
from prunefield.data.pickles import read_pickle
from prunefield.tasks._images import Published
from prunefield.tasks.cifar10 import check_batch

BATCHES = [*(("train", f"train_data_batch_{number}") for number in range(1, 11)), ("test", "val_data")]


class Imagenet32(Published):
    """Downsampled ImageNet, the data of redman2025 (Sec. 3 and App. B): ten training pickles and one for validation.

    The files hold labels from 1 to 1000, here 0 to 999. They are converted one by one, and training reads only
    the rows of its batches, so neither needs more memory than one file of 400 MB.

    >>> Imagenet32().shape, Imagenet32().classes
    ((3, 32, 32), 1000)
    """

    form: ClassVar = shelf.Shape((3, 32, 32), 1000)
    counts: ClassVar = (1_281_167, 50_000)
    licence: ClassVar = "ImageNet terms: non-commercial research and education only"
    size: ClassVar = 4_100_000_000

    @classmethod
    def fetch(cls, downloads: Path, tell: Tell, source: str) -> Path:
        raise RunError(
            "imagenet32 is available only to registered users of image-net.org: log in, download the train and val "
            "archives of the 32 × 32 version, unzip both into one folder and run: prunefield data get imagenet32 "
            "--from FOLDER"
        )

    @classmethod
    def read(cls, bundle: Bundle) -> Iterator[shelf.Part]:
        for split, name in BATCHES:
            with bundle.open(name) as file:
                x, y = check_batch(read_pickle(file, name), name, "labels")
            yield split, x, y - 1
