"""Arrays of your own in a .npz file: inputs x, labels y."""

from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from pydantic import Field

from prunefield.data import shelf
from prunefield.errors import UsageError
from prunefield.tasks._own import EVERY, Own


class Npz(Own):
    """Your own arrays as data for redman2025: x of shape (n, …), y of shape (n,), and x_test, y_test if you have them.

    Without x_test, every fifth example of a class is held out. uint8 arrays are taken as grey levels, others become
    float32; one example of x has the shape of the field, so images are (n, channels, height, width). Labels may be any
    whole numbers or text; they are numbered in their order.
    """

    path: str = Field(default="images.npz", description="the file; if relative, inside the data folder")

    def files(self) -> list[Path]:
        return [self.origin]

    def read(self) -> tuple[shelf.Shape, Iterator[shelf.Part]]:
        try:
            with np.load(self.origin, allow_pickle=False) as loaded:  # a pickle could execute code
                arrays = {name: loaded[name] for name in loaded.files}
        except (OSError, ValueError, EOFError, BadZipFile, AttributeError) as error:
            raise UsageError(f"{self.origin} is no .npz file that is safe to read ({error})") from None
        if not {"x", "y"} <= set(arrays):
            raise UsageError(f"{self.origin} needs arrays x and y (it has: {', '.join(arrays) or 'none'})")
        names, y = np.unique(arrays["y"], return_inverse=True)
        x = self._check("x", arrays["x"], arrays["y"])
        if len(names) < 2:
            raise UsageError(f"{self.origin}: y needs at least two classes, got {len(names)}")
        if "x_test" in arrays:
            labels = arrays.get("y_test", np.zeros(0))
            test = self._check("x_test", arrays["x_test"], labels)
            if not np.isin(labels, names).all() or test.shape[1:] != x.shape[1:] or test.dtype != x.dtype:
                raise UsageError(f"{self.origin}: x_test and y_test must be of the shape, type and classes of x and y")
            pairs = {"train": (x, y), "test": (test, np.searchsorted(names, labels))}
        else:
            rank = np.zeros(len(y), dtype=np.int64)
            for label in range(len(names)):
                rank[y == label] = np.arange((y == label).sum())
            held = rank % EVERY == EVERY - 1
            pairs = {"train": (x[~held], y[~held]), "test": (x[held], y[held])}
        parts = ((split, inputs.reshape(len(inputs), -1), labels) for split, (inputs, labels) in pairs.items())
        return shelf.Shape(x.shape[1:], len(names)), parts

    def _check(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.ndim < 2 or x.dtype.kind not in "buif" or y.shape != (len(x),):
            raise UsageError(
                f"{self.origin}: {name} must be numbers of shape (n, …) with n labels, got {x.dtype} of {x.shape} "
                f"and labels of shape {y.shape}"
            )
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise UsageError(f"{self.origin}: {name} holds values that are not finite")
        return x
