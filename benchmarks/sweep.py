"""Sweeps of many short runs: how busy the cores are, and what one run costs beyond its own computation.

The limit is the same computation in bare processes that store nothing. The ratio is 1.25 if the cores are busy for
80% of the time with what was asked for. PRUNEFIELD_BENCH_RUNS changes the number of runs.
"""

import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.pool import Pool
from pathlib import Path

from benchmarks import Case
from prunefield.core.files import write_together
from prunefield.engines import Engine
from prunefield.engines.local import keep_workers
from prunefield.lab.conditions import fixed_conditions
from prunefield.lab.execution import carry_out
from prunefield.lab.store import Store
from prunefield.runs import State
from prunefield.runs.sketch import Sketch

RUNS = int(os.environ.get("PRUNEFIELD_BENCH_RUNS", 10_000))
JOBS = 2
SECONDS = 0.010  # of one run


def cases() -> Iterator[Case]:
    draws = choose_draws()
    with multiprocessing.get_context("spawn").Pool(JOBS, initializer=_compute_some, initargs=(0, draws, 3)) as pool:
        bare = lambda: _time_bare(pool, draws)  # noqa: E731
        for name in ("local", "ray"):
            with _warm_engine(name) as engine:
                yield Case(
                    f"{RUNS:,} runs of 10 ms on {name}, {JOBS} jobs",
                    lambda engine=engine: _time_sweep(engine, draws),
                    limit=bare,
                    limit_name="the same in bare processes",
                    rounds=1,
                    target="at most 1.25",
                )
    yield Case(
        "what one run costs on local beyond its computation, processor time",
        lambda: _measure_slope(_count_sweep, draws) - _measure_slope(_count_bare, draws),
        limit=_time_disk,
        limit_name="waiting for the disk: six files, synced",
        rounds=1,
        target="at most 5 ms",
    )


@cache
def choose_draws() -> int:
    """The size of a run that computes for 10 ms here."""
    _compute_some(0, 50, 20)  # compiles and loads what it needs
    draws = 100
    for _ in range(3):
        begin = time.perf_counter()
        _compute_some(0, draws, 50)
        draws = max(1, round(draws * SECONDS / ((time.perf_counter() - begin) / 50)))
    return draws


def make_run(seed: int, draws: int) -> Sketch:
    """A run whose files have about 40 kB."""
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


@contextmanager
def _warm_engine(name: str) -> Iterator[Engine]:
    """An engine whose processes have loaded all that they need, as far as it keeps them."""
    engine = Engine.parse({"kind": name, "jobs": JOBS})
    with keep_workers(), tempfile.TemporaryDirectory() as folder:
        if name == "local":
            carry_out(Store(folder), [make_run(seed, 10) for seed in range(4 * JOBS)], engine)
        yield engine


def _time_sweep(engine: Engine, draws: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        runs, store = [make_run(seed, draws) for seed in range(RUNS)], Store(folder)
        begin = time.perf_counter()
        failures = carry_out(store, runs, engine)
        seconds = time.perf_counter() - begin
        assert not failures, next(iter(failures.values()))
        return seconds


def _measure_slope(count: Callable[[int, int], None], draws: int) -> float:
    """The processor time of one more run, that of all processes: a busy machine hardly changes it."""
    used, few, many = [], RUNS // 20 + 1, RUNS // 4 + 2
    for runs in (few, many):
        before = _read_clocks()
        count(runs, draws)
        used.append(_read_clocks() - before)
    return (used[1] - used[0]) / (many - few)


def _read_clocks() -> float:
    every = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in every)


def _count_sweep(runs: int, draws: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        carry_out(Store(folder), [make_run(seed, draws) for seed in range(runs)], Engine.parse("local,jobs=2"))


def _count_bare(runs: int, draws: int) -> None:
    with multiprocessing.get_context("spawn").Pool(JOBS) as pool:
        pool.starmap(_compute_some, [(0, draws, runs // JOBS)] * JOBS, 1)
        pool.close()
        pool.join()


def _time_disk() -> float:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        for number in range(50):
            place = Path(folder, str(number))
            place.mkdir()
            write_together(place, {str(file): b"x" * 1000 for file in range(6)}, "5")
        return (time.perf_counter() - begin) / 50
