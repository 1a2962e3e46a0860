"""Lists of runs for people: kind, what varies, seed, the items that use a run, date and size, not only a hash."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING, Any

from prunefield.core.errors import StoreError
from prunefield.core.files import make_folder, write_whole
from prunefield.core.settings import flatten_settings
from prunefield.lab.json_files import encode_table, read_table
from prunefield.lab.tables import find_varying

if TYPE_CHECKING:  # a list of runs needs no torch
    from prunefield.lab.folder import RunFolder


def write_owner(root: Path, item: str, scale: str, runs: Iterable[str]) -> None:
    """Writes `items/PAPER/ITEM-SCALE.json` of a store: the names of the runs that an item uses."""
    path = root / "items" / f"{item}-{scale}.json"
    data = encode_table({"item": item, "scale": scale, "runs": list(runs)})
    make_folder(path.parent, chosen_by="--store")
    if not path.exists() or path.read_bytes() != data:
        write_whole(path, data, chosen_by="--store")


def read_owners(root: Path) -> dict[str, list[str]]:
    """For each run of a store the items that use it, as far as they were reproduced there."""
    owners: dict[str, list[str]] = {}
    for path in sorted((root / "items").glob("*/*.json")):
        with suppress(StoreError):
            table = read_table(path)
            item, runs = table.get("item"), table.get("runs")
            if not isinstance(item, str) or not isinstance(runs, list):
                continue
            for run in filter(lambda run: isinstance(run, str), runs):
                if item not in owners.setdefault(run, []):
                    owners[run].append(item)
    return owners


def distinguish_settings(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For the settings of each run its `seed` and, as text, what tells it from the others of its kind.

    >>> distinguish_settings([{"kind": "neuron", "seed": 0, "task": {"kind": "nlgp", "g": g}} for g in (1, 3)])
    [{'seed': 0, 'varies': 'task.g=1'}, {'seed': 0, 'varies': 'task.g=3'}]

    A setting that only some kinds of task have varies if it does so among these.

    >>> tasks = ({"kind": "nlgp", "g": 1}, {"kind": "kur", "k": 4}, {"kind": "kur", "k": 5})
    >>> [run["varies"] for run in distinguish_settings([{"kind": "neuron", "task": task} for task in tasks])]
    ['task=nlgp', 'task=kur, task.k=4', 'task=kur, task.k=5']
    """
    flat = [flatten_settings(table) for table in settings]
    kinds = [table.get("kind") for table in flat]
    varying = {kind: _rank_keys([one for one in flat if one.get("kind") == kind]) for kind in dict.fromkeys(kinds)}
    values: dict[tuple[object, ...], set[str]] = {}
    for one, kind in zip(flat, kinds, strict=True):
        for key in varying[kind]:
            values.setdefault(_name_group(one, key), set()).add(repr(one.get(key, "absent")))
    return [
        {
            "seed": one.get(_find_seed(tuple(one))),
            "varies": ", ".join(
                [
                    f"{_shorten_key(key)}={_show(one[key])}"
                    for key in varying[kind]
                    if key in one and (_is_kind(key) or len(values[_name_group(one, key)]) > 1)
                ]
            ),
        }
        for one, kind in zip(flat, kinds, strict=True)
    ]


def _rank_keys(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that vary, except for seeds: kinds first, then those with the most values, which tell most."""
    keys = [key for key in find_varying(tables) if not _is_seed(key)]
    counts = {key: len({str(table.get(key)) for table in tables}) for key in keys}
    return sorted(keys, key=lambda key: (not _is_kind(key), -counts[key]))


def _name_group(table: Mapping[str, Any], key: str) -> tuple[object, ...]:
    """The runs among which a setting can vary: those whose setting belongs to the same kind of thing."""
    place = key.rpartition(".")[0]
    return table.get("kind"), key, table.get(f"{place}.kind" if place else "kind")


def _is_kind(key: str) -> bool:
    return key == "kind" or key.endswith(".kind")


def _is_seed(key: str) -> bool:
    return key == "seed" or key.endswith(".seed")


@lru_cache(maxsize=64)
def _find_seed(keys: tuple[str, ...]) -> str:
    """The first seed among the keys of flat settings."""
    return next(filter(_is_seed, keys), "")


def _shorten_key(key: str) -> str:
    """
    >>> _shorten_key("of.task.kind"), _shorten_key("task.g")
    ('of.task', 'task.g')
    """
    return key.removesuffix(".kind")


def _show(value: Any) -> str:
    if isinstance(value, tuple):
        return "×".join(map(_show, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def describe_runs(folders: "Sequence[RunFolder]") -> list[dict[str, Any]]:
    """One row for each run of a store: kind, seed, what varies, items, date and bytes; None for what is not known."""
    owners = read_owners(folders[0].root) if folders else {}
    tables = [_read_settings(folder) for folder in folders]
    rows = zip(folders, distinguish_settings(tables), strict=True)
    return [
        {"kind": folder.kind, **told, "items": owners.get(folder.name, []), **measure_folder(folder)}
        for folder, told in rows
    ]


def _read_settings(folder: "RunFolder") -> dict[str, Any]:
    try:
        return {"kind": folder.kind, **folder.table("settings")}
    except StoreError:  # damaged: for `verify` to find
        return {"kind": folder.kind}


def measure_folder(folder: "RunFolder") -> dict[str, Any]:
    """When a run was last written, and the bytes of its files."""
    size, last = 0, 0.0
    with suppress(OSError), os.scandir(f"{folder.root}/runs/{folder.name}") as entries:  # `pathlib` would take longer
        for entry in entries:
            with suppress(OSError):
                found = entry.stat()
                size, last = size + found.st_size, max(last, found.st_mtime)
    return {"date": _show_date(int(last) // 60) if last else None, "bytes": size}


def measure_finished(folder: "RunFolder") -> dict[str, Any]:
    """The same for a finished run, whose own date is right in a copy of a store, too."""
    measured = measure_folder(folder)
    with suppress(StoreError):
        if isinstance(finished := folder.table("made").get("finished"), str):
            measured["date"] = finished[:16].replace("T", " ")
    return measured


@lru_cache(maxsize=1024)
def _show_date(minutes: int) -> str:
    """The time, this many minutes after 1970."""
    return strftime("%Y-%m-%d %H:%M", gmtime(60 * minutes))
