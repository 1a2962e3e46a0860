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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prunefield.core.errors import UsageError
from prunefield.core.settings import change_setting, put_setting, read_toml
from prunefield.core.sizes import read_start
from prunefield.runs import Run

LONGEST = 4_000_000  # bytes of a study: a list of half a million seeds


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
            settings = dict(self.table)
            try:
                for key, value in zip(self.grid, point, strict=True):
                    put_setting(settings, key, value)
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
        grid.pop(change_setting(table, text), None)
    return Study(path, table, grid)


def _load(path: Path) -> dict[str, Any]:
    content = read_start(path, LONGEST, "a study")
    try:
        return read_toml(content.decode())
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
