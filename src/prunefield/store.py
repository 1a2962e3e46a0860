"""The store: one folder per run, named by its kind and the hash of its settings.

    store.json                   the format of this store
    locks/KIND-ID                held by the process that executes the run
    runs/KIND-ID/
        settings.json            all settings, defaults included
        checkpoint.safetensors   the last safe point, while the run is unfinished: state, RNGs, records so far
        progress                 the fraction behind us, while it runs
        failure.json             why it stopped, if it failed, and the records until then
        failure.safetensors      their tensors
        records.json             the values of every record
        tensors.safetensors      their tensors, named INDEX/NAME
        state.safetensors        the last state: weights, RNGs
        made.json                versions, device and time that made it
        done.json                the mark that it is finished, with the checksum of every file

A file appears whole or not at all, `done.json` last. Nothing read from here is ever executed.
"""

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.numpy import save
from safetensors.torch import load
from torch import Tensor

from prunefield.errors import StoreError, UsageError, unknown
from prunefield.files import cannot, checksum, make_folder, write_whole
from prunefield.runs import Record, Result, Run, State

FORMAT = 1
Status = Literal["done", "running", "stopped", "failed", "damaged"]


class Store:
    """A folder of runs; the only object of prunefield with side effects."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        mark = self.root / "store.json"
        if not mark.exists():
            make_folder(self.root)
            write_whole(mark, _json({"format": FORMAT}))
        made = _parse(mark).get("format")
        if not isinstance(made, int) or made > FORMAT:
            raise UsageError(
                f"{self.root} is a store of format {made}, this prunefield knows formats up to {FORMAT}; "
                "upgrade prunefield or name another folder with --out"
            )
        make_folder(self.root / "runs")
        make_folder(self.root / "locks")

    def folder(self, run: Run) -> "Folder":
        """Where a run is kept."""
        return self[run.folder]

    def __getitem__(self, name: str) -> "Folder":
        return Folder(self.root / "runs" / name, self.root / "locks" / name)

    def __iter__(self) -> Iterator["Folder"]:
        return (self[path.name] for path in sorted((self.root / "runs").iterdir()) if path.is_dir())

    def match(self, name: str) -> "Folder":
        """The run with this name, or the only one whose name or hash begins like this."""
        names = [folder.name for folder in self]
        found = [other for other in names if other == name] or [
            other for other in names if other.startswith(name) or other.rpartition("-")[2].startswith(name)
        ]
        if len(found) > 1:
            raise UsageError(f"{name!r} is the beginning of {len(found)} runs; give more of it: {', '.join(found[:8])}")
        if not found:
            raise unknown("run", name, names)
        return self[found[0]]


@dataclass(frozen=True)
class Folder:
    """One run in a store."""

    path: Path
    lock_path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def lock(self) -> FileLock:
        """Held by whoever executes or removes the run; the system lets go of it when a process dies."""
        return FileLock(self.lock_path)

    @property
    def is_done(self) -> bool:
        return (self.path / "done.json").exists()

    # -- what a run that is under way leaves behind -------------------------------------------------------------

    def begin(self, run: Run) -> None:
        """Makes the folder and writes the settings."""
        make_folder(self.path)
        for part in self.path.glob(".*.part"):  # of a process that was killed while it wrote
            part.unlink()
        for name in ("failure.json", "failure.safetensors"):
            (self.path / name).unlink(missing_ok=True)
        write_whole(self.path / "settings.json", _json(run.settings()))

    def save(self, state: State, records: list[Record]) -> None:
        """Writes a safe point: one file, so that state and records always belong together."""
        tensors = {f"state/{key}": tensor for key, tensor in state.snapshot().items()}
        tensors |= {f"records/{key}": tensor for key, tensor in _tensors(records).items()}
        values = {"state": state.values, "records": [record.values for record in records]}
        write_whole(self.path / "checkpoint.safetensors", _pack(tensors, {"values": _dump(values)}))

    def saved(self) -> tuple[dict[str, Any], dict[str, Tensor], list[Record]]:
        """The last safe point: values and tensors of the state, and the records so far. Empty for a new run."""
        path = self.path / "checkpoint.safetensors"
        if not path.exists():
            return {}, {}, []
        tensors, values = _unpack(path)
        state = {key.removeprefix("state/"): tensor for key, tensor in tensors.items() if key.startswith("state/")}
        rest = {key.removeprefix("records/"): item for key, item in tensors.items() if key.startswith("records/")}
        return values["state"], state, _records(values["records"], rest)

    def finish(self, state: State, records: list[Record], made: Mapping[str, Any]) -> None:
        """Writes the results, then the mark that they are complete."""
        files = {
            "settings.json": (self.path / "settings.json").read_bytes(),
            "records.json": _json([record.values for record in records]),
            "tensors.safetensors": _pack(_tensors(records), {}),
            "state.safetensors": _pack(state.snapshot(), {"values": _dump(state.values)}),
        }
        digest = checksum("".join(checksum(data) for data in files.values()).encode())
        files["made.json"] = _json(made)
        for name, data in files.items():
            write_whole(self.path / name, data)
        sums = {name: checksum(data) for name, data in files.items()}
        write_whole(self.path / "done.json", _json({"digest": digest, "files": sums}))
        for name in ("checkpoint.safetensors", "progress"):
            (self.path / name).unlink(missing_ok=True)

    def fail(self, message: str, traceback: str, records: list[Record]) -> None:
        """Writes why the run failed, and what it had recorded until then."""
        values = [{key: _finite(value) for key, value in record.values.items()} for record in records]
        found = {"message": message, "traceback": traceback, "records": values}
        write_whole(self.path / "failure.safetensors", _pack(_tensors(records), {}))
        write_whole(self.path / "failure.json", _json(found))

    def show_progress(self, fraction: float) -> None:
        """For progress bars in any process; losing it would harm nothing, so it is not written with care."""
        (self.path / "progress").write_text(f"{fraction:.4f}")

    def progress(self) -> float:
        try:
            return float((self.path / "progress").read_text())
        except (OSError, ValueError):
            return 0.0

    # -- what a finished run gives back -------------------------------------------------------------------------

    def read(self) -> Result:
        """The records of a finished run, checked against their checksums."""
        for problem in self.problems():
            raise StoreError(f"{self.name} is damaged: {problem}; {self.remedy}")
        values = json.loads((self.path / "records.json").read_bytes())
        tensors, _ = _unpack(self.path / "tensors.safetensors")
        return Result(_records(values, tensors), _parse(self.path / "done.json")["digest"])

    def table(self, name: str) -> dict[str, Any]:
        """`settings`, `made`, `done` or `failure`; empty where there is none."""
        path = self.path / f"{name}.json"
        return _parse(path) if path.exists() else {}

    @property
    def remedy(self) -> str:
        return f"run `prunefield runs remove {self.name}` and repeat the command that made it"

    def problems(self) -> list[str]:
        """What is wrong with the files of a finished run, one line per file."""
        try:
            sums = _parse(self.path / "done.json")["files"]
            return [problem for name, sha in sums.items() if (problem := _problem(self.path / name, sha))]
        except (StoreError, KeyError, AttributeError):
            return ["done.json is unreadable"]

    @property
    def status(self) -> Status:
        if self.is_done:
            return "damaged" if self.problems() else "done"
        try:
            with self.lock.acquire(timeout=0):
                return "failed" if (self.path / "failure.json").exists() else "stopped"
        except Timeout:
            return "running"

    def remove(self) -> None:
        """Deletes the run; one that is being executed is left alone."""
        try:
            with self.lock.acquire(timeout=0):
                (self.path / "done.json").unlink(missing_ok=True)  # first, so that half a folder never looks finished
                shutil.rmtree(self.path)
        except Timeout:
            raise UsageError(f"{self.name} is being executed; stop it first") from None
        except OSError as error:
            raise cannot("remove", self.path, error) from None


def _problem(path: Path, sha: str) -> str | None:
    try:
        data = path.read_bytes()
    except OSError:
        return f"{path.name} is missing"
    return None if checksum(data) == sha else f"{path.name} was truncated or edited"


def _tensors(records: list[Record]) -> dict[str, Tensor]:
    return {f"{index}/{name}": item for index, record in enumerate(records) for name, item in record.tensors.items()}


def _records(values: list[dict[str, Any]], tensors: Mapping[str, Tensor]) -> list[Record]:
    records = [Record(row) for row in values]
    for key, tensor in tensors.items():
        index, _, name = key.partition("/")
        records[int(index)].tensors[name] = tensor
    return records


def _pack(tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> bytes:
    """One key of metadata at most: with more, their order in the file would be random."""
    # Through NumPy: the same bytes as from torch, in a third of the time for many small tensors.
    arrays = {key: tensor.detach().cpu().contiguous().numpy() for key, tensor in tensors.items()}
    return save(arrays, metadata or None)


def _unpack(path: Path) -> tuple[dict[str, Tensor], Any]:
    try:
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        # Cloned, because a product's last bits may depend on how memory is aligned, and a file's is not like torch's.
        tensors = {key: tensor.clone() for key, tensor in load(data).items()}
        return tensors, json.loads(header.get("__metadata__", {}).get("values", "null"))
    except (SafetensorError, ValueError) as error:
        folder = path.parent.name
        raise StoreError(
            f"{folder} is damaged: {path.name} is unreadable ({error}); "
            f"run `prunefield runs remove {folder}` and repeat the command that made it"
        ) from None


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _json(value: Any) -> bytes:
    return (json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1) + "\n").encode()


def _parse(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} is unreadable ({error}); remove it and repeat the command that made it") from None
