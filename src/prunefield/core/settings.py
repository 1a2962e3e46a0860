"""Settings as people write them: one reader for NAME,KEY=VALUE, for `--set`, for TOML and for tables from Python.

In every one of them a dot leads into nested settings (`task.g`), and where a table is expected a name will do.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from prunefield.core.errors import UsageError

DEEPEST = 32  # tables and lists in each other
NESTS = frozenset((dict, list))


def read_settings(text: str) -> dict[str, Any]:
    """NAME[,KEY=VALUE…] as a table.

    >>> read_settings("clone,of=nlgp,of.g=3,per_class=50")
    {'kind': 'clone', 'of': {'kind': 'nlgp', 'g': 3}, 'per_class': 50}
    """
    kind, *settings = split_settings(text)
    table: dict[str, Any] = {"kind": kind}
    for setting in sorted(settings, key=count_dots):
        change_setting(table, setting)
    return table


def count_dots(setting: str) -> int:
    """The dots in the key of `key` or `key=value`: the order of putting, so that a table does not erase what is in it.

    >>> sorted(["task.g=0.5", "task=nlgp", "seed=1"], key=count_dots)
    ['task=nlgp', 'seed=1', 'task.g=0.5']
    """
    return setting.partition("=")[0].count(".")


def change_setting(table: dict[str, Any], text: str) -> str:
    """Makes a change such as `task.g=3` to a table, and returns its key."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"a setting is written key=value, not {text!r}")
    put_setting(table, key.strip(), _read_value(key.strip(), value))
    return key.strip()


def put_setting(table: dict[str, Any], key: str, value: Any) -> None:
    """Puts a value under a dotted key; tables inside of `table` are copied before they are changed.

    >>> table = {"task": "nlgp"}
    >>> put_setting(table, "task.g", 3)
    >>> table
    {'task': {'kind': 'nlgp', 'g': 3}}
    """
    if "." not in key:  # most keys, hundreds of thousands of times in a sweep
        table[key] = value
        return
    *path, last = key.split(".")
    if len(path) > DEEPEST:
        raise UsageError(f"the key {key[:100]!r} is nested more than {DEEPEST} deep")
    for place, part in enumerate(path):
        inner = table.get(part, {})
        if not isinstance(inner, Mapping | str):
            own = ".".join(path[: place + 1])
            raise UsageError(f"{own} is {repr(inner)[:100]}, which has no settings of its own, so {key} cannot be set")
        table[part] = read_settings(inner) if isinstance(inner, str) else dict(inner)
        table = table[part]
    table[last] = value


def has_setting(table: Any, key: str) -> bool:
    """Whether settings as people write them have a value under a dotted key.

    >>> table = {"seed": 1, "task": "nlgp,g=3"}
    >>> has_setting(table, "seed"), has_setting(table, "task.g"), has_setting(table, "task.size")
    (True, True, False)
    """
    for part in key.split("."):
        table = read_settings(table) if isinstance(table, str) else table
        if not isinstance(table, Mapping) or part not in table:
            return False
        table = table[part]
    return True


def flatten_settings(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings with dotted keys, also those in lists; other lists become tuples.

    >>> flatten_settings({"seed": 1, "task": {"g": 3, "shape": [2, 2]}, "of": [{"seed": 0}]})
    {'seed': 1, 'task.g': 3, 'task.shape': (2, 2), 'of.0.seed': 0}
    """
    if isinstance(settings, list) and any(isinstance(item, dict) for item in settings):
        settings = {str(place): item for place, item in enumerate(settings)}
    if not isinstance(settings, dict):
        return {prefix: tuple(settings) if isinstance(settings, list) else settings}
    if not prefix and NESTS.isdisjoint(map(type, settings.values())):  # flat: a plan has hundreds of thousands
        return dict(settings)
    dot, flat = f"{prefix}." if prefix else "", {}
    for own, value in settings.items():
        if isinstance(value, dict | list):
            flat |= flatten_settings(value, dot + own)
        else:
            flat[dot + own] = value
    return flat


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


def read_toml(text: str) -> dict[str, Any]:
    """TOML as a table with a limited depth of nesting; ValueError says what is wrong with it."""
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


def _read_value(key: str, text: str) -> Any:
    """A value as TOML writes it; anything else is a string, so that quotes can be left out."""
    try:
        found = read_toml(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text.strip()
    except ValueError as error:  # a number with too many digits, or nested too deep
        raise UsageError(f"{key}: {error}") from None
    return found["value"] if len(found) == 1 else text.strip()
