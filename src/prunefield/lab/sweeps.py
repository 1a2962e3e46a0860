"""Sweeps: which combinations of settings a study has.

    [sweep]                                            # a grid: every combination
    seed = [0, 1, 2]
    "task.g" = { low = 0.01, high = 3.0, count = 5, log = true }

    [sweep.zip]                                        # lists that are gone through together
    rounds = [4, 8]
    "task.categories" = [4, 10]

    [sweep.random]                                     # or [sweep.sobol], which fills the space more evenly
    count = 64
    seed = 0
    over = { "task.size" = { low = 20, high = 80 }, score = ["snip", "synflow"] }

Every point of the one part is combined with every point of the others; `skip = "task.g > 1 and seed > 0"` leaves
combinations out. `zip`, `random` and `sobol` may be lists of such tables. The words are those of `Study(sweep=…)`.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prunefield.core.errors import UsageError, unknown
from prunefield.lab.samples import draw_random, draw_sobol

Point = dict[str, Any]
PARTS = ("zip", "random", "sobol")
DIGITS = 6  # significant ones of drawn numbers, so that a run has the same name on every machine
MANY = 1_000_000  # samples
MOST = 1_000  # settings in one sample
LARGEST = 2**63  # in magnitude


class Part(NamedTuple):
    """Settings that are set together, and their values, point by point."""

    what: str
    keys: tuple[str, ...]
    points: Sequence[tuple[Any, ...]]


class Sweep:
    """The combinations in a table of plain values such as that of [sweep]."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.parts: list[Part] = []
        self.skip = ""
        for key, value in table.items():
            if key == "skip" and isinstance(value, str):
                self.skip = value
            elif key in PARTS and (tables := _list_tables(value)):
                self.parts += [READERS[key](one) for one in tables]
            else:
                self.parts.append(Part("", (key,), [(item,) for item in _list_values(key, value)]))
        if twice := [key for key in dict.fromkeys(self.keys) if self.keys.count(key) > 1]:
            raise UsageError(f"sweep sets {twice[0]} twice")

    @property
    def keys(self) -> list[str]:
        """The settings that the sweep sets."""
        return [key for part in self.parts for key in part.keys]

    def find_values(self, key: str) -> list[Any]:
        """The values of a setting that the sweep sets, in order, however often each occurs."""
        return [point[part.keys.index(key)] for part in self.parts if key in part.keys for point in part.points]

    @property
    def count(self) -> int:
        """How many combinations there are, those that are skipped included."""
        return math.prod(len(part.points) for part in self.parts)

    def __iter__(self) -> Iterator[Point]:
        keys = self.keys
        for values in itertools.product(*(part.points for part in self.parts)):
            yield dict(zip(keys, itertools.chain(*values), strict=True))

    def describe(self) -> str:
        """
        >>> Sweep({"seed": [0, 1], "zip": {"a": [1, 2, 3], "b": [4, 5, 6]}}).describe()
        'seed (2), zip of a, b (3)'
        """
        parts = [f"{part.what}{', '.join(part.keys)} ({len(part.points)})" for part in self.parts]
        return ", ".join(parts) + f"; skip: {self.skip}" * bool(self.skip)


def drop_key(table: dict[str, Any], key: str) -> None:
    """Ends the sweep over one setting, as `--set` does; a part of which nothing is left is gone."""
    table.pop(key, None)
    for part in PARTS:
        for one in _list_tables(table.get(part)):
            inner = one if part == "zip" else one.get("over")
            if isinstance(inner, dict) and inner.pop(key, None) is not None and not inner:
                one.clear()
        if (tables := _list_tables(table.get(part))) and not all(tables):
            table[part] = [one for one in tables if one]
            if not table[part]:
                del table[part]


def _list_tables(value: Any) -> list[dict[str, Any]]:
    """The table, or the tables in a list of tables; none for anything else."""
    items = value if isinstance(value, list) else [value]
    return items if items and all(isinstance(item, dict) for item in items) else []


def _list_values(key: str, value: Any) -> list[Any]:
    """The values of a grid: those in a list, or evenly spaced ones."""
    if isinstance(value, dict):
        count = _read_count(key, _check_keys(key, value, ("low", "high", "count", "log")))
        place = _read_range(key, value)
        low, high = value["low"], value["high"]
        if isinstance(low, int) and isinstance(high, int) and not value.get("log"):
            steps = [low + round(step * (high - low) / max(1, count - 1)) for step in range(count)]
        else:
            steps = [place(step / max(1, count - 1)) for step in range(count)]
        return list(dict.fromkeys(steps))
    if not isinstance(value, list) or not value:
        raise UsageError(
            f"sweep takes non-empty lists, such as {key} = [0, 1, 2], or {{ low = 0, high = 1, count = 5 }}, "
            f"not {value!r:.100}"
        )
    return value


def _read_zip(table: dict[str, Any]) -> Part:
    lists = {key: _list_values(key, value) for key, value in table.items()}
    lengths = {key: len(values) for key, values in lists.items()}
    if not lengths or len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} has {length}" for key, length in lengths.items()) or "it is empty"
        raise UsageError(f"the lists of sweep.zip must all have the same length: {told}")
    return Part("zip of ", tuple(lists), list(zip(*lists.values(), strict=True)))


def _read_samples(what: str, draw: Callable[[int, int, Sequence[str]], list[list[float]]]) -> Any:
    """A reader of [sweep.random] or [sweep.sobol]; `draw` gives numbers in [0, 1), one list per setting."""

    def read(table: dict[str, Any]) -> Part:
        name = f"sweep.{what}"
        over, seed = _check_keys(name, table, ("count", "seed", "over")).get("over"), table.get("seed", 0)
        count = _read_count(name, table)
        if not isinstance(over, dict) or not 0 < len(over) <= MOST:
            raise UsageError(f'{name} needs settings: over = {{ "task.g" = {{ low = 0.01, high = 3.0, log = true }} }}')
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise UsageError(f"the seed of {name} must be a whole number, not {seed!r:.100}")
        places = [_read_domain(key, value) for key, value in over.items()]
        columns = [
            [place(at) for at in units] for place, units in zip(places, draw(count, seed, list(over)), strict=True)
        ]
        return Part(f"{what} of ", tuple(over), list(zip(*columns, strict=True)))

    return read


def _read_domain(key: str, value: Any) -> Callable[[float], Any]:
    """What a number in [0, 1) becomes: an item of a list, or a number between `low` and `high`."""
    if isinstance(value, dict):
        return _read_range(key, _check_keys(key, value, ("low", "high", "log")))
    items = _list_values(key, value)
    return lambda at: items[int(at * len(items))]


def _read_range(key: str, table: Mapping[str, Any]) -> Callable[[float], Any]:
    """From [0, 1] to [low, high]: whole numbers if both are, evenly on a logarithmic scale with `log`."""
    low, high, log = table.get("low"), table.get("high"), table.get("log", False)
    numbers = [value for value in (low, high) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < 2 or not -LARGEST < numbers[0] < numbers[1] < LARGEST:
        raise UsageError(f"{key}: low must be a number below high, not {low!r:.50} and {high!r:.50}")
    if not isinstance(log, bool) or (log and numbers[0] <= 0):
        raise UsageError(f"{key}: log must be true or false, and low positive for a logarithmic scale")
    low, high = numbers
    is_whole = isinstance(low, int) and isinstance(high, int)
    first, last = (low, high + 1) if is_whole else (low, high)

    def place(at: float) -> Any:
        found = first * (last / first) ** at if log else first + at * (last - first)
        return min(int(found), high) if is_whole else float(f"{min(max(found, low), high):.{DIGITS}g}")

    return place


def _read_count(name: str, table: Mapping[str, Any]) -> int:
    count = table.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MANY:
        raise UsageError(f"the count of {name} must be a whole number from 1 to {MANY:,}, not {count!r:.100}")
    return count


def _check_keys(name: str, table: dict[str, Any], allowed: Sequence[str]) -> dict[str, Any]:
    for key in table:
        if key not in allowed:
            raise unknown(f"key of {name}", key, allowed)
    return table


READERS: dict[str, Callable[[dict[str, Any]], Part]] = {
    "zip": _read_zip,
    "random": _read_samples("random", draw_random),
    "sobol": _read_samples("sobol", draw_sobol),
}
