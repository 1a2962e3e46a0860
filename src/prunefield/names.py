"""The names of plug-ins, read from where their files stand, without importing any of them.

A family is a sub-package (`prunefield.scores`); each file in it is one kind, and the file's name is the kind's
name: `trained_magnitude.py` is `trained-magnitude`, `papers/bar2023/theorem4_4.py` is `bar2023/theorem4.4`.
Other packages join a family through an entry point of the group `prunefield.<family>`.
"""

import re
from collections.abc import Iterator
from importlib import util
from pathlib import Path

FAMILIES = ("tasks", "scores", "runs", "engines", "papers")


def name_of(path: str) -> str:
    """The name that belongs to a file: an underscore before a digit is a dot, any other one a hyphen.

    >>> name_of("bar2023/theorem4_4"), name_of("student_t")
    ('bar2023/theorem4.4', 'student-t')
    """
    return re.sub(r"_(?=\d)", ".", path).replace("_", "-")


def modules(family: str) -> dict[str, str]:
    """All kinds of a family, as `{name: module}`, in the order of their names."""
    found = dict(_files(family)) | dict(_entry_points(family))
    return dict(sorted(found.items(), key=lambda pair: _natural(pair[0])))


def _files(family: str) -> Iterator[tuple[str, str]]:
    package = f"prunefield.{family}"
    spec = util.find_spec(package)
    assert spec is not None, f"{package} is missing from the installation"
    for root in spec.submodule_search_locations or ():
        for file in Path(root).rglob("*.py"):
            path = file.relative_to(root).with_suffix("")
            if not any(part.startswith("_") for part in path.parts):
                yield name_of(path.as_posix()), ".".join((package, *path.parts))


def _entry_points(family: str) -> Iterator[tuple[str, str]]:
    from importlib.metadata import entry_points

    for point in entry_points(group=f"prunefield.{family}"):
        yield point.name, point.module


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts fig2 before fig10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
