"""Arrays in .npy and .npz files: identified by content, checked for size before they are read, and never executed."""

import io
import zipfile
from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.lib import format as npy

from prunefield.core.errors import UsageError
from prunefield.core.files import cannot_read
from prunefield.core.sizes import Meter, check_claim, count_stored

CONTENTS = 16 << 20  # largest table of contents of a zip, in bytes: more than 100,000 names
BLOCK = 1 << 20  # bytes unpacked at a time
HEADER = 10_000  # largest header of an array, in bytes, as in numpy
Form = tuple[tuple[int, ...], bool, np.dtype]  # shape, whether in Fortran's order, type


def read_arrays(
    path: Path, needed: Collection[str], extra: Collection[str] = (), *, width: int = 1
) -> dict[str, np.ndarray]:
    """The `needed` arrays of a file by name, and those of `extra` that it has; a .npy file has only the first.

    `width` is the number of bytes per value after conversion to another type.
    """
    stored = count_stored(path)
    try:
        with path.open("rb") as file:
            begin = file.read(2)
            file.seek(0)
            if is_npy(path):
                _check_names(path, needed, [next(iter(needed))])
                form = read_form(file)
                check_claim(path, _count_bytes(form, width), stored)
                return {next(iter(needed)): _read_body(file, form)}
            if begin != b"PK":
                raise ValueError("it is neither a .npy nor a .npz file")
            with open_zip(file, path) as archive:
                members = {item.filename.removesuffix(".npy"): item for item in archive.infolist()}
                _check_names(path, needed, list(members))
                chosen = {name: item for name, item in members.items() if name in needed or name in extra}
                forms = {name: _survey_member(archive, item) for name, item in chosen.items()}
                check_claim(path, sum(_count_bytes(form, width) for form in forms.values()), stored)
                return {name: _unpack_member(archive, item) for name, item in chosen.items()}
    except UsageError:
        raise
    except OSError as error:
        raise cannot_read(path, error) from None
    except Exception as error:  # a damaged file may raise anything in three libraries
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"{path} contains no arrays that are safe to read ({reason})") from None


def is_npy(path: Path) -> bool:
    """Whether a file begins like a .npy file, whatever its name."""
    count_stored(path)
    with path.open("rb") as file:
        return file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX


def open_zip(file: IO[bytes], path: Path) -> zipfile.ZipFile:
    """A zip archive, whose table of contents is read only if it has a reasonable size."""
    meter = Meter(file, CONTENTS, path)
    archive = zipfile.ZipFile(cast(IO[bytes], meter))
    meter.left = None
    for item in archive.infolist():
        if item.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or item.flag_bits & 1:
            raise UsageError(
                f"{item.filename!r} in {path} is encrypted or compressed in an unsupported way; save the file again"
            )
    return archive


def _check_names(path: Path, needed: Collection[str], found: list[str]) -> None:
    if not set(needed) <= set(found):
        more = ", …" * (len(found) > 10)
        has = ", ".join(found[:10]) or "none"
        raise UsageError(f"{path} must contain the arrays {' and '.join(needed)} (it has: {has}{more})")


def _survey_member(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> Form:
    with archive.open(item) as member:
        form = read_form(member)
    if _count_bytes(form) > item.file_size:
        raise ValueError(f"{item.filename} is truncated")
    return form


def _unpack_member(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(item) as member:
        return _read_body(member, read_form(member))


def read_form(file: Any) -> Form:
    """Shape, order and type from the header, whose claimed length is not trusted either."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f".npy version {version} is only for structured arrays")
    length = file.read(2 * version[0])
    size = int.from_bytes(length, "little")
    if size > HEADER:
        raise ValueError(f"the header has {size} bytes")
    header = io.BytesIO(length + file.read(size))
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, fortran, dtype = read(header)
    except Exception as error:  # it is text, parsed by Python
        raise ValueError(f"the header does not describe an array: {error}") from None
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError(f"it holds {dtype} of shape {shape}, not plain numbers or text")
    return shape, fortran, dtype


def _count_bytes(form: Form, width: int = 1) -> int:
    shape, _, dtype = form
    return prod(shape) * max(dtype.itemsize, width)


def _read_body(file: Any, form: Form) -> np.ndarray:
    shape, fortran, dtype = form
    array = np.empty(prod(shape), dtype)
    view = array.view(np.uint8).data if array.nbytes else memoryview(b"")
    done = 0
    while done < len(view):
        block = file.read(min(BLOCK, len(view) - done))
        if not block:
            raise ValueError(f"it is truncated: {done} of {len(view)} bytes")
        view[done : done + len(block)] = block
        done += len(block)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
