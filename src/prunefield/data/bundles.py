"""Bundles: a folder, a tar or a zip, read without unpacking it, so that no path in it can lead anywhere."""

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from prunefield.errors import UsageError

LARGEST = 8 << 30  # bytes that the files of a bundle may have together: twice ImageNet32
LINK = 0o12  # the type of a file in the upper bits of a zip entry


class Bundle:
    """Files by name. A name is looked up by its end, because archives have a folder around their files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._source: tarfile.TarFile | zipfile.ZipFile | None = None
        try:
            sizes = self._survey()
            self._check(sizes)
        except FileNotFoundError:
            raise UsageError(f"cannot read {path}: no such file or folder") from None
        except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
            self.close()
            reason = str(error).partition("\n")[0]
            raise UsageError(f"{path} is neither a folder nor a whole tar or zip archive ({reason})") from None
        except UsageError:
            self.close()
            raise
        self.names = sorted(sizes)

    def _survey(self) -> dict[str, int]:
        """The size of each file; 0 in a folder, which needs no unpacking."""
        path = self.path
        if path.is_dir():
            return {item.relative_to(path).as_posix(): 0 for item in path.rglob("*") if item.is_file()}
        if zipfile.is_zipfile(path):
            self._source = zipfile.ZipFile(path)
            infos = [item for item in self._source.infolist() if not item.is_dir()]
            self._refuse([item.filename for item in infos if (item.external_attr >> 28) == LINK])
            return {item.filename: item.file_size for item in infos}
        self._source = tarfile.open(path)  # noqa: SIM115, closed in close()
        members = self._source.getmembers()
        self._refuse([item.name for item in members if not (item.isfile() or item.isdir())])
        return {item.name: item.size for item in members if item.isfile()}

    def _check(self, sizes: dict[str, int]) -> None:
        for name in sizes:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise UsageError(f"{self.path} holds the path {name!r}, which leads out of it; it is not official")
        if (total := sum(sizes.values())) > LARGEST:
            raise UsageError(f"{self.path} would unpack to {total >> 30} GB; at most {LARGEST >> 30} are read")

    def _refuse(self, names: list[str]) -> None:
        if names:
            raise UsageError(f"{self.path} holds {names[0]!r}, which is a link or a device; it is not official")

    def find(self, end: str) -> str | None:
        """The full name of the file whose path ends with `end`."""
        return next((name for name in self.names if f"/{name}".endswith(f"/{end}")), None)

    @contextmanager
    def open(self, end: str) -> Iterator[IO[bytes]]:
        """The file whose path ends with `end`."""
        name = self.find(end)
        if name is None:
            seen = ", ".join(self.names[:5]) or "nothing"
            raise UsageError(f"{self.path} has no file {end!r} (it has: {seen}{', …' * (len(self.names) > 5)})")
        try:
            with self._open(name) as file:
                yield file
        except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise UsageError(f"{name} in {self.path} is damaged ({error}); fetch it again") from None

    def _open(self, name: str) -> IO[bytes]:
        if self._source is None:
            return (self.path / name).open("rb")
        if isinstance(self._source, zipfile.ZipFile):
            return self._source.open(name)
        file = self._source.extractfile(name)
        assert file is not None  # only plain files are in `names`
        return file

    def read(self, end: str) -> bytes:
        """The bytes of the file whose path ends with `end`."""
        with self.open(end) as file:
            return file.read()

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
