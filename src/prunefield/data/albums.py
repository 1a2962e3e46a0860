"""Albums: shelves of images that have different sizes, from which a task reads the lines of pixels that it needs.

NAME/train.npy  test.npy                all pixels one after the other, (bytes,), uint8; channels × height × width each
NAME/train-edges.npy  test-edges.npy    height, width and reference of each image, int64
NAME/train-labels.npy  test-labels.npy  int16
NAME/about.json                         as that of a shelf
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from prunefield.core.errors import UsageError
from prunefield.data.shelf import LABELS, Bytes, Shape, Shelf, read_about, write_header

SPLITS = ("train", "test")


class Photograph(NamedTuple):
    """An image for an album: `pixels` (channels, height, width), uint8, and the edge of which crops are a fraction."""

    split: str
    pixels: np.ndarray
    reference: int
    label: int


def write_photographs(folder: Path, photographs: Iterable[Photograph], form: Shape) -> dict[str, int]:
    """Writes images one by one, so that memory never holds more than one; returns how many."""
    if form.classes > LABELS:
        raise UsageError(f"there are {form.classes} classes; the maximum is {LABELS}")
    edges: dict[str, list[tuple[int, int, int]]] = {split: [] for split in SPLITS}
    labels: dict[str, list[int]] = {split: [] for split in SPLITS}
    files: dict[str, Any] = {split: (folder / f"{split}.npy").open("wb") for split in SPLITS}
    try:
        for file in files.values():
            write_header(file, np.dtype(np.uint8), (0,))
        for split, pixels, reference, label in photographs:
            files[split].write(np.ascontiguousarray(pixels).data)
            edges[split].append((pixels.shape[1], pixels.shape[2], reference))
            labels[split].append(label)
        for split, file in files.items():
            if not labels[split]:
                raise UsageError(f"there are no {'training' if split == 'train' else 'test'} images")
            sizes = np.asarray(edges[split])
            file.seek(0)
            write_header(file, np.dtype(np.uint8), (form.shape[0] * int((sizes[:, 0] * sizes[:, 1]).sum()),))
            np.save(folder / f"{split}-edges.npy", sizes)
            np.save(folder / f"{split}-labels.npy", np.asarray(labels[split], np.int16))
    finally:
        for file in files.values():
            file.close()
    return {split: len(labels[split]) for split in SPLITS}


class Lines(Bytes):
    """The images of one file of an album; `edges` (n, 3) are the height, the width and the reference of each."""

    def __init__(self, path: Path, edges: np.ndarray, channels: int) -> None:
        sizes = edges[:, 0] * edges[:, 1]
        super().__init__(path, (channels * int(sizes.sum()),))
        self.edges, self.channels = edges, channels
        self._starts = channels * (np.cumsum(sizes) - sizes)

    def take(self, rows: np.ndarray, top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
        """The pixels of images at `rows`, channel by channel, in the lines from `top` to before `bottom` of each."""
        wide = self.edges[rows, 1]
        taken = np.empty(self.channels * int(((bottom - top) * wide).sum()), np.uint8)
        done = 0
        for row, first, last in zip(rows.tolist(), top.tolist(), bottom.tolist(), strict=True):
            high, width = self.edges[row, :2].tolist()
            size = (last - first) * width
            for channel in range(self.channels):
                self.read(taken[done : done + size], int(self._starts[row]) + (channel * high + first) * width)
                done += size
        return taken


class Album(Shelf):
    """A converted set of images of different sizes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.about = read_about(folder)
        self.rows = {}
        self.labels = {split: self._load(f"{split}-labels.npy", (self.about[split],)) for split in SPLITS}
        for split in SPLITS:
            edges = self._load(f"{split}-edges.npy", (self.about[split], 3))
            if edges.dtype != np.int64 or not len(edges) or edges.min() < 1 or edges.max() >= 1 << 20:
                path = folder / f"{split}-edges.npy"
                raise UsageError(
                    f"{path} is damaged (it does not hold sizes of images); delete {folder} and get it again"
                )
            self.rows[split] = Lines(folder / f"{split}.npy", edges, self.about["shape"][0])
        self._check_labels()
