"""Finite sets of images: a shelf of converted files, and how grey levels become inputs."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from prunefield import data
from prunefield.core.errors import RunError, UsageError, unknown
from prunefield.data import shelf
from prunefield.data.bundles import Bundle
from prunefield.data.download import Tell, download_file, hash_file
from prunefield.tasks import Finite


class Images(Finite):
    """A finite set of images: x = (grey level − μ)/s, with μ and s taken over all training images, whatever `limit`.

    A feature without variance has s = 1. Training examples are drawn with replacement, test images without.
    """

    provenance = "your own files"

    standardise: Literal["pixel", "channel"] = Field(
        default="pixel",
        description="standardise each pixel, or each channel, with its own mean μ and standard deviation s",
    )

    def folder(self) -> Path:
        """Where its converted files are."""
        return data.find_data_folder() / self.kind()

    @property
    @abstractmethod
    def _shelf(self) -> shelf.Shelf:
        """The converted files, which must exist."""

    def require(self) -> None:
        _ = self._shelf

    @property
    def _moments(self) -> tuple[Tensor, Tensor]:
        return self._measure_moments(self.shape)

    def _measure_moments(self, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        return _compute_moments(self._shelf, self.standardise, shape)

    @property
    def levels(self) -> tuple[Tensor, Tensor] | None:
        if self._shelf.rows["train"].dtype != np.uint8:
            return None
        mean, deviation = self._moments
        return -mean / deviation, (255 - mean) / deviation

    def labels(self, *, training: bool) -> Tensor:
        found = read_labels(self._shelf, "train" if training else "test")
        return self.cut_to_limit(found) if training else found

    def take(self, rows: Tensor, *, training: bool) -> Tensor:
        mean, deviation = self._moments
        pixels = self._shelf.rows["train" if training else "test"].take(rows.numpy())
        return torch.from_numpy(pixels).to(torch.float32, copy=True).sub_(mean).div_(deviation)


class Published(Images):
    """A published set of images, fetched once with `prunefield data get`."""

    provenance = "published"

    form: ClassVar[shelf.Shape]
    counts: ClassVar[tuple[int, int]]  # training and test images
    licence: ClassVar[str]
    size: ClassVar[int]  # bytes to fetch
    address: ClassVar[str] = ""
    sha256: ClassVar[str] = ""
    copies: ClassVar[tuple[str, ...]] = ()  # the SHA-256 of other files that are known to hold the same images
    sources: ClassVar[tuple[str, ...]] = (
        "official",
    )  # where it can be fetched from, in the order in which they are tried

    def count(self) -> int:
        return self.limit or self.counts[0] * self.classes // self.form.classes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.form.shape

    @property
    def classes(self) -> int:
        return self.form.classes

    @property
    def _shelf(self) -> shelf.Shelf:
        folder = self.folder()
        if not (folder / shelf.ABOUT).exists():
            name = self.kind()
            raise UsageError(f"{name} is not in {folder}; fetch it: prunefield data get {name}")
        found = open_shelf(folder)
        if found.about["shape"] != list(self.form.shape) or found.about["classes"] != self.form.classes:
            raise UsageError(f"{folder} is not {self.kind()}: it contains {found.about['shape']} images")
        return found

    @classmethod
    def fetch(cls, downloads: Path, tell: Tell, source: str) -> Path:
        """The files of a source, fetched to the folder `downloads`."""
        path = downloads / cls.address.rpartition("/")[2]
        return download_file(cls.address, path, sha256=cls.sha256, size=cls.size, tell=tell)

    @classmethod
    @abstractmethod
    def read(cls, bundle: Bundle) -> Iterator[shelf.Part]:
        """The images and labels in the official files."""

    def _fetch_any(self, downloads: Path, tell: Tell, source: str | None) -> tuple[str, Path]:
        """The first source that could be reached, and the path of what was fetched."""
        if source is not None and source not in self.sources:
            raise unknown(f"source of {self.kind()}", source, self.sources)
        problems = []
        for name in self.sources if source is None else (source,):
            try:
                return name, self.fetch(downloads, tell, name)
            except RunError as error:
                problems.append(str(error))
        raise RunError("; ".join(problems))

    def _compare(self, origin: Path | None) -> str:
        """A note if a user's file is not the official one; that is not an error, as it may have been repacked."""
        if origin is None or not origin.is_file() or not self.sha256:
            return ""
        if (found := hash_file(origin)) in (self.sha256, *self.copies):
            return ""
        return f"{origin.name} is not the official file: its SHA-256 is {found}, expected {self.sha256}"

    def get(self, origin: Path | None, tell: Tell, source: str | None = None) -> Path:
        """Fetches the files of a source, or takes those at `origin`, and converts them; returns the folder.

        Without `source` all are tried in turn; about.json says which one was used.
        """
        downloads = data.find_data_folder() / "downloads"
        source, path = ("yours", origin) if origin else self._fetch_any(downloads, tell, source)
        bundle = Bundle(path)
        try:
            about = {"data": self.kind(), "origin": path.name, "source": source, "licence": self.licence}
            about["note"] = self._compare(origin)
            shelf.write_shelf(self.folder(), self._watch(bundle, tell, about), self.form, about)
        except UsageError as error:
            raise UsageError(f"{self.kind()} from {path}: {error}") from None
        finally:
            bundle.close()
        if downloads in path.parents:
            path.unlink()  # the converted files contain everything that was in it
        open_shelf.cache_clear()
        return self.folder()

    def _watch(self, bundle: Bundle, tell: Tell, about: dict[str, str]) -> Iterator[shelf.Part]:
        """The parts of a bundle, with a report of the bytes read so far; a wrong number of images is noted."""
        counts = {"train": 0, "test": 0}
        for split, x, y in self.read(bundle):
            counts[split] += len(y)
            yield split, x, y
            tell(min(bundle.done, bundle.total), bundle.total)
        tell(bundle.total, bundle.total)
        if tuple(counts.values()) != self.counts:
            found, expected = (f"{train:,} + {test:,}" for train, test in (counts.values(), self.counts))
            note = f"it contains {found} images, expected {expected}"
            about["note"] = f"{about['note']}; {note}" if about["note"] else f"{bundle.path.name}: {note}"


@lru_cache(maxsize=8)
def open_shelf(folder: Path) -> shelf.Shelf:
    """A shelf, opened once per process."""
    return shelf.Shelf(folder)


@lru_cache(maxsize=8)
def _compute_moments(files: shelf.Shelf, standardise: str, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation for each feature, float32."""
    return make_scale(files.moments[0], files.moments[1], standardise, shape)


def make_scale(
    mean: np.ndarray, variance: np.ndarray, standardise: str, shape: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation for each feature, of its pixel or of its channel, float32."""
    mean, variance = mean.reshape(shape), variance.reshape(shape)
    if standardise == "channel":
        over = tuple(range(1, len(shape))) if len(shape) == 3 else None
        square = (variance + mean**2).mean(over, keepdims=True)
        mean = mean.mean(over, keepdims=True)
        variance = square - mean**2
    mean, variance = (np.broadcast_to(part, shape).reshape(-1) for part in (mean, variance))
    deviation = np.where(variance > 0, np.sqrt(variance), 1.0)
    return torch.from_numpy(mean.astype(np.float32)), torch.from_numpy(deviation.astype(np.float32))


@lru_cache(maxsize=16)
def read_labels(files: shelf.Shelf, split: str) -> Tensor:
    """The labels as an int64 tensor."""
    return torch.from_numpy(files.labels[split]).long()
