"""Your own photographs, one folder for each class, or an endless stream of random crops of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.core.files import cannot_read
from prunefield.core.sizes import check_claim, count_stored
from prunefield.data import albums, shelf
from prunefield.tasks._crops import BLOCK, Cropping
from prunefield.tasks._own import EVERY, Own
from prunefield.tasks._photographs import cut_photograph, open_album
from prunefield.tasks._pictures import list_channels, open_image, scale_square
from prunefield.tasks._squares import Planes, cut_squares

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}
SPLITS = ("train", "test")
HELD = ("test", "val", "valid", "validation")  # names of the folder of test images, the first that is there


class Folder(Cropping, Own):
    """Your own images as data for redman2025: `path/CLASS/FILE`, or `path/train/CLASS/FILE` and `path/test/CLASS/FILE`.

    Without a folder test, one named val, valid or validation serves. Classes are numbered in the order of their
    names. Without train and test, every fifth file of a class is held out.
    Each image is cropped to its central square and scaled to side × side pixels. The first file of every class comes
    first, then the second, so that `limit` keeps classes balanced.

    With `crops` photographs of any size become an endless stream of squares of them. With label = "photograph" every
    image file in `path` is a class of its own: crops for training lie in the first two thirds of its longer
    edge and held-out crops in the last third, which share no pixel, and sizes are fractions of the shorter edge of
    that third. Photographs are stored at the size that crops need, reduced by averages over k × k pixels.
    """

    path: str = Field(default="images", description="the folder; if relative, inside the data folder")
    side: int = Field(default=32, ge=2, le=512, description="pixels along an edge")
    grey: bool = Field(default=False, description="one channel instead of three")
    smallest: float = Field(default=0.25, gt=0, le=1, description="smallest crop, as a fraction of the shorter edge")
    label: Literal["folder", "photograph"] = Field(
        default="folder", description="label of a crop: the folder or the photograph that it comes from"
    )

    @model_validator(mode="after")
    def _check_label(self) -> "Folder":
        if self.label == "photograph" and not self.crops:
            raise UsageError('label = "photograph" needs crops = true, as a photograph is one example otherwise')
        return self

    @property
    def _free(self) -> set[str]:
        return {"limit", "standardise", "largest", "flips"} | (set() if self.crops else {"smallest"})

    def files(self) -> list[Path]:
        if not self.origin.is_dir():
            raise UsageError(f"{self.origin} is not a folder; a folder has images of each class, CLASS/FILE")
        return sorted(_walk_images(self.origin))

    def read(self) -> tuple[shelf.Shape, Iterator[Any]]:
        channels = 1 if self.grey else 3
        if self.label == "photograph":
            items = [(rank, rank, file) for rank, file in enumerate(self.files())]
            classes = len(items)
            if classes < 2:
                raise UsageError(f"{self.origin} needs at least two photographs (found: {classes})")
            found = {"": items}
        else:
            found, classes = self._sort_files()
        form = shelf.Shape((channels, self.side, self.side), classes)
        return form, self._read_photographs(found) if self.crops else self._read_squares(found)

    def _sort_files(self) -> tuple[dict[str, list[tuple[int, int, Path]]], int]:
        """Rank in its class, label and path of each training and test file, and the number of classes."""
        held = next((name for name in HELD if (self.origin / name).is_dir()), HELD[0])
        tops = {"train": self.origin / "train", "test": self.origin / held}
        given = all(top.is_dir() for top in tops.values())
        found = {split: _collect_images(top if given else self.origin) for split, top in tops.items()}
        classes = sorted(found["train"])
        if len(classes) < 2 or sorted(found["test"]) != classes:
            hint = '; with crops = true, label = "photograph" needs no classes' if not given else ""
            raise UsageError(
                f"{self.origin} needs folders of images for at least two classes, the same in train and test "
                f"(found: {', '.join(classes) or 'none'}){hint}"
            )
        parts: dict[str, list[tuple[int, int, Path]]] = {split: [] for split in SPLITS}
        for label, kind in enumerate(classes):
            for split in SPLITS:
                for rank, file in enumerate(found[split][kind]):
                    if given or (rank % EVERY == EVERY - 1) == (split == "test"):
                        parts[split].append((rank, label, file))
            if not given and (has := len(found["train"][kind])) < EVERY:
                raise UsageError(
                    f"{self.origin / kind} has {has} images; at least {EVERY} are needed to hold one out, unless there "
                    "are folders train and test"
                )
        return {split: sorted(items) for split, items in parts.items()}, len(classes)

    def _read_image(self, file: Path) -> Any:
        try:
            check_claim(file, file.stat().st_size, count_stored(file))
            content = file.read_bytes()
        except OSError as error:
            raise cannot_read(file, error) from None
        return open_image(content, str(file), "L" if self.grey else "RGB", upright=True)

    def _read_square(self, file: Path) -> np.ndarray:
        image = self._read_image(file)
        if min(image.size) < 2:  # it would become one colour
            raise UsageError(f"{file} has {image.width} × {image.height} pixels; remove it")
        return list_channels(scale_square(image, self.side))

    def _read_squares(self, found: dict[str, list[tuple[int, int, Path]]]) -> Iterator[shelf.Part]:
        for split, items in found.items():
            for begin in range(0, len(items), BLOCK):
                block = items[begin : begin + BLOCK]
                images = [self._read_square(file) for _, _, file in block]
                inputs = np.stack([image.reshape(-1) for image in images])
                yield split, inputs, np.asarray([label for _, label, _ in block])

    def _read_photographs(self, found: dict[str, list[tuple[int, int, Path]]]) -> Iterator[albums.Photograph]:
        for split, items in found.items():
            for _, label, file in items:
                yield from cut_photograph(self._read_image(file), str(file), split, label, self.side, self.smallest)

    def _convert(self, folder: Path, parts: Iterator[Any], form: shelf.Shape, about: dict[str, Any]) -> None:
        shelf.write_shelf(folder, parts, form, about, albums.write_photographs if self.crops else None)

    def _open_copy(self, folder: Path) -> shelf.Shelf:
        return open_album(folder) if self.crops else super()._open_copy(folder)

    def _list_edges(self, rows: Tensor, split: str) -> Tensor:
        lines = self._shelf.rows[split]
        assert isinstance(lines, albums.Lines)
        return torch.from_numpy(lines.edges[rows.numpy()][:, [1, 0, 2]]).double()

    def _cut(self, rows: Tensor, split: str, squares: Tensor) -> Tensor:
        lines = self._shelf.rows[split]
        assert isinstance(lines, albums.Lines)
        places, edges = rows.numpy(), lines.edges[rows.numpy()]
        top = squares[:, 1].long().numpy()
        bottom = np.minimum(np.ceil((squares[:, 1] + squares[:, 2]).numpy()).astype(np.int64) + 1, edges[:, 0])
        shifted = squares.clone()
        shifted[:, 1] -= torch.from_numpy(top)
        images = Planes(lines.take(places, top, bottom), bottom - top, edges[:, 1].copy(), lines.channels)
        return cut_squares(images, shifted, self.side)


def _collect_images(top: Path) -> dict[str, list[Path]]:
    """The image files of each class."""
    folders = sorted(path for path in _list_visible(top) if path.is_dir())
    found = {path.name: sorted(filter(_is_named_image, _list_visible(path))) for path in folders}
    return {name: files for name, files in found.items() if files}


def _walk_images(top: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """The image files in a folder and in those inside of it, also behind links, but not around in circles."""
    if (place := top.resolve()) not in above:
        for path in _list_visible(top):
            if path.is_dir():
                yield from _walk_images(path, above | {place})
            elif _is_named_image(path) and path.is_file():
                yield path


def _list_visible(folder: Path) -> list[Path]:
    """What is in a folder, but for what editors and systems hide in it, such as `.ipynb_checkpoints` and `._1.png`."""
    try:
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise cannot_read(folder, error) from None


def _is_named_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES
