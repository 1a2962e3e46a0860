"""Tasks on the user's own files, which are converted at first use and must not change afterwards."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prunefield import data
from prunefield.core.errors import UsageError
from prunefield.data import shelf
from prunefield.data.download import hash_file
from prunefield.tasks._images import Images, open_shelf

EVERY = 5  # every fifth example of a class is held out if the files name no test examples
_seen: dict[Path, shelf.Shelf] = {}  # shelves that this process has compared with their files; `require` compares again


class Own(Images):
    """The user's own images. A relative path is looked up in the data folder, so that ids contain no machine paths.

    A digest of the files is stored with the converted copy. If they change, the task refuses them: the id of a run
    contains only the path and must not mean two different sets of images.
    """

    path: str

    @property
    def origin(self) -> Path:
        """Where the files are."""
        return data.find_data_folder() / self.path

    def folder(self) -> Path:
        names = self.model_dump(mode="json", exclude=self._free)
        key = json.dumps([self.kind(), str(self.origin.resolve()), names], sort_keys=True)
        return data.find_data_folder() / "own" / f"{self.kind()}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"

    @property
    def _free(self) -> set[str]:
        """The settings on which the converted copy does not depend."""
        return {"limit", "standardise"}

    @abstractmethod
    def files(self) -> list[Path]:
        """The files that are read, sorted."""

    @abstractmethod
    def read(self) -> tuple[shelf.Shape, Iterator[Any]]:
        """The shape and the examples in the files."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._shelf.about["shape"])

    @property
    def classes(self) -> int:
        return self._shelf.about["classes"]

    def require(self) -> None:
        _seen.pop(self.folder(), None)
        super().require()

    @property
    def _shelf(self) -> shelf.Shelf:
        folder = self.folder()
        if folder not in _seen:
            _seen[folder] = self._open(folder)
        return _seen[folder]

    def _open(self, folder: Path) -> shelf.Shelf:
        origin = self.origin
        if "\0" in self.path or not origin.exists():
            raise UsageError(
                f"{self.kind()}: there is nothing at {origin}; give the location of your files with path = '…'"
            )
        stamps = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in self.files()]
        if not (folder / shelf.ABOUT).exists():
            form, parts = self.read()
            about = {"data": self.kind(), "stamps": stamps, "content": self._digest()}
            try:
                self._convert(folder, parts, form, about)
            except UsageError as error:
                raise UsageError(f"{origin}: {error}") from None
        found = self._open_copy(folder)
        if found.about.get("stamps") != stamps:
            if found.about.get("content") != self._digest():
                raise UsageError(f"{origin} has changed since it was first read; delete {folder} to use the new files")
            found.about["stamps"] = stamps  # touched or copied, but with the same content
        return found

    def _convert(self, folder: Path, parts: Iterator[Any], form: shelf.Shape, about: dict[str, Any]) -> None:
        shelf.write_shelf(folder, parts, form, about)

    def _open_copy(self, folder: Path) -> shelf.Shelf:
        return open_shelf(folder)

    def _digest(self) -> str:
        content = [[str(path.relative_to(self.origin)), hash_file(path)] for path in self.files()]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()
