"""Many finished folders at a time: one sync of the file system instead of one for each file."""

import ctypes
import os
import platform
import re
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

HONEST = (5, 8)  # the first Linux whose syncfs reports what could not be written


def write_folders(folders: Mapping[str, Mapping[str, bytes]], mark: str) -> None:
    """Writes the files of several folders, which exist, each file whole or not at all, and `mark`, one of them, last.

    As with `write_together`, all files are on the disk before any gets its name, and all names are on the disk before
    a mark gets its own. After an OSError no mark is there that was not there before, or all of them are good; nobody
    knows which folder is to blame.
    """
    suffix = f".{secrets.token_hex(8)}.part"
    parts = [(f"{folder}/.{name}{suffix}", folder, name) for folder, files in folders.items() for name in files]
    try:
        for part, folder, name in parts:
            _write_new(part, folders[folder][name])
        places = list({os.stat(folder).st_dev: folder for folder in folders}.values())
        _sync_all(places)
        for is_mark in (False, True):
            for part, folder, name in parts:
                if (name == mark) == is_mark:
                    os.replace(part, f"{folder}/{name}")
            _sync_all(places)
    except BaseException:
        for part, _, _ in parts:
            with suppress(OSError):
                os.unlink(part)
        raise


def write_unsynced(folder: str, name: str, data: bytes) -> None:
    """Writes one file, whole or not at all; a power cut may lose it until something is synced."""
    part = f"{folder}/.{name}.{secrets.token_hex(8)}.part"
    try:
        _write_new(part, data)
        os.replace(part, f"{folder}/{name}")
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def _write_new(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        rest = memoryview(data)
        while len(rest):  # a disk that becomes full takes a part before it refuses the rest
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def _sync_all(places: Iterable[str]) -> None:
    for place in places:
        descriptor = os.open(place, os.O_RDONLY)
        try:
            sync_file_system(descriptor)
        finally:
            os.close(descriptor)


def sync_file_system(descriptor: int) -> None:
    """Brings all of the file system that this file belongs to onto the disk."""
    if _load_syncfs()(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def can_sync_at_once() -> bool:
    """Whether this system can sync a whole file system and says if it could not."""
    number = re.match(r"(\d+)\.(\d+)", platform.release())
    is_honest = platform.system() == "Linux" and number is not None and tuple(map(int, number.groups())) >= HONEST
    return is_honest and _load_syncfs() is not None


@cache
def _load_syncfs() -> Any:
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
