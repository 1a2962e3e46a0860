"""Journals: what a run records, passed on to a logger whose failures never touch the run."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prunefield.core.settings import flatten_settings
from prunefield.lab.folder import RunFolder
from prunefield.loggers import Journal, Logger
from prunefield.runs import Run, Value


class RunLog:
    """The journal of one run, with all its records in order; without a logger it does nothing.

    A logger that fails is given up for this run, and `problems` says why in one line.
    """

    def __init__(self, logger: Logger | None, run: Run, records: Sequence[Mapping[str, Value]] = ()) -> None:
        self.logger, self.run = logger, run
        self.problems: list[str] = []
        self.journal: Journal | None = None
        self.next = 0
        if logger is not None and logger.folder is not None:
            folder, settings = logger.folder, flatten_settings(run.settings())
            self.journal = self._try(lambda: logger.open(folder, run.folder, settings))
            for values in records:
                self.write(values)

    def write(self, values: Mapping[str, Value]) -> None:
        """Passes the numbers of a record on."""
        if (journal := self.journal) is not None:
            step = choose_step(values, self.next)
            self.next = step + 1
            self._try(lambda: journal.write(step, pick_numbers(values)))

    def close(self) -> None:
        if (journal := self.journal) is not None:
            self._try(journal.close)
            self.journal = None

    def _try(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            self.journal = None
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            name = "" if self.logger is None else self.logger.kind()
            self.problems.append(f"{self.run.folder} is not logged to {name}; its result is not affected ({reason})")
            return None


def pick_numbers(values: Mapping[str, Value]) -> dict[str, float]:
    """The finite numbers of a record; texts and missing values are left out.

    >>> pick_numbers({"loss": 0.5, "round": 2, "done": True, "method": "imp", "width": None, "ratio": math.inf})
    {'loss': 0.5, 'round': 2.0, 'done': 1.0}
    """
    numbers = {name: float(value) for name, value in values.items() if isinstance(value, bool | int | float)}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def choose_step(values: Mapping[str, Value], least: int) -> int:
    """The step of a record: its own `step` if that is at least `least`, the one after the last, or else `least`.

    >>> choose_step({"step": 100, "loss": 0.5}, 1), choose_step({"accuracy": 0.5}, 1), choose_step({"step": 0}, 3)
    (100, 1, 3)
    """
    step = values.get("step")
    return max(step, least) if isinstance(step, int) else least


def log_stored(logger: Logger | None, run: Run, folder: RunFolder) -> list[str]:
    """Writes the journal of a finished run, unless there is one; returns what went wrong, if anything."""
    if logger is None or logger.folder is None or logger.has(logger.folder, run.folder):
        return []
    log = RunLog(logger, run, folder.read_values())
    log.close()
    return log.problems


def place_logger(log: Logger | Mapping[str, Any] | str | None, store: Any) -> Logger | None:
    """The logger of a name or settings, for a store; what it needs must be installed."""
    if log is None:
        return None
    logger = Logger.parse(log)
    logger.require()
    return logger.place(store.root)
