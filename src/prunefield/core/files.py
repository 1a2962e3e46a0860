"""Files that are written completely or not at all, and the checksums that verify them."""

import errno
import hashlib
import os
import secrets
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO

from prunefield.core.errors import StoreError, UsageError

STORE = "PRUNEFIELD_STORE"  # the variable with the folder of results
AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # do not wait for the other end of a pipe


def default_store() -> Path:
    """Where results are kept unless another folder is chosen."""
    return Path(os.environ.get(STORE) or "prunefield-out")


def store_option(root: Path) -> str:
    """What a command in a message needs so that it finds this store: nothing if that is the default one."""
    is_default = os.path.abspath(root) == os.path.abspath(default_store())
    return "" if is_default else f" --store {shlex.quote(str(root))}"


def read_regular(path: Path | str) -> bytes:
    """The content of a regular file; OSError for anything else: a named pipe would wait for whoever writes to it."""
    number = os.open(path, os.O_RDONLY | AT_ONCE)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        with open(number, "rb", buffering=0, closefd=False) as file:
            return file.read()
    finally:
        os.close(number)


def write_whole(
    path: Path,
    data: bytes | bytearray,
    *,
    keep: Path | None = None,
    chosen_by: str = "--out",
) -> None:
    """Writes `data` to `path` so that a reader sees the old file or the new one, never a part of it.

    With `keep`, the old file is moved there instead of lost; for a moment, `path` does not exist.
    """
    with open_whole(path, keep=keep, chosen_by=chosen_by) as file:
        file.write(data)


@contextmanager
def open_whole(path: Path, *, keep: Path | None = None, chosen_by: str = "--out") -> Iterator[IO[bytes]]:
    """A file to write, which replaces `path` at the end of the block; after an error nothing of it is left."""
    _check_name(path, chosen_by)
    temporary = name_part(path)
    try:
        with temporary.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            path.replace(keep)
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot("write", path, error, chosen_by=chosen_by) from None
        raise


def check_target(path: Path, *, chosen_by: str = "--out") -> None:
    """Refuses a file that cannot be written, before the computation whose result it is to have."""
    _check_name(path, chosen_by)
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}; choose another one with {chosen_by}")


def _check_name(path: Path, chosen_by: str) -> None:
    if not path.name or path.is_dir():  # such as `.`
        raise UsageError(f"cannot write {path}: it is a folder; choose a file with {chosen_by}")


def write_together(folder: Path, files: Mapping[str, bytes], mark: str, *, chosen_by: str = "--out") -> None:
    """Writes several files of a folder, each whole or not at all, and `mark`, one of them, last.

    All are on the disk before any gets its name, and all others have their names on the disk before the mark gets its
    own. The disk is asked for all of them at once, which takes it hardly longer than one.
    """
    parts = {name: name_part(folder / name) for name in files}
    try:
        pool = _start_pool(os.getpid())
        with ExitStack() as closing:
            opened = [closing.enter_context(parts[name].open("wb")) for name in files]
            wait(written := [pool.submit(_write_synced, *pair) for pair in zip(opened, files.values(), strict=True)])
            for done in written:
                done.result()
        for name in files:
            if name != mark:
                parts[name].replace(folder / name)
        list(pool.map(sync_folder, (folder, folder.parent)))
        parts[mark].replace(folder / mark)
        sync_folder(folder)
    except BaseException as error:
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot("write", folder / mark, error, chosen_by=chosen_by) from None
        raise


@lru_cache(maxsize=1)
def _start_pool(process: int) -> ThreadPoolExecutor:
    """Threads that wait for the disk; a process that was forked has none of them and starts its own."""
    return ThreadPoolExecutor(8, thread_name_prefix="prunefield-disk")


def _write_synced(file: IO[bytes], data: bytes) -> None:
    with file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def name_part(path: Path) -> Path:
    """Where a file is written before it gets its name; not by process: there are threads and other machines."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")


def is_part(name: str) -> bool:
    """Whether `write_whole` had not finished this file when its process was killed."""
    return name.endswith(".part")


def sync_folder(path: Path) -> None:
    """Syncs the folder to disk: otherwise a rename is lost in a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # these: a file system on which folders need no sync
            raise
    finally:
        os.close(descriptor)


def delete_path(path: Path) -> None:
    """Deletes a file, a folder with all that is in it, or a link, but not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_folder(path: Path, *, chosen_by: str = "--out") -> None:
    """Creates a folder and its parents; an existing one is left alone."""
    try:
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            sync_folder(path.parent)
    except OSError as error:
        raise cannot("make the folder", path, error, chosen_by=chosen_by) from None


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock `path`; makes no file and needs no right to write."""
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | AT_ONCE)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError as error:
        return isinstance(error, BlockingIOError | PermissionError)  # the latter on some file systems
    finally:
        os.close(descriptor)


def checksum(data: bytes | bytearray) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def cannot(what: str, path: Path, error: OSError, *, chosen_by: str = "--out") -> StoreError | UsageError:
    """The error for a file that the system refuses; the user sets its place with the option or variable `chosen_by`."""
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"cannot {what} {path}: {reason}; free some space and run the same command again to resume")
    return UsageError(f"cannot {what} {path}: {reason}; choose another folder with {chosen_by}")


def cannot_read(path: Path, error: OSError | ValueError) -> UsageError:
    """The error for a user's file that cannot be opened or read."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return UsageError(f"cannot read {path}: {reason.lower()}")
