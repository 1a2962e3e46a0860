"""Sweeps of many short runs: how busy the cores are, and what one run costs beyond its own computation.

The limit is the same computation in bare processes that store nothing, with the same variables of the environment. The
ratio is 1.25 if the cores are busy for 80% of the time with what was asked for. Processes have loaded all that they
need before: the start of Ray is timed apart, as that of a sweep of a few runs, and subtracted. PRUNEFIELD_BENCH_RUNS
changes the number of runs.
"""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path

from benchmarks import Case
from prunefield.core.files import write_together
from prunefield.engines import Engine, make_environment
from prunefield.engines.local import keep_workers
from prunefield.lab.conditions import fixed_conditions
from prunefield.lab.execution import carry_out
from prunefield.lab.store import Store
from prunefield.runs import State
from prunefield.runs.sketch import Sketch

RUNS = int(os.environ.get("PRUNEFIELD_BENCH_RUNS", 10_000))
JOBS = 2
FEW = 20
SECONDS = 0.010  # of one run
TICK = os.sysconf("SC_CLK_TCK")


def cases() -> Iterator[Case]:
    os.environ.update(make_environment())  # bare processes have what those of an engine have
    with (
        tempfile.TemporaryDirectory() as place,
        multiprocessing.get_context("spawn").Pool(JOBS) as pool,
    ):
        draws = pool.apply(choose_draws)
        pool.starmap(_compute_some, [(0, draws, 50)] * 4 * JOBS, 1)
        bare = lambda: _time_bare(pool, draws)  # noqa: E731
        sweep = partial(_time_sweep, place, draws=draws)
        with keep_workers():
            local = Engine.parse({"kind": "local", "jobs": JOBS})
            sweep(local, FEW)  # its processes have loaded all that they need
            yield Case(
                f"{RUNS:,} runs of 10 ms on local, {JOBS} jobs",
                lambda: sweep(local, RUNS),
                limit=bare,
                limit_name="the same in bare processes",
                rounds=1,
                target="at most 1.25",
            )
            yield Case(
                "what one run costs on local beyond its computation, processor time of all processes",
                lambda: (_count_seconds(lambda: sweep(local, RUNS // 4)) - _count_seconds(bare) / 4) / (RUNS // 4),
                limit=_time_disk,
                limit_name="waiting for the disk: six files, synced",
                rounds=1,
                target="at most 5 ms",
            )
        ray, started = Engine.parse({"kind": "ray", "jobs": JOBS}), []
        yield Case(
            f"start of Ray, with {FEW} runs of 10 ms",
            lambda: started.append(sweep(ray, FEW)) or started[-1],
            rounds=1,
        )
        yield Case(
            f"{RUNS:,} runs of 10 ms on ray, {JOBS} jobs, without its start",
            lambda: sweep(ray, RUNS) - started[-1],
            limit=bare,
            limit_name="the same in bare processes",
            rounds=1,
            target="at most 1.25",
        )


def choose_draws() -> int:
    """The size of a run that computes for 10 ms here."""
    _compute_some(0, 50, 20)  # compiles and loads what it needs
    draws = 1000
    for _ in range(3):
        best = min(_time_some(draws, 20) for _ in range(5))
        draws = max(1, round(draws * SECONDS / best))
    return draws


def _time_some(draws: int, count: int) -> float:
    """Seconds of one run in this process."""
    begin = time.perf_counter()
    _compute_some(0, draws, count)
    return (time.perf_counter() - begin) / count


def make_run(seed: int, draws: int) -> Sketch:
    """A run whose files have about 100 kB."""
    return Sketch(dimension=100, draws=draws, seed=seed)


def _compute_some(first: int, draws: int, count: int) -> None:
    with fixed_conditions():
        for seed in range(first, first + count):
            for _ in make_run(seed, draws)(State()):
                pass


def _time_bare(pool: Pool, draws: int) -> float:
    share = 50
    begin = time.perf_counter()
    pool.starmap(_compute_some, [(first, draws, min(share, RUNS - first)) for first in range(0, RUNS, share)], 1)
    return time.perf_counter() - begin


def _time_sweep(place: str, engine: Engine, count: int, draws: int) -> float:
    """Seconds of a sweep in a new store. It stays until the end: ext4 does not use what was deleted in the last
    minutes, and takes milliseconds for each new file to find something else.
    """
    runs, store = [make_run(seed, draws) for seed in range(count)], Store(tempfile.mkdtemp(dir=place))
    begin = time.perf_counter()
    failures = carry_out(store, runs, engine)
    seconds = time.perf_counter() - begin
    assert not failures, next(iter(failures.values()))
    return seconds


def _count_seconds(work: Callable[[], object]) -> float:
    """The processor time of this process and its children: a busy machine changes it less than a clock."""
    before = _read_clocks()
    work()
    return _read_clocks() - before


def _read_clocks() -> float:
    every = [os.getpid(), *(child.pid for child in multiprocessing.active_children())]
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in every]
    return sum(int(each[11]) + int(each[12]) for each in fields) / TICK


def _time_disk() -> float:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        for number in range(50):
            place = Path(folder, str(number))
            place.mkdir()
            write_together(place, {str(file): b"x" * 1000 for file in range(6)}, "5")
        return (time.perf_counter() - begin) / 50
