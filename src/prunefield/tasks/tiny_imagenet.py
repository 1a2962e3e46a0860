"""Tiny ImageNet: 100,000 training and 10,000 validation images of 64 × 64 pixels in 200 classes, or crops of them."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.data import shelf
from prunefield.data.bundles import Bundle
from prunefield.tasks._crops import BLOCK, Cropping
from prunefield.tasks._images import Published, read_labels
from prunefield.tasks._pictures import decode_image
from prunefield.tasks._squares import Planes, cut_squares

EDGE = 64  # pixels along an edge of the originals
CLASSES = 200


class TinyImagenet(Cropping, Published):
    """Tiny ImageNet (bar2023, Sec. 5); with side = 32 and `crops` the stand-in for ImageNet32 (redman2025, Sec. 3).

    Classes are in the order of their names, and the validation images are the test images. Image 0 of every class
    comes first, then image 1 and so on, so that `limit` keeps classes balanced.

    >>> TinyImagenet().shape, TinyImagenet(side=32).shape, TinyImagenet(crops=True).shape, TinyImagenet().classes
    ((3, 64, 64), (3, 32, 32), (3, 32, 32), 200)
    """

    side: int = Field(default=EDGE, ge=1, le=EDGE, description="pixels along an edge; with crops 32 unless given")
    categories: int = Field(
        default=CLASSES,
        ge=2,
        le=CLASSES,
        description="use only the first classes, this many of them; μ and s stay those of all",
        exclude_if=lambda value: value == CLASSES,  # it came later: ids of runs without it stay as they are
    )

    form: ClassVar = shelf.Shape((3, EDGE, EDGE), CLASSES)
    counts: ClassVar = (100_000, 10_000)
    licence: ClassVar = "ImageNet terms: non-commercial research and education only"
    size: ClassVar = 248_100_043
    address: ClassVar = "http://cs231n.stanford.edu/tiny-imagenet-200.zip"
    sha256: ClassVar = "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821"

    @model_validator(mode="before")
    @classmethod
    def _choose_side(cls, settings: Any) -> Any:
        if isinstance(settings, dict) and settings.get("side") is None:
            return {**settings, "side": EDGE // 2 if settings.get("crops") else EDGE}
        return settings

    @model_validator(mode="after")
    def _check_side(self) -> "TinyImagenet":
        if self.crops and self.side > EDGE * self.smallest:
            raise UsageError(
                f"side ({self.side}) must be at most {EDGE} × smallest = {EDGE * self.smallest:g}, as crops are not "
                "enlarged; use a smaller side or a larger smallest"
            )
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.side, self.side)

    @property
    def classes(self) -> int:
        return self.categories

    def labels(self, *, training: bool) -> Tensor:
        if self.categories == CLASSES:
            return super().labels(training=training)
        found = read_labels(self._shelf, "train" if training else "test")
        found = found[found < self.categories]
        return self.cut_to_limit(found) if training else found

    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        return super().take(self._find_rows(rows, "train" if training else "test"), training=training)

    def _crop(self, rows: Tensor, split: str, generator: torch.Generator) -> Tensor:
        return super()._crop(self._find_rows(rows, split), split, generator)

    def _find_rows(self, rows: Tensor, split: str) -> Tensor:
        """The places in the converted files of the images at `rows` among those of the chosen classes."""
        if self.categories == CLASSES:
            return rows
        return (read_labels(self._shelf, split) < self.categories).nonzero().squeeze(1)[rows]

    def _list_edges(self, rows: Tensor, split: str) -> Tensor:
        return torch.full((len(rows), 3), EDGE, dtype=torch.float64)

    def _cut(self, rows: Tensor, split: str, squares: Tensor) -> Tensor:
        edge = np.full(len(rows), EDGE)
        images = Planes(self._shelf.rows[split].take(rows.numpy()).reshape(-1), edge, edge, 3)
        return cut_squares(images, squares, self.side)

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
    for begin in range(0, len(items), BLOCK):
        block = items[begin : begin + BLOCK]
        images = []
        for name, _ in block:
            image = decode_image(bundle.read(name), name, "RGB")
            if image.shape != (3, EDGE, EDGE):
                raise UsageError(f"{name} has {image.shape[2]} × {image.shape[1]} pixels, expected 64 × 64")
            images.append(image.reshape(-1))
        yield split, np.stack(images), np.asarray([label for _, label in block])
