"""The store: one folder per run, named by its kind and the hash of its settings.

    store.json                          the format of this store
    locks/KIND-ID                       held by the process that executes the run
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
        made.json                       versions, device and time that made it
        done.json                       the mark that it is finished, with the checksum of every file

A file appears whole or not at all, `done.json` last. Nothing read from here is ever executed. Listing, reading and
verifying write nothing, so a store may be read-only or belong to another user.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.core.errors import UsageError, unknown
from prunefield.core.files import cannot, make_folder, write_whole
from prunefield.lab.folder import Folder, encode_table, read_table

if TYPE_CHECKING:  # a list of runs needs no torch
    from prunefield.runs import Run

FORMAT = 1


class Store:
    """A folder of runs; the only object of prunefield with side effects."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        mark = self.root / "store.json"
        try:
            is_new = not mark.exists()
        except OSError as error:
            raise cannot("read", mark, error) from None
        if is_new:
            make_folder(self.root)
            write_whole(mark, encode_table({"format": FORMAT}))
        made = read_table(mark).get("format")
        if type(made) is not int or not 1 <= made <= FORMAT:
            raise UsageError(
                f"{self.root} is a store of format {made}, this version of prunefield reads formats up to {FORMAT}; "
                "upgrade it or choose another folder with --out"
            )

    def folder(self, run: "Run") -> Folder:
        """Where a run is kept."""
        return self[run.folder]

    def __getitem__(self, name: str) -> Folder:
        return Folder(self.root, name)

    def __iter__(self) -> Iterator[Folder]:
        return (self[name] for name in self.names())

    def names(self) -> list[str]:
        """The names of all runs."""
        path = self.root / "runs"
        try:
            with os.scandir(path) as entries:
                # A link in a circle is no folder; asked whether it is one, `entry` itself would fail.
                return sorted(
                    entry.name for entry in entries if entry.is_dir(follow_symlinks=False) or os.path.isdir(entry.path)
                )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise cannot("read", path, error) from None

    def match(self, name: str) -> Folder:
        """The run with this name, or the only one whose name or hash begins like this."""
        if not name:
            raise UsageError("the name of a run cannot be empty; `prunefield runs list` has them all")
        names = self.names()
        found = [other for other in names if other == name] or [
            other for other in names if other.startswith(name) or other.rpartition("-")[2].startswith(name)
        ]
        if len(found) > 1:
            raise UsageError(
                f"{name!r} is the beginning of {len(found)} run names; give more characters: {', '.join(found[:8])}"
            )
        if not found:
            raise unknown("run", name, names)
        return self[found[0]]
