"""What a run has found, until it is written; and how it failed, if it did."""

import platform
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, NoReturn

import prunefield
from prunefield.core.errors import Error, RunError
from prunefield.core.files import store_option
from prunefield.core.processor import name_processor
from prunefield.lab.folder import RunFolder
from prunefield.lab.packing import SafePoint
from prunefield.runs import Record, Run


@dataclass
class Finished:
    """What a run has found, not yet written; its folder is locked."""

    run: Run
    folder: RunFolder
    found: SafePoint
    made: Mapping[str, Any]  # device, threads and seconds
    problems: list[str]  # why it could not be logged, if so

    def pack(self) -> dict[str, bytes]:
        """Its files."""
        return self.folder.pack(self.run, self.found, {**_describe_system(), **self.made, "finished": _tell_time()})

    def write(self) -> list[str]:
        """Writes it here and now and releases the lock; if that fails, the folder says why, and so does the error."""
        try:
            self.folder.write_finished(self.pack())
        except Exception as error:
            fail_run(self.folder, error, self.found.records)
        finally:
            self.folder.lock.release()
        return self.problems

    def copy(self) -> "Finished":
        """With tensors of its own: what the process computes next cannot change it."""
        values, tensors, records = self.found
        copies = [Record(row.values, {key: item.clone() for key, item in row.tensors.items()}) for row in records]
        found = SafePoint(values, {key: item.clone() for key, item in tensors.items()}, copies)
        return Finished(self.run, self.folder, found, self.made, self.problems)

    def count_bytes(self) -> int:
        """About as many as its files will have."""
        every = [self.found.tensors, *(record.tensors for record in self.found.records)]
        return sum(item.nbytes for tensors in every for item in tensors.values())


def fail_run(folder: RunFolder, error: Exception, records: list[Record]) -> NoReturn:
    """Writes into the folder why its run failed, and raises that as an error of one line."""
    is_ours = isinstance(error, Error)
    message = str(error) if is_ours else f"{type(error).__name__}: {error}".splitlines()[0]
    folder.fail(message, traceback.format_exc(), records)
    if is_ours:
        raise error
    command = f"prunefield runs show {folder.name}{store_option(folder.root)}"
    raise RunError(f"{message} (`{command}` has the traceback)") from error


def _tell_time() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@cache
def _describe_system() -> dict[str, str]:
    libraries = {name: version(name) for name in ("torch", "numpy", "scipy", "safetensors", "pydantic")}
    return {
        "prunefield": prunefield.__version__,
        "python": platform.python_version(),
        **libraries,
        "machine": platform.machine(),
        "processor": name_processor(),
        "system": platform.system(),
    }
