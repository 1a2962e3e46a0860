"""Shelves: data sets converted once to plain .npy files, from which training reads only the rows it needs.

NAME/train.npy  test.npy                inputs, (examples, features), uint8 grey levels or float32
NAME/train-labels.npy  test-labels.npy  int16
NAME/moments.npy                        mean and variance of each feature over the training inputs, float64
NAME/about.json                         shape, number of classes, origin, and the SHA-256 of each file; written last
"""

import json
import os
import shutil
import weakref
from collections.abc import Callable, Iterable
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock
from numpy.lib import format as npy

from prunefield.core.errors import UsageError
from prunefield.core.files import cannot, make_folder, write_whole
from prunefield.core.sizes import read_start
from prunefield.data import VARIABLE
from prunefield.data.arrays import read_arrays, read_form
from prunefield.data.download import hash_file

Part = tuple[str, np.ndarray, np.ndarray]  # "train" or "test", inputs (n, features), labels (n,)
ABOUT = "about.json"
LONGEST = 100 << 20  # bytes of about.json, which lists every file of a user's folder
LABELS = 1 << 15  # classes that int16 can number
ROWS = 64  # rows whose moments are taken at a time, to fit into the cache


class Shape(NamedTuple):
    """The shape and the number of classes of every example of a data set."""

    shape: tuple[int, ...]
    classes: int


def write_shelf(
    folder: Path,
    parts: Iterable[Any],
    form: Shape,
    about: dict[str, Any],
    write: Callable[[Path, Iterable[Any], Shape], dict[str, int]] | None = None,
) -> None:
    """Makes the shelf `folder` from a stream of parts; it appears complete or not at all.

    Without `write`, which writes the files and returns the number of examples of each split, parts are `Part`.
    """
    make_folder(folder.parent, chosen_by=VARIABLE)
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        with FileLock(folder.with_name(f".{folder.name}.lock")):
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            try:
                counts = (write or _write_arrays)(temporary, parts, form)
                files = {path.name: hash_file(path) for path in sorted(temporary.glob("*.npy"))}
                facts = {**about, "shape": list(form.shape), "classes": form.classes, **counts, "files": files}
                write_whole(temporary / ABOUT, json.dumps(facts, indent=1).encode(), chosen_by=VARIABLE)
                shutil.rmtree(folder, ignore_errors=True)
                temporary.replace(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise cannot("write", folder, error, chosen_by=VARIABLE) from None


def _write_arrays(folder: Path, parts: Iterable[Part], form: Shape) -> dict[str, int]:
    """Writes the arrays part by part, so that memory never holds more than one part."""
    if form.classes > LABELS:
        raise UsageError(f"there are {form.classes} classes; the maximum is {LABELS}")
    features = prod(form.shape)
    labels: dict[str, list[np.ndarray]] = {"train": [], "test": []}
    sums = np.zeros((2, features))
    files: dict[str, Any] = {}
    kinds: dict[str, np.dtype] = {}
    try:
        for split, x, y in parts:
            _check_part(split, x, y, features, form.classes)
            if split not in files:
                kinds[split] = np.dtype(np.uint8 if x.dtype == np.uint8 else np.float32)
                files[split] = (folder / f"{split}.npy").open("wb")
                write_header(files[split], kinds[split], (0, features))
            files[split].write(np.ascontiguousarray(x, dtype=kinds[split]).data)
            labels[split].append(y.astype(np.int16))
            if split == "train":
                for begin in range(0, len(x), ROWS):
                    block = x[begin : begin + ROWS].astype(np.float64)
                    sums += block.sum(0), np.einsum("ij,ij->j", block, block)
        if len(files) < 2:
            raise UsageError(f"there are no {'test' if 'train' in files else 'training'} examples")
        counts = {split: sum(map(len, labels[split])) for split in labels}
        for split, file in files.items():
            file.seek(0)
            write_header(file, kinds[split], (counts[split], features))
            np.save(folder / f"{split}-labels.npy", np.concatenate(labels[split]))
    finally:
        for file in files.values():
            file.close()
    mean = sums[0] / counts["train"]
    np.save(folder / "moments.npy", np.stack([mean, np.maximum(sums[1] / counts["train"] - mean**2, 0)]))
    return counts


def _check_part(split: str, x: np.ndarray, y: np.ndarray, features: int, classes: int) -> None:
    if x.ndim != 2 or x.shape[1] != features:
        raise UsageError(f"the {split} inputs have the shape {x.shape}, expected (n, {features})")
    if y.shape != (len(x),):
        raise UsageError(f"there are {len(x)} {split} inputs and labels of shape {y.shape}")
    if len(y) and not 0 <= y.min() <= y.max() < classes:
        raise UsageError(f"{split} labels range from {y.min()} to {y.max()}, expected 0 to {classes - 1}")


_HEADER = 128  # bytes; numpy leaves room for a length that is not known yet


def write_header(file: Any, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """The beginning of a .npy file, which has the same length for any shape, so that it can be corrected later."""
    npy.write_array_header_1_0(file, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
    assert file.tell() == _HEADER


class Bytes:
    """The numbers of a .npy file, of which only the requested ones are read.

    They are read by position and not through a memory map: a kernel with large pages maps up to 2 MB around each row,
    so a few thousand random rows would bring all of ImageNet32 into memory.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], allowed: tuple[type, ...] = (np.uint8,)) -> None:
        try:
            with path.open("rb") as file:
                found, _, dtype = read_form(file)
                self._begin = file.tell()
            whole = path.stat().st_size == self._begin + dtype.itemsize * prod(shape)
            if found != shape or dtype not in allowed or not whole:
                raise ValueError(f"truncated, or not {' × '.join(map(str, shape))} numbers")
            self._file = os.open(path, os.O_RDONLY)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} is damaged ({error}); delete {path.parent} and get it again") from None
        weakref.finalize(self, os.close, self._file)
        self.path, self.shape, self.dtype = path, shape, dtype

    def read(self, target: np.ndarray, begin: int) -> None:
        """Fills `target` with the numbers from byte `begin` of the array on."""
        if os.preadv(self._file, [target.data], self._begin + begin) != target.nbytes:
            raise UsageError(f"{self.path} is truncated; delete {self.path.parent} and get it again")


class Rows(Bytes):
    """The rows of a .npy file."""

    def __init__(self, path: Path, shape: tuple[int, int]) -> None:
        super().__init__(path, shape, (np.uint8, np.float32))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """A copy of some rows, (len(rows), features)."""
        taken = np.empty((len(rows), self.shape[1]), self.dtype)
        length = taken.itemsize * self.shape[1]
        for target, row in zip(taken, rows.tolist(), strict=True):
            self.read(target, row * length)
        return taken


class Shelf:
    """A converted data set. Opening it compares sizes; `find_problems` compares every byte."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.about = read_about(folder)
        width = prod(self.about["shape"])
        self.rows: dict[str, Any] = {
            split: Rows(folder / f"{split}.npy", (self.about[split], width)) for split in ("train", "test")
        }
        self.labels = {split: self._load(f"{split}-labels.npy", (self.about[split],)) for split in ("train", "test")}
        self.moments = self._load("moments.npy", (2, width))
        self._check_labels()

    def _check_labels(self) -> None:
        for split, labels in self.labels.items():
            if len(labels) and not 0 <= labels.min() <= labels.max() < self.about["classes"]:
                raise UsageError(
                    f"{self.folder / split}-labels.npy has labels out of range; delete {self.folder} and get it again"
                )

    def _load(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        try:
            array = read_arrays(self.folder / name, (name,))[name]
            if array.shape != shape or array.dtype.kind not in "if":
                raise UsageError(f"it holds {array.dtype} of shape {array.shape}, expected {shape}")
            return array
        except UsageError as error:
            path = self.folder / name
            raise UsageError(f"{path} is damaged ({error}); delete {self.folder} and get it again") from None


def read_about(folder: Path) -> dict[str, Any]:
    """The contents of about.json."""
    try:
        about = json.loads(read_start(folder / ABOUT, LONGEST, "an about.json"))
        if isinstance(about, dict) and _is_sound(about):
            return about
        reason = "keys are missing or wrong"
    except (UsageError, ValueError, RecursionError) as error:
        reason = str(error)
    raise UsageError(f"{folder / ABOUT} cannot be read ({reason}); delete {folder} and get it again")


def _is_sound(about: dict[str, Any]) -> bool:
    shape, files, note = about.get("shape"), about.get("files"), about.get("note", "")
    counts = [about.get(key) for key in ("classes", "train", "test")]
    if not isinstance(shape, list) or not isinstance(files, dict) or not isinstance(note, str):
        return False
    if any(Path(name).name != name for name in files):  # only files of this folder
        return False
    return all(type(number) is int and 0 <= number < 2**48 for number in [*counts, *shape])


def find_problems(folder: Path) -> list[str]:
    """The problems of a shelf: files that are missing or whose SHA-256 is not the recorded one."""
    found = []
    for name, sha256 in read_about(folder)["files"].items():
        path = folder / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif hash_file(path) != sha256:
            found.append(f"{name} has been changed")
    return found
