"""Studies of one's own: a TOML file with the settings of a run, and perhaps a grid of values to sweep over.

kind = "imp"
rounds = 6
task = { kind = "leaves", classes = 4 }

[sweep]                      # only for `prunefield sweep`: every combination is one run
seed = [0, 1, 2]
"task.classes" = [4, 10]
"""

import itertools
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prunefield.errors import UsageError
from prunefield.runs import Run


def read(path: Path, changes: Iterable[str] = ()) -> list[Run]:
    """The runs of a study, with changes such as `task.g=3` made to it: one, or one for each point of its sweep."""
    table = _load(path)
    grid = table.pop("sweep", {})
    if not isinstance(grid, dict) or not all(isinstance(values, list) and values for values in grid.values()):
        raise UsageError(f"{path}: [sweep] takes lists that are not empty, such as seed = [0, 1, 2]")
    for text in changes:
        grid.pop(text.partition("=")[0].strip(), None)
        change(table, text)
    runs = []
    for point in itertools.product(*grid.values()):
        settings = _copy(table)
        for key, value in zip(grid, point, strict=True):
            _put(settings, key, value)
        try:
            runs.append(Run.parse(settings))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
    return runs


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def change(table: dict[str, Any], text: str) -> None:
    """Makes a change such as `task.g=3` to a table of settings."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"a setting is written key=value, got {text!r}")
    _put(table, key.strip(), _value(value))


def _value(text: str) -> Any:
    """A value as TOML writes it; anything else is a string, so that quotes can be left out."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for part in path:
        inner = table.get(part, {})
        table[part] = {"kind": inner} if isinstance(inner, str) else dict(inner)
        table = table[part]
    table[last] = value


def _copy(value: Any) -> Any:
    return {key: _copy(item) for key, item in value.items()} if isinstance(value, dict) else value
