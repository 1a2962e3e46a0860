"""Studies: a TOML file with the settings of a run, and optionally a grid of values to sweep over.

kind = "imp"
rounds = 6
task = { kind = "leaves", categories = 4 }

[sweep]                      # only for `prunefield sweep`: every combination is one run
seed = [0, 1, 2]
"task.categories" = [4, 10]
"""

import itertools
import math
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prunefield.core.errors import UsageError
from prunefield.core.sizes import read_start
from prunefield.runs import Run

LONGEST = 4_000_000  # bytes of a study: a list of half a million seeds
DEEPEST = 32  # tables and lists in each other


@dataclass(frozen=True)
class Study:
    """The runs of a study, which are counted without being made."""

    path: Path
    table: dict[str, Any]
    grid: dict[str, list[Any]]

    @property
    def count(self) -> int:
        """How many runs there are: the product of the lengths in the sweep."""
        return math.prod(map(len, self.grid.values()))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Run]:
        for point in itertools.product(*self.grid.values()):
            settings = _copy(self.table)
            try:
                for key, value in zip(self.grid, point, strict=True):
                    _put(settings, key, value)
                yield Run.parse(settings)
            except UsageError as error:
                raise UsageError(f"{self.path}: {error}") from None


def read(path: Path, changes: Iterable[str] = ()) -> Study:
    """A study, with changes such as `task.g=3` made to it: one run, or one for each point of its sweep."""
    table = _load(path)
    grid = table.pop("sweep", {})
    if not isinstance(grid, dict) or not all(isinstance(values, list) and values for values in grid.values()):
        raise UsageError(f"{path}: [sweep] takes non-empty lists, such as seed = [0, 1, 2]")
    for text in changes:
        grid.pop(text.partition("=")[0].strip(), None)
        change(table, text)
    return Study(path, table, grid)


def _load(path: Path) -> dict[str, Any]:
    content = read_start(path, LONGEST, "a study")
    try:
        return _parse(content.decode())
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _parse(text: str) -> dict[str, Any]:
    """TOML as a table with a limited depth of nesting."""
    deep = f"tables or lists are nested more than {DEEPEST} deep"
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(deep) from None
    level: list[Any] = [table]
    for _ in range(DEEPEST + 1):
        inner = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inner if isinstance(item, dict | list)]
    if level:
        raise ValueError(deep)
    return table


def change(table: dict[str, Any], text: str) -> None:
    """Makes a change such as `task.g=3` to a table of settings."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"a setting is written key=value, not {text!r}")
    _put(table, key.strip(), _value(key.strip(), value))


def split_settings(text: str) -> list[str]:
    """Cuts NAME,KEY=VALUE,… at its commas, but not inside of lists, tables and quoted text.

    >>> split_settings("nlgp,lengthscales=[1.0,3.0],name='a,b'")
    ['nlgp', 'lengthscales=[1.0,3.0]', "name='a,b'"]
    """
    parts: list[list[str]] = [[]]
    quote, depth, before = "", 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'" and before in ("=", "[", "{", ","):  # inside of a word it is an apostrophe
            quote = sign
        else:
            depth += (sign in "[{") - (sign in "]}")
        if sign == "," and depth <= 0 and not quote:
            parts.append([])
        else:
            parts[-1].append(sign)
        before = before if sign == " " else sign
    return ["".join(part) for part in parts]


def _value(key: str, text: str) -> Any:
    """A value as TOML writes it; anything else is a string, so that quotes can be left out."""
    try:
        found = _parse(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text.strip()
    except ValueError as error:  # a number with too many digits, or nested too deep
        raise UsageError(f"{key}: {error}") from None
    return found["value"] if len(found) == 1 else text.strip()


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    if len(path) > DEEPEST:
        raise UsageError(f"the key {key[:100]!r} is nested more than {DEEPEST} deep")
    for place, part in enumerate(path):
        inner = table.get(part, {})
        if not isinstance(inner, dict | str):
            own = ".".join(path[: place + 1])
            raise UsageError(f"{own} is {repr(inner)[:100]}, which has no settings of its own, so {key} cannot be set")
        table[part] = {"kind": inner} if isinstance(inner, str) else dict(inner)
        table = table[part]
    table[last] = value


def _copy(value: Any) -> Any:
    return {key: _copy(item) for key, item in value.items()} if isinstance(value, dict) else value
