"""What safe points cost a run: executed in a store, against the same run without one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Case
from prunefield.execution import obtain
from prunefield.runs import Run, State
from prunefield.runs.imp import Imp
from prunefield.runs.neuron import Neuron
from prunefield.store import Store
from prunefield.tasks.ising import Ising


def cases() -> Iterator[Case]:
    runs: dict[str, Run] = {
        "imp, 3072:256:256:10, 2 rounds of 1000 steps": Imp(hidden=(256, 256), steps=1000, rewind=200, rounds=2),
        "neuron, 28 fields, 1000 steps": Neuron(task=Ising(), inits=28, steps=1000),
    }
    for name, run in runs.items():
        yield Case(
            name,
            lambda run=run: _stored(run),
            limit=lambda run=run: list(run(State())),
            limit_name="the same without a store",
            rounds=3,
            target="at most 1.03 × limit",
        )


def _stored(run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        obtain(Store(Path(folder)), run)
