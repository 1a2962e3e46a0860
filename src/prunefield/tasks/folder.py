"""Your own image files, one folder for each class."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pydantic import Field

from prunefield.core.errors import UsageError
from prunefield.core.files import cannot_read
from prunefield.core.sizes import check_claim, count_stored
from prunefield.data import shelf
from prunefield.tasks._images import decode_image
from prunefield.tasks._own import EVERY, Own

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}
BLOCK = 1000  # images in memory at a time


class Folder(Own):
    """Your own images as data for redman2025: `path/CLASS/FILE`, or `path/train/CLASS/FILE` and `path/test/CLASS/FILE`.

    Classes are numbered in the order of their names. Without train and test, every fifth file of a class is held out.
    Each image is cropped to its central square and scaled to side × side pixels. The first file of every class comes
    first, then the second, so that `limit` keeps classes balanced.
    """

    path: str = Field(default="images", description="the folder; if relative, inside the data folder")
    side: int = Field(default=32, ge=2, le=512, description="pixels along an edge")
    grey: bool = Field(default=False, description="one channel instead of three")

    def files(self) -> list[Path]:
        return sorted(path for path in self.origin.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())

    def read(self) -> tuple[shelf.Shape, Iterator[shelf.Part]]:
        tops = {"train": self.origin / "train", "test": self.origin / "test"}
        split = all(top.is_dir() for top in tops.values())
        found = {name: _collect_images(top if split else self.origin) for name, top in tops.items()}
        classes = sorted(found["train"])
        if len(classes) < 2 or sorted(found["test"]) != classes:
            raise UsageError(
                f"{self.origin} needs folders of images for at least two classes, the same in train and test "
                f"(found: {', '.join(classes) or 'none'})"
            )
        parts = {name: [] for name in tops}
        for label, kind in enumerate(classes):
            for name in tops:
                for rank, file in enumerate(found[name][kind]):
                    if split or (rank % EVERY == EVERY - 1) == (name == "test"):
                        parts[name].append((rank, label, file))
        shape = (1 if self.grey else 3, self.side, self.side)
        return shelf.Shape(shape, len(classes)), self._decode(parts)

    def _decode(self, parts: dict[str, list[tuple[int, int, Path]]]) -> Iterator[shelf.Part]:
        for name, items in parts.items():
            items.sort()
            for begin in range(0, len(items), BLOCK):
                block = items[begin : begin + BLOCK]
                mode = "L" if self.grey else "RGB"
                images = [
                    decode_image(_read_image(file), str(file), mode, self.side).reshape(-1) for _, _, file in block
                ]
                yield name, np.stack(images), np.asarray([label for _, label, _ in block])


def _read_image(file: Path) -> bytes:
    check_claim(file, file.stat().st_size, count_stored(file))
    try:
        return file.read_bytes()
    except OSError as error:
        raise cannot_read(file, error) from None


def _collect_images(top: Path) -> dict[str, list[Path]]:
    """The image files of each class."""
    folders = sorted(path for path in top.iterdir() if path.is_dir())
    found = {path.name: sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES) for path in folders}
    return {name: files for name, files in found.items() if files}
