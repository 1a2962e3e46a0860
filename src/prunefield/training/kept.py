"""The kept weights of a masked matrix, without the others."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from prunefield.core.errors import UsageError

REGISTERS = 5  # in a tile of the batch; sums and inputs of a tile must fit into sixteen
FEW = 16  # kept weights of a row that are worth a block of columns
SMALLEST, LARGEST = 128, 1024  # columns of a block


@dataclass(frozen=True)
class Kept:
    """The kept weights of a matrix (rows, columns), sorted by block of columns, row and column.

    `columns` (kept,) are their columns, and `ends` (blocks, rows) is where each row of a block ends.

    >>> kept = Kept.of(torch.eye(3).bool())
    >>> kept.columns.tolist(), kept.ends.tolist(), kept.gather(2 * torch.eye(3)).tolist()
    ([0, 1, 2], [[1, 2, 3]], [2.0, 2.0, 2.0])
    """

    shape: tuple[int, int]
    columns: Tensor
    ends: Tensor

    def __post_init__(self) -> None:
        """Refuses places outside of the matrix, in another order or twice: loops without checks rely on them."""
        rows, columns = self.shape
        ends, places = self.ends.numpy(), self.columns.numpy()
        counts = np.diff(ends.ravel(), prepend=0)
        if ends.ndim != 2 or ends.shape[1] != rows or (counts < 0).any() or counts.sum() != len(places):
            raise UsageError(f"the ends of rows must rise to {len(places)} and have the shape (blocks, {rows})")
        if len(places) == 0:
            return
        if places.min() < 0 or places.max() >= columns:
            raise UsageError(f"columns must be between 0 and {columns - 1}")
        row = np.repeat(np.tile(np.arange(rows), len(ends)), counts)
        block = np.repeat(np.arange(len(ends)), counts.reshape(ends.shape).sum(1))
        flat = row * columns + places
        in_row = np.lexsort((block, row)) if len(ends) > 1 else slice(None)
        if (np.diff(flat[in_row]) <= 0).any():
            raise UsageError(
                "kept weights must be sorted by block of columns, row and column, and none may occur twice"
            )

    @classmethod
    def of(cls, mask: Tensor) -> "Kept":
        """The places that a boolean matrix keeps."""
        if mask.ndim != 2 or mask.dtype != torch.bool:
            raise UsageError(f"a mask of weights is a boolean matrix, not {mask.dtype} of shape {tuple(mask.shape)}")
        kept = mask.cpu().numpy()
        rows, columns = kept.shape
        i, j = np.nonzero(kept)
        size = choose_block(len(i) / max(kept.size, 1))
        block = j // size
        order = np.argsort(block, kind="stable")
        counts = np.bincount(block * rows + i, minlength=max(-(-columns // size), 1) * rows)
        return cls(
            (rows, columns),
            torch.from_numpy(j[order].astype(np.uint16 if columns <= 2**16 else np.int32)),
            torch.from_numpy(np.cumsum(counts).reshape(-1, rows)),
        )

    def __deepcopy__(self, memo: object) -> "Kept":
        return self  # it never changes

    def mask(self) -> Tensor:
        """The boolean matrix (rows, columns)."""
        found = np.zeros(self.shape, bool)
        ends = self.ends.numpy()
        rows = np.tile(np.arange(self.shape[0]), len(ends))
        found[np.repeat(rows, np.diff(ends.ravel(), prepend=0)), self.columns.numpy()] = True
        return torch.from_numpy(found)

    def gather(self, weight: Tensor) -> Tensor:
        """The kept weights of a matrix."""
        from prunefield.training.compact_kernels import gather_kept

        values = weight.new_empty(len(self.columns))
        gather_kept(*self._arrays(values), weight.detach().contiguous().numpy())
        return values

    def scatter_(self, weight: Tensor, values: Tensor) -> None:
        """Writes kept weights into a matrix; the others stay as they are."""
        from prunefield.training.compact_kernels import scatter_kept

        scatter_kept(*self._arrays(values), weight.detach().numpy())

    def _arrays(self, values: Tensor) -> tuple[np.ndarray, ...]:
        return values.detach().numpy(), self.columns.numpy(), self.ends.numpy()


def choose_block(density: float) -> int:
    """The columns of a block: few enough for the fastest cache, but enough for `FEW` kept weights in a row.

    >>> choose_block(0.5), choose_block(0.05), choose_block(0.0)
    (128, 320, 1024)
    """
    return int(min(max(FEW / max(density, 1e-9), SMALLEST), LARGEST))


def choose_tiles(batch: int) -> tuple[int, int]:
    """How many tiles a batch is cut into, and the registers of eight numbers that each of them fills.

    >>> choose_tiles(40), choose_tiles(41), choose_tiles(128)
    ((1, 5), (2, 3), (4, 4))
    """
    tiles = max(-(-batch // (8 * REGISTERS)), 1)
    return tiles, max(-(-batch // (8 * tiles)), 1)
