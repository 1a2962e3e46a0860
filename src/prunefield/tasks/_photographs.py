"""Photographs of any size, reduced to what crops of them need."""

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from prunefield.core.errors import UsageError
from prunefield.data.albums import Album, Photograph
from prunefield.tasks._pictures import list_channels

HELD = 3  # the last third of a photograph is held out if it is a class of its own


@lru_cache(maxsize=8)
def open_album(folder: Path) -> Album:
    """An album, opened once per process."""
    return Album(folder)


def cut_photograph(image: Any, name: str, split: str, label: int, side: int, smallest: float) -> Iterator[Photograph]:
    """An image of Pillow as one photograph of `split` or, if that is empty, as one of each split.

    It is reduced by the largest whole number for which the smallest crop still has side × side pixels.
    """
    parts = {split: image} if split else _split_photograph(image)
    reference = min(min(part.size) for part in parts.values())
    if reference < side:
        what = "" if split else f" and 1/{HELD} of its longer edge for held-out crops"
        raise UsageError(
            f"{name} has {image.width} × {image.height} pixels, too few for crops of {side} × {side}{what}; use a "
            "smaller side or remove it"
        )
    factor = max(1, reference // math.ceil(side / smallest))
    for own, part in parts.items():
        reduced = part.reduce(factor) if factor > 1 else part
        yield Photograph(own, list_channels(reduced), reference // factor, label)


def _split_photograph(image: Any) -> dict[str, Any]:
    """The first part for training and the last third, along the longer edge."""
    width, height = image.size
    if width >= height:
        cut = width - width // HELD
        return {"train": image.crop((0, 0, cut, height)), "test": image.crop((cut, 0, width, height))}
    cut = height - height // HELD
    return {"train": image.crop((0, 0, width, cut)), "test": image.crop((0, cut, width, height))}
