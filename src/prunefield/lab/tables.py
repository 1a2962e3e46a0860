"""Tidy tables of runs: settings with dotted keys as columns, then what was recorded."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prunefield.core.plugin import PLAIN

if TYPE_CHECKING:
    from pandas import DataFrame


def find_varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys of flat settings that do not have one value in all of them, in the order of the settings."""
    keys: dict[str, None] = {}
    for table in settings:
        keys.update(dict.fromkeys(table))
    return [key for key in keys if _varies([table.get(key, "absent") for table in settings])]


def _varies(values: Sequence[Any]) -> bool:
    """Whether values differ; True is not 1, and 1 is not 1.0."""
    first, sort = values[0], type(values[0])
    if issubclass(sort, PLAIN):
        return any(value is not first and (type(value) is not sort or value != first) for value in values)
    text = json.dumps(first)
    return any(value is not first and (isinstance(value, PLAIN) or json.dumps(value) != text) for value in values)


def tabulate_records(
    entries: Iterable[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]], keys: Sequence[str] | None = None
) -> "DataFrame":
    """One row per record from pairs of flat settings and records: the settings `keys` (all by default), then values.

    A setting with the name of a value becomes `settings.NAME`.
    """
    from pandas import DataFrame

    pairs = list(entries)
    columns = list(dict.fromkeys(key for flat, _ in pairs for key in flat)) if keys is None else list(keys)
    values = list(dict.fromkeys(key for _, records in pairs for record in records for key in record))
    names = [f"settings.{key}" if key in values else key for key in columns]
    rows = [
        [*own, *map(record.get, values)]
        for flat, records in pairs
        for own in [[flat.get(key) for key in columns]]
        for record in records
    ]
    return DataFrame(rows, columns=[*names, *values])
