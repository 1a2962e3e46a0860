"""The folder of the engine `slurm` in a store: what is in Slurm's queue, and what came of it.

    lock                 held while jobs are looked for and submitted, so that two equal commands submit once
    logs/RUN.log         what a run printed, each attempt under a line that says when and where
    TOKEN/               one array of jobs; Slurm knows it by the name `prunefield-TOKEN`
        N.json           the work of its task N
        N.jsonl          one line for each run that began, was tried again or ended
        N.log            what the job printed outside of runs

Everything is JSON. Which function is called is in the job's script, which Slurm keeps, not in a file of the store.
"""

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from prunefield.core.errors import UsageError
from prunefield.core.files import cannot, checksum, delete_path, make_folder
from prunefield.engines._slurm_commands import JobTask, list_job_tasks

PREFIX = "prunefield-"
OLD = 86_400.0  # seconds after which the folder of a finished array is removed


@dataclass(frozen=True)
class Piece:
    """One item of the work. Equal work has an equal key in every command, so that it is found in the queue."""

    index: int
    key: str
    name: str
    item: Any
    mark: str = ""
    seconds: float = 0.0


class Place(NamedTuple):
    """A task of an array: where a piece is carried out."""

    token: str
    task: int


def make_pieces(
    work: str, items: Sequence[Any], names: Sequence[str], marks: Sequence[str], seconds: Sequence[float]
) -> list[Piece]:
    """The pieces of work, with keys; what JSON cannot hold is refused."""
    pieces, known = [], {}
    for index, item in enumerate(items):
        try:
            text = json.dumps([work, item], sort_keys=True)
        except (TypeError, ValueError) as error:
            raise UsageError(f"engine 'slurm' sends work as JSON, which cannot hold item {index}: {error}") from None
        known[text] = known.get(text, 0) + 1
        key = checksum(f"{known[text]} {text}".encode())[:24]
        name = names[index] if names else key
        mark = marks[index] if marks else ""
        pieces.append(Piece(index, key, name, item, mark, seconds[index] if seconds else 1.0))
    return pieces


@dataclass(frozen=True)
class Queue:
    """The folder, and what Slurm says about its arrays."""

    folder: Path

    @contextmanager
    def hold(self) -> Iterator[None]:
        make_folder(self.folder / "logs", chosen_by="--store")
        lock = FileLock(self.folder / "lock")
        try:
            lock.acquire()
        except OSError as error:
            raise cannot("lock", self.folder / "lock", error, chosen_by="--store") from None
        try:
            yield
        finally:
            lock.release()

    def list_live(self) -> list[JobTask]:
        """The tasks of this store that wait or run."""
        return [task for task in list_job_tasks(map(name_array, self._list_tokens())) if task.is_live]

    def find_live(self) -> dict[str, Place]:
        """Where each piece is that waits or runs, by its key."""
        found = {}
        for task in self.list_live():
            place = Place(task.name.removeprefix(PREFIX), task.number)
            found |= dict.fromkeys(self.read_keys(place), place)
        return found

    def write_array(self, batches: Sequence[Sequence[Piece]], processes: int, retry: int) -> str:
        """Writes the work of an array; its token."""
        token = secrets.token_hex(6)
        make_folder(self.folder / token, chosen_by="--store")
        try:
            for number, batch in enumerate(batches):
                pieces = [{"key": one.key, "name": one.name, "mark": one.mark, "item": one.item} for one in batch]
                table = {"processes": processes, "retry": retry, "pieces": pieces}
                (self.folder / token / f"{number}.json").write_text(json.dumps(table))
        except OSError as error:
            self.remove(token)
            raise cannot("write", self.folder / token, error, chosen_by="--store") from None
        return token

    def read_keys(self, place: Place) -> list[str]:
        with suppress(OSError, ValueError, LookupError, TypeError):
            table = json.loads((self.folder / place.token / f"{place.task}.json").read_text())
            return [str(piece["key"]) for piece in table["pieces"]]
        return []

    def log_path(self, place: Place) -> Path:
        return self.folder / place.token / f"{place.task}.log"

    def result_path(self, place: Place) -> Path:
        return self.folder / place.token / f"{place.task}.jsonl"

    def remove(self, token: str) -> None:
        with suppress(OSError):
            delete_path(self.folder / token)

    def remove_old(self, live: set[str]) -> None:
        """Removes arrays that ended a day ago; logs of runs are kept."""
        for token in set(self._list_tokens()) - live:
            with suppress(OSError):
                if time.time() - (self.folder / token).stat().st_mtime > OLD:
                    shutil.rmtree(self.folder / token)

    def _list_tokens(self) -> list[str]:
        with suppress(OSError), os.scandir(self.folder) as entries:
            return sorted(entry.name for entry in entries if entry.name not in ("lock", "logs") and entry.is_dir())
        return []


def name_array(token: str) -> str:
    return PREFIX + token


def write_event(path: Path, event: dict[str, Any]) -> None:
    """Adds one line to the results of a task. It begins with a line break, as the line before may be half written."""
    with path.open("ab") as file:
        file.write(f"\n{json.dumps(event)}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def read_events(path: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The events after byte `start`, and where to continue; a line that is half written is left for the next time."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
    except OSError:
        return [], start
    whole = data[: data.rfind(b"\n") + 1]
    events = []
    for line in whole.splitlines():
        with suppress(ValueError):
            event = json.loads(line)
            events += [event] if isinstance(event, dict) and isinstance(event.get("key"), str) else []
    return events, start + len(whole)


def find_time(mark: str) -> float | None:
    """When a file was last written; None if it is not there."""
    try:
        return os.stat(mark).st_mtime
    except OSError:
        return None
