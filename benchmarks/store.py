"""Large stores: processor time of a list, of a plan and of claims, relative to reading one file of each run.

The folders contain hard links to the files of one finished run, so they need no space. The plan has as many runs as the
store, but other ones: it looks for their names, and reads a few of those that are there to learn how long they took.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import Case
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store
from prunefield.runs.sketch import Sketch

READ = "import pathlib, sys\nfor path in sorted(pathlib.Path(sys.argv[1]).iterdir()): (path / 'made.json').read_bytes()"
LINKS = 10_000  # to one file; file systems allow only a few tens of thousands


def cases() -> Iterator[Case]:
    with tempfile.TemporaryDirectory() as folder:
        store, run = Store(Path(folder)), Sketch(dimension=10, draws=50)
        obtain(store, run)
        made, read = 1, [sys.executable, "-c", READ, str(store.root / "runs")]
        study = Path(folder, "study.toml")
        for count, target in ((20_000, 2), (100_000, 10)):
            _link_runs(store, run.folder, range(made, count))
            made = count
            yield Case(
                f"list {count:,} runs",
                _time_command([sys.executable, "-m", "prunefield", "runs", "list", "--json", "--store", folder]),
                limit=_time_command(read),
                limit_name="read one file of each",
                rounds=2,
                target=f"at most {target} s",
            )
            study.write_text(f'kind = "sketch"\ndimension = 10\ndraws = 50\nsweep.seed = {list(range(count))}\n')
            commands = {
                "plan": ["sweep", str(study), "--dry-run", "--json", "--yes"],
                "claims in a store of": ["claims", "bar2023/lemmaB.1", "--json"],
            }
            for what, command in commands.items():
                yield Case(
                    f"{what} {count:,} runs",
                    _time_command([sys.executable, "-m", "prunefield", *command, "--store", folder]),
                    limit=_time_command(read),
                    limit_name="read one file of each",
                    rounds=3,
                    target="at most 3",
                )


def _link_runs(store: Store, template: str, numbers: range) -> None:
    """Creates finished runs with these numbers."""
    runs = os.path.join(store.root, "runs")
    files = {path.name: path.read_bytes() for path in Path(runs, template).iterdir()}
    for first in range(numbers.start, numbers.stop, LINKS):
        origin = f"{store.root}/{first}-"
        for name, data in files.items():
            Path(origin + name).write_bytes(data)
        for number in range(first, min(first + LINKS, numbers.stop)):
            target = f"{runs}/sketch-{number:016x}"
            os.mkdir(target)
            for name in files:
                os.link(origin + name, f"{target}/{name}")


def _time_command(command: list[str]) -> Callable[[], float]:
    def work() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return work
