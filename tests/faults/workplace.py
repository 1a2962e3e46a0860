"""Where faults happen: a small sweep, the command that carries it out, and what must be true after every fault.

The sweep has three runs (`toy`), which wait in their middle until the file `gate` is there and write into `gate.log`
from which step they start. So a fault can happen while all runs are at a safe point, and it can be seen afterwards
whether a run continued from there or was computed twice.
"""

import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from toy import Toy

from prunefield.core.errors import Error
from prunefield.engines import await_value
from prunefield.lab import execution
from prunefield.lab.execution import execute_run, obtain
from prunefield.lab.folder import SAFE_POINTS
from prunefield.lab.store import Store

HERE = Path(__file__).parent
STEPS, SEEDS = 20, (0, 1, 2)
PATIENCE = 600  # seconds; a busy machine is not a failure
FORK = multiprocessing.get_context("fork")  # a child has torch at once


class Wrong(Exception):
    """Something was lost, is wrong, or was not said; the text says what."""


def expect(condition: object, what: str) -> None:
    if not condition:
        raise Wrong(what)


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < deadline, f"waited {PATIENCE} s for {what} in vain")
        time.sleep(0.05)


class Workplace:
    """A folder with the study, the gate, the digests that are right, and stores to be harmed."""

    def __init__(self, root: Path) -> None:
        self.root, self.gate, self.study = root, root / "gate", root / "study.toml"
        self.runs = [Toy(seed=seed, steps=STEPS, gate=str(self.gate)) for seed in SEEDS]
        text = f'kind = "toy"\nsteps = {STEPS}\ngate = "{self.gate}"\nsweep.seed = {list(SEEDS)}\n'
        self.study.write_text(text)
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self.number = 0
        self.open_gate()
        self.finished = Store(root / "finished")
        self.expected = {run.folder: obtain(self.finished, run).digest for run in self.runs}
        self.unfinished = self._make_unfinished()

    def _make_unfinished(self) -> Store:
        """One run finished, one at a safe point, one not begun."""
        store = Store(self.root / "unfinished")
        obtain(store, self.runs[0])
        self.close_gate()
        child = self.fork(lambda: obtain(store, self.runs[1]))
        last, before = (store.folder(self.runs[1]).path / name for name in SAFE_POINTS)
        wait_for(lambda: last.exists() and before.exists(), "two safe points")
        child.kill()
        child.join()
        return store

    def new_store(self, template: Store | None = None) -> Store:
        """An empty store, or a copy of one."""
        self.number += 1
        place = self.root / f"store-{self.number}"
        return Store(shutil.copytree(template.root, place) if template else place)

    def open_gate(self) -> None:
        self.gate.touch()

    def close_gate(self) -> None:
        self.gate.unlink(missing_ok=True)
        (self.root / "gate.log").unlink(missing_ok=True)

    def starts(self) -> list[tuple[int, int]]:
        """The seed and the step of every start since the gate was closed."""
        with suppress(FileNotFoundError):
            return [tuple(map(int, line.split())) for line in (self.root / "gate.log").read_text().splitlines()]
        return []

    def at_gate(self, store: Store) -> list[str]:
        """The runs that wait at the gate and have a safe point there."""
        found = []
        for run in self.runs:
            point = store.folder(run).find_safe_point()
            if point is not None and point[0][0] >= 0.5:
                found.append(run.folder)
        return found

    def command(self, store: Store, *options: str, jobs: int = 2, **how) -> subprocess.Popen:
        line = [sys.executable, "-m", "prunefield", "sweep", str(self.study), "--store", str(store.root)]
        return subprocess.Popen(
            [*line, "--json", "--jobs", str(jobs), *options],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **how,
        )

    def finish(self, process: subprocess.Popen) -> None:
        """Waits for a command that must succeed with the right digests."""
        out, said = process.communicate(timeout=PATIENCE)
        expect(process.returncode == 0, f"status {process.returncode}: {said[-200:]!r}")
        found = {entry["run"]: entry["digest"] for entry in json.loads(out)["runs"]}
        expect(found == self.expected, "the command printed other digests")

    @staticmethod
    def fork(work: Callable[[], object]) -> multiprocessing.Process:
        child = FORK.Process(target=_quietly, args=(work,))
        child.start()
        return child

    def obtain_all(self, store: Store, before: Callable[[], object] = lambda: None, *, behind: bool = False) -> str:
        """Requests all runs in a process of its own, after `before`; returns the line of an error, or nothing.

        As a user's program does, or `behind`: as the process of an engine, which writes while it computes.
        """
        ours, theirs = FORK.Pipe(duplex=False)

        def work() -> None:
            before()
            try:
                request_behind(store, self.runs) if behind else request(store, self.runs)
                theirs.send("")
            except Error as error:
                theirs.send(str(error))

        child = self.fork(work)
        theirs.close()
        try:
            line = ours.recv() if ours.poll(PATIENCE) else "no answer"
        except EOFError:
            line = "the process died"
        child.kill() if line == "no answer" else None
        child.join()
        expect("\n" not in line, f"an error of several lines: {line!r}")
        return line

    def check(self, store: Store, kept: Iterable[str] = ()) -> None:
        """Nothing lost, nothing wrong: all digests are right, and the finished runs `kept` are those from before."""
        for name, digest in self.expected.items():
            problems = store[name].problems()
            expect(not problems, f"{name}: {problems[:1]}")
            expect(store[name].read().digest == digest, f"{name} has another digest")
        for name in kept:
            ours, origin = store[name].path / "made.json", self.finished[name].path / "made.json"
            theirs = self.unfinished[name].path / "made.json"
            known = {path.read_bytes() for path in (origin, theirs) if path.exists()}
            expect(ours.read_bytes() in known, f"{name} was finished and was computed again")
        parts = [path.name for path in (store.root / "runs").rglob("*.part")]
        expect(not parts, f"left behind: {parts[:2]}")


def request(store: Store, runs: Iterable[Toy]) -> None:
    for run in runs:
        obtain(Store(store.root), run, report=lambda line: None)


def request_behind(store: Store, runs: Iterable[Toy]) -> None:
    """All runs are computed, then they are written together; the first error counts. For a process of its own."""
    execution.SHORT = math.inf  # however slow the machine is
    Store(store.root)
    for found in [execute_run((str(store.root), run.settings(), "cpu", None)) for run in runs]:
        await_value(found)


def _quietly(work: Callable[[], object]) -> None:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        work()
