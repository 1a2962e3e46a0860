"""Sizes: the memory that a file asks for is compared with the size of the file before any is allocated.

What a file says of itself (a header, a directory, the length of an unpacked part) is a claim. It may be FREE bytes
whatever the size of the file, and beyond that RATIO times the bytes that the file has on the disk: files of numbers
pack to a tenth at best, while a file that is made to fill the memory packs to a thousandth. So a file of 2 GB that is
not packed is always read. To read a trusted file that is refused, set PRUNEFIELD_UNPACK, which replaces FREE.
"""

import os
import re
import stat
from pathlib import Path
from typing import IO, Any

from prunefield.core.errors import UsageError
from prunefield.core.files import cannot_read

FREE, RATIO = 100_000_000, 10
HEADER = 16_000_000  # bytes that the header of a .safetensors file may have: 100,000 tensors and more
VARIABLE = "PRUNEFIELD_UNPACK"
UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}


def check_claim(what: object, claimed: int, stored: int) -> None:
    """Refuses `what` if it claims more memory than `stored` bytes of a file may."""
    if claimed > max(read_limit(), RATIO * stored):
        raise UsageError(
            f"{what} would take {show_bytes(claimed)} of memory, but the file stores only {show_bytes(stored)}; "
            f"if you trust it, set {VARIABLE}={-(-claimed // 10**9)}G"
        )


def check_demand(what: str, claimed: int) -> None:
    """Refuses a request if this machine does not have the memory."""
    try:
        have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not known on every system
        return
    if claimed > have:
        raise UsageError(f"{what} would take {show_bytes(claimed)} of memory, but this machine has {show_bytes(have)}")


def read_limit() -> int:
    """What any file may unpack to, in bytes: PRUNEFIELD_UNPACK, or FREE."""
    text = os.environ.get(VARIABLE) or str(FREE)
    found = re.fullmatch(r"([0-9]{1,18})([KMGT]?)B?", text.strip().upper())
    if not found:
        raise UsageError(f"{VARIABLE} must be a number of bytes such as 500M or 8G, not {text!r}")
    return int(found[1]) * UNITS[found[2]]


def count_stored(path: Path) -> int:
    """The bytes that a file has on the disk: its length without the holes that take no room there."""
    try:
        # Asked before it is opened: a pipe would wait for whoever writes to it. A folder has a line of its own.
        if stat.S_IFMT(path.stat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
            raise UsageError(f"cannot read {path}: it is not a regular file")
        with path.open("rb") as file:
            return _count_data(file.fileno())
    except OSError as error:
        raise cannot_read(path, error) from None
    except ValueError as error:  # a path that no system has, such as one with a zero byte
        raise error if isinstance(error, UsageError) else cannot_read(path, error) from None


def _count_data(file: int) -> int:
    size = os.fstat(file).st_size
    if not hasattr(os, "SEEK_DATA"):
        return size
    found = end = 0
    try:
        while end < size:
            begin = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, begin, os.SEEK_HOLE)
            found += end - begin
    except OSError:  # no more data
        pass
    finally:
        os.lseek(file, 0, os.SEEK_SET)
    return found


def check_safetensors(path: Path) -> None:
    """Refuses a .safetensors file of holes, or whose header is not all there or larger than any network needs.

    Tensors cannot claim more than the file has: the format says where each of them lies, and its reader compares.
    """
    stored = count_stored(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if not 2 <= header <= min(HEADER, size - 8):
        raise UsageError(f"{path} is truncated or not a .safetensors file: its header claims {show_bytes(header)}")
    check_claim(path, size, stored)


def read_start(path: Path, most: int, what: str) -> bytes:
    """The whole of a small file such as a study, which has at most `most` bytes."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    if len(content) > most:
        raise UsageError(f"{path} is larger than {show_bytes(most)}, too large for {what}")
    return content


class Meter:
    """A file of which only `left` more bytes can be read, for as long as `left` is not None."""

    def __init__(self, file: IO[bytes], left: int, path: Path) -> None:
        self.left: int | None = left
        self._file, self._path = file, path

    def read(self, size: int = -1) -> bytes:
        if self.left is None:
            return self._file.read(size)
        content = self._file.read(self.left + 1 if size < 0 else min(size, self.left + 1))
        self.left -= len(content)
        if self.left < 0:
            raise UsageError(f"the table of contents of {self._path} is too large for an archive of data")
        return content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def show_bytes(size: int) -> str:
    """A number of bytes in readable form.

    >>> show_bytes(999), show_bytes(2_900_000_000), show_bytes(10**30)
    ('999 bytes', '2.9 GB', 'over 1000 PB')
    """
    if size >= 10**18:
        return "over 1000 PB"
    for unit, scale in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"
