"""Crops of two photographs that ship with scikit-learn; the class is the part of the photograph."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.tasks import Batch, Task

NAMES = ("china.jpg", "flower.jpg")
HEIGHT, WIDTH, CHANNELS = 427, 640, 3


class Photos(Task):
    """Natural images without a download, for the studies of redman2025 (Sec. 3) that need real ones.

    Each photograph is cut into `rows` × `columns` cells, and each cell is a class. A training crop of side × side
    pixels lies anywhere in the upper part of its cell, a held-out crop anywhere in the lowest `held` rows of pixels:
    they share no pixel, but neighbouring regions look alike, so this is easier than a test on new photographs.
    Then x = (grey level − μ)/s with μ and s of each channel over all pixels that training can see.
    Shapes: x is (n, 3·side²), channel-major; y is (n,). The photographs are JPEGs: their finest detail is lost, and
    another decoder may change the last bit of a pixel.

    >>> task = Photos(side=16)
    >>> task.shape, task.classes, task.sample(4, generator=torch.Generator().manual_seed(0)).x.shape
    ((3, 16, 16), 48, torch.Size([4, 768]))
    """

    side: int = Field(default=32, ge=2, description="pixels along an edge of a crop")
    rows: int = Field(default=4, ge=1, description="cells of a photograph from top to bottom")
    columns: int = Field(default=6, ge=1, description="cells of a photograph from left to right")
    held: int = Field(default=40, ge=2, description="rows of pixels of each cell reserved for held-out crops")

    @model_validator(mode="after")
    def _check_room(self) -> "Photos":
        height, width = self._cell
        if self.held < self.side or height - self.held < self.side or width < self.side:
            raise UsageError(
                f"crops of side {self.side} do not fit: a cell is {height} × {width} pixels, and both its lowest "
                f"{self.held} rows (held) and the rest must have room for one; use a smaller side or fewer cells"
            )
        return self

    @property
    def _cell(self) -> tuple[int, int]:
        return HEIGHT // self.rows, WIDTH // self.columns

    @property
    def shape(self) -> tuple[int, ...]:
        return (CHANNELS, self.side, self.side)

    @property
    def classes(self) -> int:
        return len(NAMES) * self.rows * self.columns

    @property
    def levels(self) -> tuple[Tensor, Tensor]:
        mean, deviation = (part.repeat_interleave(self.side**2) for part in self._moments)
        return -mean / deviation, (255 - mean) / deviation

    @property
    def _moments(self) -> tuple[Tensor, Tensor]:
        return _measure_channels(self.rows, self.columns, self.held)

    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        return self._crop(n, 0, self._cell[0] - self.held, generator)

    def held_out(self, n: int, *, generator: torch.Generator) -> Batch:
        """Crops of the lowest `held` rows of pixels of each cell."""
        return self._crop(n, self._cell[0] - self.held, self._cell[0], generator)

    def _crop(self, n: int, top: int, bottom: int, generator: torch.Generator) -> Batch:
        """Crops between two rows of pixels of their cells."""
        height, width = self._cell
        y = torch.randint(self.classes, (n,), generator=generator)
        down = torch.randint(top, bottom - self.side + 1, (n,), generator=generator)
        right = torch.randint(width - self.side + 1, (n,), generator=generator)
        photo, cell = y // (self.rows * self.columns), y % (self.rows * self.columns)
        down, right = down + height * (cell // self.columns), right + width * (cell % self.columns)
        windows = _read_photos().unfold(2, self.side, 1).unfold(3, self.side, 1)
        pixels = windows[photo, :, down, right]
        mean, deviation = (part[:, None, None] for part in self._moments)
        return Batch(((pixels.float() - mean) / deviation).flatten(1), y)


@cache
def _read_photos() -> Tensor:
    """The photographs, (2, 3, 427, 640), uint8."""
    from PIL import Image

    spec = find_spec("sklearn")  # importing it would take a second
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "datasets" / "images"
    photos = np.stack([np.asarray(Image.open(folder / name).convert("RGB")) for name in NAMES])
    return torch.from_numpy(photos).permute(0, 3, 1, 2).contiguous()


@cache
def _measure_channels(rows: int, columns: int, held: int) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each channel over the pixels of training crops, shape (3,)."""
    height, width = HEIGHT // rows, WIDTH // columns
    inside = _read_photos()[..., : rows * height, : columns * width].double()
    seen = inside.unflatten(2, (rows, height))[:, :, :, : height - held]
    return seen.mean((0, 2, 3, 4)).float(), seen.std((0, 2, 3, 4), correction=0).float()
