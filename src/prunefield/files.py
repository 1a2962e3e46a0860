"""Files that are written whole or not at all, and the checksums that tell whether they still are."""

import errno
import hashlib
import os
from pathlib import Path

from prunefield.errors import StoreError, UsageError


def write_whole(path: Path, data: bytes, *, chosen_by: str = "--out") -> None:
    """Writes `data` to `path` so that a reader sees the old file or the new one, never a part of it."""
    if not path.name or path.is_dir():  # such as `.`
        raise UsageError(f"cannot write {path}: it is a folder; name a file with {chosen_by}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot("write", path, error, chosen_by=chosen_by) from None


def make_folder(path: Path, *, chosen_by: str = "--out") -> None:
    """Makes a folder and those above it; one that is there already is left alone."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("make the folder", path, error, chosen_by=chosen_by) from None


def checksum(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def cannot(what: str, path: Path, error: OSError, *, chosen_by: str = "--out") -> StoreError | UsageError:
    """The error for a file that the system refuses: bad usage for a wrong place, a failure for a full disk.

    `chosen_by` is the option or variable with which the user names the place.
    """
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"cannot {what} {path}: {reason}; make room and run the same command again, it resumes")
    return UsageError(f"cannot {what} {path}: {reason}; name another folder with {chosen_by}")


def cannot_read(path: Path, error: OSError | ValueError) -> UsageError:
    """The error for a file of the user's that cannot be opened or read."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return UsageError(f"cannot read {path}: {reason.lower()}")
