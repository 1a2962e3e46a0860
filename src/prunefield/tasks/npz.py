"""Your own arrays in a .npz file: inputs x, labels y."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pydantic import Field

from prunefield.core.errors import UsageError
from prunefield.data import shelf
from prunefield.data.arrays import read_arrays
from prunefield.tasks._own import EVERY, Own


class Npz(Own):
    """Your own arrays as data for redman2025: x of shape (n, …), y of shape (n,), and x_test, y_test if you have them.

    Without x_test, every fifth example of a class is held out. uint8 arrays are taken as grey levels, others become
    float32. One example of x has the shape of the field, so images are (n, channels, height, width). Labels may be any
    whole numbers or text, and are numbered in sorted order.
    """

    path: str = Field(default="images.npz", description="the file; if relative, inside the data folder")

    def files(self) -> list[Path]:
        return [self.origin]

    def read(self) -> tuple[shelf.Shape, Iterator[shelf.Part]]:
        arrays = read_arrays(self.origin, ("x", "y"), ("x_test", "y_test"), width=4)
        x = self._check("x", arrays["x"], arrays["y"])
        names, y = np.unique(arrays["y"], return_inverse=True)
        if len(names) < 2:
            raise UsageError(f"{self.origin}: y needs at least two classes, not {len(names)}")
        if "y_test" in arrays and "x_test" not in arrays:
            raise UsageError(f"{self.origin} has y_test but no x_test")
        if "x_test" in arrays:
            labels = arrays.get("y_test", np.zeros(0))
            test = self._check("x_test", arrays["x_test"], labels)
            if not np.isin(labels, names).all() or test.shape[1:] != x.shape[1:] or test.dtype != x.dtype:
                raise UsageError(f"{self.origin}: x_test and y_test must have the shape, type and classes of x and y")
            pairs = {"train": (x, y), "test": (test, np.searchsorted(names, labels))}
        else:
            rank = np.zeros(len(y), dtype=np.int64)
            for label in range(len(names)):
                rank[y == label] = np.arange((y == label).sum())
            held = rank % EVERY == EVERY - 1
            if not held.any():
                raise UsageError(
                    f"{self.origin} has no x_test, and no class has the {EVERY} examples needed to hold one out"
                )
            pairs = {"train": (x[~held], y[~held]), "test": (x[held], y[held])}
        parts = ((split, inputs.reshape(len(inputs), -1), labels) for split, (inputs, labels) in pairs.items())
        return shelf.Shape(x.shape[1:], len(names)), parts

    def _check(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.ndim < 2 or x.dtype.kind not in "buif" or y.shape != (len(x),) or y.dtype.kind not in "buifUS":
            raise UsageError(
                f"{self.origin}: {name} must be numbers of shape (n, …) with n labels, not {x.dtype} of {x.shape} "
                f"and labels of {y.dtype} of {y.shape}"
            )
        if not x.size:
            raise UsageError(f"{self.origin}: {name} is empty, of shape {x.shape}")
        if x.dtype.kind == "f" and not (np.abs(x) <= np.finfo(np.float32).max).all():
            raise UsageError(f"{self.origin}: {name} contains values that are not finite in float32")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise UsageError(f"{self.origin}: the labels of {name} are not all finite")
        return x
