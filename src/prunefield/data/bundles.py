"""Bundles: a folder, a tar or a zip, read without unpacking, so that no path in it can point elsewhere.

The sizes of the table of contents and of every file are checked before they are read (`core/sizes.py`).
"""

import bz2
import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from prunefield.core.errors import UsageError
from prunefield.core.sizes import Meter, check_claim, count_stored
from prunefield.data.arrays import open_zip

LARGEST = 8 << 30  # bytes of all files of a bundle together: twice ImageNet32
CONTENTS = 100_000_000  # bytes of all headers in a tar together: 512 for each of 190,000 files
DAMAGED = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
LINK = 0o12  # a link, in the upper bits of a zip entry


class Bundle:
    """Files by name. Names are matched by their end, because archives often have a folder around their files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._source: tarfile.TarFile | zipfile.ZipFile | None = None
        self._files: list[IO[bytes]] = []
        try:
            self._sizes = self._survey()
        except FileNotFoundError:
            raise UsageError(f"cannot read {path}: no such file or folder") from None
        except UsageError:
            self.close()
            raise
        except Exception as error:  # a damaged archive raises whatever the damaged byte leads to
            self.close()
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UsageError(f"{path} is neither a folder nor a complete tar or zip archive ({reason})") from None
        self.names = sorted(self._sizes)
        self.total, self.done = sum(self._sizes.values()), 0  # bytes in all files, and in those opened so far
        self._ends: dict[str, list[str]] = {}  # full names by their last part
        for name in self.names:
            self._ends.setdefault(name.rpartition("/")[2], []).append(name)

    def _survey(self) -> dict[str, int]:
        """The size of each file."""
        path = self.path
        if path.is_dir():
            items = [item for item in path.rglob("*") if item.is_file()]
            return {item.relative_to(path).as_posix(): item.stat().st_size for item in items}
        file: Any = path.open("rb")
        self._files.append(file)
        self._stored = count_stored(path)
        begin = file.read(4)
        file.seek(0)
        if begin[:2] == b"PK":
            return self._survey_zip(file)
        if begin[:2] == b"\x1f\x8b":
            file = gzip.GzipFile(fileobj=file)
            self._files.append(file)
        elif begin[:3] == b"BZh":
            file = bz2.BZ2File(file)
            self._files.append(file)
        return self._survey_tar(file)

    def _survey_zip(self, file: IO[bytes]) -> dict[str, int]:
        self._source = open_zip(file, self.path)
        infos = [item for item in self._source.infolist() if not item.is_dir()]
        self._refuse([item.filename for item in infos if (item.external_attr >> 28) == LINK])
        sizes = {item.filename: item.file_size for item in infos}
        for name in sizes:
            self._check_name(name)
        self._check_total(sum(sizes.values()))
        return sizes

    def _survey_tar(self, file: IO[bytes]) -> dict[str, int]:
        """Member by member, so that a member that is too large is never read."""
        meter = Meter(file, CONTENTS, self.path)
        self._source = archive = tarfile.TarFile(fileobj=cast(IO[bytes], meter))
        sizes: dict[str, int] = {}
        total = 0
        for member in archive:
            self._check_name(member.name)
            self._refuse([member.name] if not (member.isfile() or member.isdir()) or member.issparse() else [])
            total += member.size
            self._check_total(total)
            if member.isfile():
                sizes[member.name] = member.size
        meter.left = None
        return sizes

    def _check_name(self, name: str) -> None:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise UsageError(
                f"{self.path} contains the path {name!r}, which points outside the archive; it is not an official file"
            )

    def _check_total(self, total: int) -> None:
        if total > LARGEST:
            raise UsageError(f"{self.path} would unpack to {total >> 30} GB; the limit is {LARGEST >> 30} GB")

    def _refuse(self, names: list[str]) -> None:
        if names:
            raise UsageError(
                f"{self.path} contains {names[0]!r}, which is a link or a device; it is not an official file"
            )

    def find(self, end: str) -> str | None:
        """The full name of the file whose path is `end` or, failing that, ends with it."""
        if end in self._sizes:
            return end
        same = self._ends.get(end.rpartition("/")[2], [])
        return next((name for name in same if f"/{name}".endswith(f"/{end}")), None)

    @contextmanager
    def open(self, end: str) -> Iterator[IO[bytes]]:
        """The file whose path ends with `end`."""
        name = self.find(end)
        if name is None:
            seen = ", ".join(self.names[:5]) or "nothing"
            raise UsageError(f"{self.path} has no file {end!r} (it has: {seen}{', …' * (len(self.names) > 5)})")
        check_claim(f"{name} in {self.path}", self._sizes[name], self.count_stored(name))
        self.done += self._sizes[name]
        try:
            with self._open(name) as file:
                yield file
        except DAMAGED as error:
            raise UsageError(f"{name} in {self.path} is damaged ({error}); fetch it again") from None

    def _open(self, name: str) -> IO[bytes]:
        if self._source is None:
            return (self.path / name).open("rb")
        if isinstance(self._source, zipfile.ZipFile):
            return self._source.open(name)
        file = self._source.extractfile(name)
        assert file is not None  # only plain files are in `names`
        return file

    def count_stored(self, name: str) -> int:
        """The number of stored bytes behind a file: its own in a folder, those of the whole archive otherwise."""
        return count_stored(self.path / name) if self._source is None else self._stored

    def read(self, end: str) -> bytes:
        """The bytes of the file whose path ends with `end`."""
        with self.open(end) as file:
            return file.read()

    def close(self) -> None:
        for file in (self._source, *reversed(self._files)):
            if file is not None:
                file.close()
