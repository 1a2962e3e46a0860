"""The cost of safe points: the time of a run relative to its time without writing them.

Both come from the same execution, because the difference of two executions would be lost in the noise.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from benchmarks import Case
from prunefield.lab.execution import obtain
from prunefield.lab.store import RunFolder, Store
from prunefield.runs import Record, Run, State
from prunefield.runs.imp import Imp
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising


def cases() -> Iterator[Case]:
    runs: dict[str, Run] = {
        "imp, 3072:256:256:10, 1000 steps": Imp(hidden=(256, 256), steps=1000, rewind=200, rounds=1),
        "imp, 3072:1024:1024:10, 200 steps": Imp(steps=200, rewind=100, rounds=1),
        "neuron, 28 fields, 4000 steps": Neuron(task=Ising(), inits=28, steps=4000),
    }
    for name, run in runs.items():
        execution = Execution(run)
        yield Case(
            name,
            execution.whole,
            limit=execution.without_safe_points,
            limit_name="without safe points",
            rounds=3,
            target="at most 1.03 × limit",
        )


class Execution:
    """Executes a run in a store of its own and times its safe points."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.total = self.saving = 0.0

    def whole(self) -> float:
        save, self.saving = RunFolder.save, 0.0

        def timed(folder: RunFolder, state: State, records: list[Record]) -> None:
            begin = time.perf_counter()
            save(folder, state, records)
            self.saving += time.perf_counter() - begin

        begin = time.perf_counter()
        with patch.object(RunFolder, "save", timed), tempfile.TemporaryDirectory() as folder:
            obtain(Store(Path(folder)), self.run)
        self.total = time.perf_counter() - begin
        return self.total

    def without_safe_points(self) -> float:
        return self.total - self.saving
