"""The folder of one run in a store: what it holds while the run is under way, and what it gives back at the end.

`store.py` begins with the list of its files.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from prunefield.core import files
from prunefield.core.commits import write_unsynced
from prunefield.core.errors import StoreError, UsageError
from prunefield.core.files import checksum, delete_path, is_locked, is_part, read_regular, store_option, sync_folder
from prunefield.core.locks import Lock, LockTimeout
from prunefield.lab.examination import FILES, MARK, Examined, combine_sums, decode_result, decode_values, examine_files
from prunefield.lab.json_files import encode_table, read_table

if TYPE_CHECKING:  # a list of runs needs no torch
    from prunefield.lab.packing import SafePoint
    from prunefield.runs import Record, Result, Run, State

SAFE_POINTS = ("checkpoint.safetensors", "checkpoint-before.safetensors")
NAME = re.compile(r".+-[0-9a-f]{16}")
cannot = partial(files.cannot, chosen_by="--store")
make_folder = partial(files.make_folder, chosen_by="--store")
write_whole = partial(files.write_whole, chosen_by="--store")
write_together = partial(files.write_together, chosen_by="--store")


@dataclass(frozen=True)
class RunFolder:
    """One run in a store."""

    root: Path
    name: str

    @cached_property
    def path(self) -> Path:
        return Path(self.place)

    @property
    def place(self) -> str:
        """The path as a text: lists and sweeps of many runs have no time for `pathlib`."""
        return f"{self.root}/runs/{self.name}"

    @property
    def kind(self) -> str:
        return self.name.rpartition("-")[0]

    @property
    def lock_path(self) -> Path:
        return self.root / "locks" / self.name

    @property
    def is_done(self) -> bool:
        return os.path.exists(f"{self.place}/done.json")

    @cached_property
    def lock(self) -> Lock:
        """Held by the process that executes or removes the run; the system releases it when the process dies."""
        return Lock(f"{self.root}/locks/{self.name}")

    @contextmanager
    def hold(self, *, timeout: float = -1) -> Iterator[None]:
        """Holds the lock, for which this waits indefinitely unless there is a `timeout` in seconds."""
        self.take_lock(timeout)
        try:
            yield
        finally:
            self.lock.release()

    def take_lock(self, timeout: float = -1) -> None:
        """The same until somebody releases it."""
        try:
            try:
                self.lock.acquire(timeout)
            except FileNotFoundError:
                make_folder(self.lock_path.parent)
                self.lock.acquire(timeout)
        except OSError as error:
            raise cannot("lock", self.lock_path, error) from None

    # -- what a run that is under way leaves behind -------------------------------------------------------------

    def begin(self, run: "Run") -> bool:
        """Makes the folder and writes the settings: not yet safe from a power cut, after which it begins again.

        Returns whether there was no folder before, and so no safe point.
        """
        try:
            is_new = self._make()
            if not is_new:
                self._clear("failure.json", "failure.safetensors")
            write_unsynced(self.place, "settings.json", encode_table(run.settings()))
        except OSError as error:
            raise cannot("write", self.path, error) from None
        return is_new

    def _make(self) -> bool:
        """Makes the folder, unless it was begun before."""
        try:
            os.mkdir(self.place)
        except FileExistsError:
            return False
        except FileNotFoundError:  # it is the first of the store
            make_folder(self.path.parent)
            return self._make()
        return True

    def save(self, state: "State", records: "list[Record]") -> None:
        """Writes a safe point: one file, so that state and records always belong together. The last one is kept."""
        from prunefield.lab.packing import pack_safe_point

        last, before = (self.path / name for name in SAFE_POINTS)
        is_first = not last.exists()
        write_whole(last, pack_safe_point(self.name, state, records), keep=before)
        if is_first:
            sync_folder(self.path.parent)  # `begin` did not

    def saved(self) -> "SafePoint":
        """The last safe point, empty for a new run. A damaged one is set aside, and the one before it counts."""
        from prunefield.lab.packing import SafePoint, unpack_safe_point

        for path in (self.path / name for name in SAFE_POINTS):
            try:
                return unpack_safe_point(self.name, read_regular(path))
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                try:
                    path.replace(path.with_name(f"damaged-{path.name}"))
                except OSError as error:
                    raise cannot("set aside", path, error) from None
        return SafePoint({}, {}, [])

    def find_safe_point(self) -> "tuple[tuple[float, int], bytes] | None":
        """How far the last sound safe point is, and its bytes, if there is one; nothing is set aside."""
        from prunefield.lab.packing import measure_safe_point

        for name in SAFE_POINTS:
            with suppress(OSError, ValueError, LookupError):
                data = read_regular(self.path / name)
                return measure_safe_point(self.name, data), data
        return None

    def write_safe_point(self, settings: Mapping[str, Any], data: bytes) -> None:
        """Writes a safe point that was made in another store."""
        make_folder(self.path)
        write_whole(self.path / "settings.json", encode_table(settings))
        last, before = (self.path / name for name in SAFE_POINTS)
        write_whole(last, data, keep=before)

    def warnings(self) -> list[str]:
        """What whoever asked for this run should know about how it was executed."""
        return [
            f"{self.name}: a damaged safe point was set aside as {name}; "
            "the run continued from an earlier one or from the beginning, so its result is not affected"
            for name in self._set_aside()
        ]

    def pack(self, run: "Run", found: "SafePoint", made: Mapping[str, Any]) -> dict[str, bytes]:
        """The files of a finished run with what it found, for `write_finished`."""
        from prunefield.lab.packing import dump_values, name_tensors, pack_tensors

        files = {
            "settings.json": encode_table(run.settings()),
            "records.json": encode_table([record.values for record in found.records]),
            "tensors.safetensors": pack_tensors(name_tensors(found.records), {}),
            "state.safetensors": pack_tensors(found.tensors, {"values": dump_values(found.values)}),
            "made.json": encode_table({**made, "set_aside": self._set_aside()}),
        }
        sums = {name: checksum(data) for name, data in files.items()}
        return {**files, MARK: encode_table({"digest": combine_sums(sums), "files": sums})}

    def write_finished(self, contents: Mapping[str, bytes]) -> None:
        """Writes the files of a finished run, the mark last."""
        make_folder(self.path)
        write_together(self.path, {name: contents[name] for name in (*FILES, MARK)}, MARK)
        self.tidy()

    def tidy(self) -> None:
        """Removes what a finished run no longer needs, as far as this user may."""
        with suppress(OSError):
            self._clear(*SAFE_POINTS, "progress", "failure.json", "failure.safetensors")

    def fail(self, message: str, traceback: str, records: "list[Record]") -> None:
        """Writes why the run failed, and the records up to the failure if they can be stored."""
        from prunefield.lab.packing import blank_infinite, name_tensors, pack_tensors

        texts = {"message": message, "traceback": traceback}
        found = {key: text.encode(errors="backslashreplace").decode() for key, text in texts.items()}
        try:
            values = [{key: blank_infinite(value) for key, value in record.values.items()} for record in records]
            tensors, table = pack_tensors(name_tensors(records), {}), encode_table({**found, "records": values})
        except Exception:  # a record that cannot be stored may be the very reason of the failure
            tensors, table = pack_tensors({}, {}), encode_table({**found, "records": []})
        write_whole(self.path / "failure.safetensors", tensors)
        write_whole(self.path / "failure.json", table)

    def show_progress(self, fraction: float) -> None:
        """For progress bars in any process; losing it does no harm, so it is not written safely."""
        with suppress(OSError):
            (self.path / "progress").write_text(f"{fraction:.4f}")

    def progress(self) -> float:
        """The fraction of the run that is done."""
        try:
            found = float(read_regular(self.path / "progress"))
        except (OSError, ValueError):
            found = 0.0
        # Looked for last: a run that ends in this moment has no `progress` any more, but the mark.
        return 1.0 if self.is_done else found if 0 <= found <= 1 else 0.0

    def _set_aside(self) -> list[str]:
        return [f"damaged-{name}" for name in SAFE_POINTS if os.path.exists(f"{self.place}/damaged-{name}")]

    def _clear(self, *names: str) -> None:
        """Removes files, and those which a process that was killed had not finished writing."""
        for name in os.listdir(self.place):
            if name in names or is_part(name):
                (self.path / name).unlink(missing_ok=True)

    # -- what a finished run gives back -------------------------------------------------------------------------

    def read(self) -> "Result":
        """The records of a finished run, checked against their checksums."""
        found = self.examine()
        if not found.problems:
            try:
                return decode_result(found)
            except StoreError as error:
                found.problems.append(str(error))
        raise StoreError(f"{self.name} is damaged: {found.problems[0]}; {self.remedy}")

    def read_values(self) -> list[dict[str, Any]]:
        """The values of the records of a finished run, without its tensors: one file is read and checked."""
        sums = read_table(self.path / "done.json").get("files")
        try:
            data = read_regular(self.path / "records.json")
            if not isinstance(sums, dict) or checksum(data) != sums.get("records.json"):
                raise ValueError("records.json was truncated or edited")
            return decode_values(data)
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{self.name} is damaged: {error}; {self.remedy}") from None

    def table(self, name: str) -> dict[str, Any]:
        """`settings`, `made`, `done` or `failure`; empty where there is none."""
        return read_table(f"{self.place}/{name}.json", default={})

    @property
    def remedy(self) -> str:
        command = f"prunefield runs remove {self.name}{store_option(self.root)}"
        return f"run `{command}` and repeat the command that made it"

    def problems(self) -> list[str]:
        """What is wrong with a finished run, one line per problem."""
        return self.examine().problems

    def examine(self) -> Examined:
        """Reads every file of a finished run and compares it with what `done.json` says, and that with the rest."""
        return examine_files(self.name, lambda name: read_regular(self.path / name))

    @property
    def status(self) -> Literal["done", "running", "stopped", "failed", "foreign"]:
        """How far it is, as far as the names of its files tell: whether they are whole is for `problems` to find."""
        try:
            names = os.listdir(self.place)
        except OSError:
            names = []
        if "done.json" in names:
            return "done"
        if not NAME.fullmatch(self.name) or ("settings.json" not in names and not all(map(is_part, names))):
            return "foreign"  # somebody's folder; a run without settings was killed at its very beginning
        if "failure.json" in names:
            return "failed"
        return "running" if is_locked(self.lock_path) else "stopped"

    def remove(self) -> None:
        """Deletes the run, or the link to it; one that is being executed is left alone, and so is what is not a run."""
        if self.status == "foreign":
            raise UsageError(f"{self.path} is not a run of prunefield; if you do not need it, delete it by hand")
        try:
            with self.hold(timeout=0):
                if not self.path.is_symlink():
                    delete_path(self.path / "done.json")  # first, so that half a folder never looks finished
                    sync_folder(self.path)
                delete_path(self.path)
        except LockTimeout:
            raise UsageError(f"{self.name} is being executed; stop it first") from None
        except OSError as error:
            raise cannot("remove", self.path, error) from None
