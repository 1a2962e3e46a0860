"""Loggers: where the numbers that runs record are also written, for use with other tools. One file is one logger.

A logger never changes what a run computes or stores. It writes one journal for each run, in the process that executes
the run. A journal begins with everything that was recorded so far and replaces an earlier one of the same run, so that
a run that is interrupted and resumed has every step once.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Plugin


class Journal(NamedTuple):
    """What is open for one run: `write(step, numbers)` after each record, `close()` at its end."""

    write: Callable[[int, Mapping[str, float]], None]
    close: Callable[[], None]


class Logger(Plugin):
    """Writes the numbers of every record of a run."""

    family: ClassVar[str] = "loggers"
    package: ClassVar[str]  # that must be installed; an extra of prunefield has the same name

    folder: Path | None = Field(default=None, description="folder of the log files; by default logs/NAME in the store")

    @abstractmethod
    def open(self, folder: Path, run: str, settings: Mapping[str, Any]) -> Journal:
        """An empty journal of a run with this name and flat settings, instead of one that is there."""

    @abstractmethod
    def has(self, folder: Path, run: str) -> bool:
        """Whether there is a journal of the run."""

    def place(self, root: Path) -> Self:
        """The same logger with its folder for a store, which does not depend on where a process is started."""
        return self.model_copy(update={"folder": (self.folder or root / "logs" / self.kind()).resolve()})

    def require(self) -> None:
        if find_spec(self.package) is None:
            extra = f"prunefield[{self.package}]"
            raise UsageError(f"logger {self.kind()!r} needs the package {self.package}; run: pip install '{extra}'")
