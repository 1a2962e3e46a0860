"""The names of plug-ins, read from the locations of their files without importing any of them.

A family is a sub-package (`prunefield.scores`); each file in it is one kind, and the file's name is the kind's
name: `trained_magnitude.py` is `trained-magnitude`, `papers/bar2023/theorem4_4.py` is `bar2023/theorem4.4`.
Other packages join a family through an entry point of the group `prunefield.<family>`. A file may also give names
to common settings of its kind, in a literal `NAMED`: `resnet20` is `resnet` of width 16.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import prunefield

FAMILIES = ("tasks", "networks", "scores", "runs", "engines", "loggers", "papers")
SETTLED = 100_000_000  # nanoseconds after which a change of a folder gets another date
RECENT = 0.1  # seconds


def name_of(path: str) -> str:
    """The name that belongs to a file: an underscore before a digit is a dot, any other one a hyphen.

    >>> name_of("bar2023/theorem4_4"), name_of("student_t")
    ('bar2023/theorem4.4', 'student-t')
    """
    return re.sub(r"_(?=\d)", ".", path).replace("_", "-")


def modules(family: str) -> dict[str, str]:
    """All kinds of a family, as `{name: module}`, in the order of their names."""
    package = f"prunefield.{family}"
    files = {name_of(path.as_posix()): ".".join((package, *path.parts)) for path, _ in _files(family)}
    return dict(sorted((files | _entry_points(family)).items(), key=lambda pair: _natural(pair[0])))


_found: dict[tuple[str, str], tuple[float, str | None]] = {}


def find_module(family: str, kind: str) -> str | None:
    """The module of a kind, None if there is no such kind.

    Plans ask for it hundreds of thousands of times: for a tenth of a second, one that was found stays found.
    """
    now, (date, found) = time.monotonic(), _found.get((family, kind), (-1.0, None))
    if now - date > RECENT:
        found = _look_for_module(family, kind)
        if found is not None:
            _found[family, kind] = now, found
    return found


def _look_for_module(family: str, kind: str) -> str | None:
    state: list[tuple[str, int]] = []
    for package in prunefield.__path__:
        _date_folders(_locate(package, family), state)
    newest = max([date for _, date in state], default=0)
    if time.time_ns() - newest < SETTLED:  # another file may get the same date
        return modules(family).get(kind)
    return _list_modules(family, tuple(state), tuple(sys.path)).get(kind)


@lru_cache(maxsize=32)
def _list_modules(family: str, state: tuple[tuple[str, int], ...], path: tuple[str, ...]) -> dict[str, str]:
    """`modules` as long as no folder of the family and no path changes."""
    return modules(family)


def _date_folders(root: str, found: list[tuple[str, int]]) -> None:
    """Adds a folder and those in it, each with the time at which a file was last added to it or removed."""
    try:
        date = os.stat(root).st_mtime_ns
    except OSError:  # a package that adds nothing to this family
        return
    found.append((root, date))
    for folder in _list_folders(root, date):
        _date_folders(folder, found)


@lru_cache(maxsize=256)
def _list_folders(root: str, date: int) -> tuple[str, ...]:
    with os.scandir(root) as entries:
        return tuple(sorted(entry.path for entry in entries if entry.is_dir() and not entry.name.startswith("_")))


def list_presets(family: str) -> dict[str, dict[str, Any]]:
    """The further names of a family, each for a kind with settings: `{name: {"kind": kind, key: value, …}}`."""
    found: dict[str, dict[str, Any]] = {}
    for path, file in sorted(_files(family)):
        _, here, text = file.read_text(encoding="utf-8").partition("\nNAMED = ")
        if here:
            from ast import literal_eval

            named = literal_eval(text.partition("\n\n")[0])
            found |= {name: {"kind": name_of(path.as_posix()), **settings} for name, settings in named.items()}
    return found


def read_summary(family: str, name: str) -> str:
    """The first line of the docstring in a kind's file."""
    for path, file in _files(family):
        if name_of(path.as_posix()) == name:
            with file.open(encoding="utf-8") as text:
                return text.readline().strip().strip('"')
    if (module := modules(family).get(name)) is None:
        return ", ".join(f"{key} {value}" for key, value in list_presets(family)[name].items()).removeprefix("kind ")
    return f"from {module}"


def list_based_on(family: str, base: str) -> list[str]:
    """The kinds of a family whose class names `base` among its bases; those of other packages are not looked at."""
    heading = re.compile(rf"^class \w+\((?:[^)]*\W)?{base}\b[^)]*\):", re.MULTILINE)
    found = {name_of(path.as_posix()) for path, file in _files(family) if heading.search(file.read_text("utf-8"))}
    return [name for name in modules(family) if name in found]


def _files(family: str) -> Iterator[tuple[Path, Path]]:
    """The files of a family: the path inside it without suffix, and the file."""
    for package in prunefield.__path__:
        root = Path(_locate(package, family))
        for file in root.rglob("*.py"):
            path = file.relative_to(root).with_suffix("")
            if not any(part.startswith("_") for part in path.parts):
                yield path, file


@lru_cache(maxsize=256)
def _locate(package: str, family: str) -> str:
    return os.path.join(package, *family.split("."))


def _entry_points(family: str) -> dict[str, str]:
    return _read_entry_points(family, tuple(sys.path)) if family in FAMILIES else {}


@lru_cache(maxsize=32)
def _read_entry_points(family: str, path: tuple[str, ...]) -> dict[str, str]:
    """What the packages on `sys.path` add. Reading them all takes 40 ms, and names are asked for hundreds of times."""
    from importlib.metadata import entry_points

    return {point.name: point.module for point in entry_points(group=f"prunefield.{family}")}


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts fig2 before fig10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
