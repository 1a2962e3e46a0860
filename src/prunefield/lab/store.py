"""The store: one folder per run, named by its kind and the hash of its settings.

    store.json                          the format of this store
    locks/KIND-ID                       held by the process that executes the run
    engines/NAME/                       what an engine keeps: jobs in the queue of a cluster, logs of runs
    runs/KIND-ID/
        settings.json                   all settings, defaults included
        checkpoint.safetensors          the last safe point, while the run is unfinished: state, RNGs, records so far
        checkpoint-before.safetensors   the safe point before it
        damaged-checkpoint….safetensors a safe point whose checksum was wrong
        progress                        the fraction done, while it runs
        failure.json                    why it stopped, if it failed, and the records up to the failure
        failure.safetensors             their tensors
        records.json                    the values of every record
        tensors.safetensors             their tensors, named INDEX/NAME
        state.safetensors               the last state: weights, RNGs
        made.json                       versions, processor, device and time that made it
        done.json                       the mark that it is finished, with the checksum of every file

A file appears whole or not at all, `done.json` last. Nothing read from here is ever executed. Listing, reading and
verifying write nothing, so a store may be read-only or belong to another user.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.core.errors import UsageError, unknown
from prunefield.core.files import cannot, default_store, make_folder, store_option, write_whole
from prunefield.core.settings import flatten_settings
from prunefield.lab.folder import RunFolder
from prunefield.lab.json_files import encode_table, read_table
from prunefield.lab.tables import tabulate_records

if TYPE_CHECKING:  # a list of runs needs no torch
    from pandas import DataFrame

    from prunefield.runs import Run

FORMAT = 1
FEW = 3  # names of runs that an error lists: they are long


class Store:
    """A folder of runs; the only object of prunefield with side effects.

    Without `create`, a store that is not there yet is made by the first thing that is written to it.
    """

    def __init__(self, root: Path | str, *, create: bool = True) -> None:
        if not isinstance(root, str | os.PathLike):
            raise UsageError(f"a store is a folder, as in Store('my-store'), not {root!r:.100}")
        self.root = Path(root)
        if create:
            self.create()
        if not self.is_new:
            self._check_format()

    @property
    def _mark(self) -> Path:
        return self.root / "store.json"

    @property
    def is_new(self) -> bool:
        """Whether there is no such store yet."""
        try:
            return not self._mark.exists()
        except OSError as error:
            raise cannot("read", self._mark, error, chosen_by="--store") from None

    def create(self) -> None:
        """Makes the folder, unless it is a store already. Whoever writes to a store calls this first."""
        if self.is_new:
            make_folder(self.root, chosen_by="--store")
            write_whole(self._mark, encode_table({"format": FORMAT}), chosen_by="--store")

    def _check_format(self) -> None:
        made = read_table(self._mark).get("format")
        if type(made) is not int or not 1 <= made <= FORMAT:
            raise UsageError(
                f"{self.root} is a store of format {made}, this version of prunefield reads formats up to {FORMAT}; "
                "upgrade it or choose another folder with --store"
            )

    def folder(self, run: "Run") -> RunFolder:
        """Where a run is kept."""
        return self[run.folder]

    def __getitem__(self, name: str) -> RunFolder:
        return RunFolder(self.root, name)

    def __iter__(self) -> Iterator[RunFolder]:
        return (self[name] for name in self.names())

    def names(self) -> list[str]:
        """The names of all runs."""
        path = self.root / "runs"
        try:
            with os.scandir(path) as entries:
                # A circular link is not a folder; `entry.is_dir` would fail on it.
                return sorted(
                    entry.name for entry in entries if entry.is_dir(follow_symlinks=False) or os.path.isdir(entry.path)
                )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise cannot("read", path, error, chosen_by="--store") from None

    def match(self, name: str) -> RunFolder:
        """The run with this name, or the only one whose name or hash begins like this."""
        return self[match_name("run", name, self.names(), f"prunefield runs list{store_option(self.root)}")]

    def frame(self, kind: str | None = None, *, records: bool = False) -> "DataFrame":
        """One row for each finished run, or for each of its `records`: name, settings with dotted keys, values.

        The values of a run are those of its last record. Nothing is read but settings and values.
        """
        if kind is not None:
            self.check_kind(kind)
        return tabulate_runs((folder for folder in self if kind in (None, folder.kind)), records=records)

    def check_kind(self, kind: str) -> None:
        """Refuses a kind of which the store has no run."""
        kinds = sorted({folder.kind for folder in self})
        if kind not in kinds:
            raise unknown("kind of run in this store", kind, kinds)

    def __repr__(self) -> str:
        return f"<Store: {self.root}, {len(self.names()):,} runs>"

    def _repr_html_(self) -> str:
        counts = Counter((folder.kind, folder.status) for folder in self)
        rows = "".join(
            f"<tr><td>{escape(kind)}</td><td>{status}</td><td>{count:,}</td></tr>"
            for (kind, status), count in sorted(counts.items())
        )
        head = "<tr><th>kind</th><th>status</th><th>runs</th></tr>"
        return f"<p><b>Store: {escape(str(self.root))}</b></p><table>{head}{rows}</table>"


def match_name(what: str, name: str, names: Sequence[str], see: str = "") -> str:
    """The one of `names` that is `name`, or the only one that begins, or whose hash begins, like this.

    `see` is a command that lists them.
    """
    if not name:
        raise UsageError("the name of a run cannot be empty; `prunefield runs list` shows them all")
    found = [other for other in names if other == name] or [
        other for other in names if other.startswith(name) or other.rpartition("-")[2].startswith(name)
    ]
    if len(found) > 1:
        few = f"{', '.join(found[:3])}{' …' * (len(found) > 3)}"
        raise UsageError(f"{name!r} is the beginning of {len(found)} run names; give more characters: {few}")
    if not found:
        raise unknown(what, name, names, see, few=FEW)
    return found[0]


def tabulate_runs(folders: Iterable[RunFolder], *, records: bool = False) -> "DataFrame":
    """One row for each finished run, or for each of its `records`."""
    entries = []
    for folder in folders:
        if folder.is_done:
            rows, flat = folder.read_values(), flatten_settings(folder.table("settings"))
            entries.append(({"run": folder.name, **flat}, rows if records else rows[-1:] or [{}]))
    return tabulate_records(entries)


def find_store(place: Store | Path | str | None = None) -> Store | None:
    """The store in a folder, by default in PRUNEFIELD_STORE or `prunefield-out`; None if there is none.

    A store that may not be read counts as one, and is refused when it is opened.
    """
    if isinstance(place, Store):
        return place
    root = default_store() if place is None else place
    if not isinstance(root, str | os.PathLike):
        return Store(root)
    root = Path(root)
    try:
        is_there = (root / "store.json").exists()
    except PermissionError:
        is_there = True
    return Store(root) if is_there else None


def read_store(place: Store | Path | str | None = None) -> Store:
    """The store in a folder, which must be there."""
    store, root = find_store(place), default_store() if place is None else place
    if store is None:
        raise UsageError(f"no store in {root}; to create one, run: prunefield reproduce --scale smoke --store {root}")
    return store


def open_store(place: Store | Path | str | None = None) -> Store:
    """The store in a folder, by default in PRUNEFIELD_STORE or `prunefield-out`; made when something is written."""
    return place if isinstance(place, Store) else Store(default_store() if place is None else place, create=False)
