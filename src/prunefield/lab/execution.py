"""From settings to results: executes a run, resumes it, and carries many of them over an engine."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch

from prunefield.engines import Engine, Hints, Notice, Retry
from prunefield.lab.bars import Progress
from prunefield.lab.conditions import fixed_conditions, keep_conditions
from prunefield.lab.estimates import estimate_seconds
from prunefield.lab.findings import Finished, fail_run
from prunefield.lab.folder import SAFE_POINTS, RunFolder
from prunefield.lab.journals import RunLog, log_stored, place_logger
from prunefield.lab.packing import SafePoint
from prunefield.lab.store import Store, open_store
from prunefield.lab.writing import BeingWritten, await_written, write_behind
from prunefield.loggers import Logger
from prunefield.runs import Result, Run, State

SHORT = 1.0  # seconds of a run that is worth writing in the background


def warn(message: str) -> None:
    """A Python warning: what a library does with a line that is not an error."""
    warnings.warn(message, stacklevel=3)


def obtain(
    store: Store | Path | str,
    run: Run,
    *,
    device: str = "cpu",
    report: Callable[[str], None] = warn,
    log: Logger | Mapping[str, Any] | str | None = None,
) -> Result:
    """The result of a run: read if it is stored, resumed if it was interrupted, computed if it is new.

    Runs that a new one needs come first. If another process is executing it, this one waits and then reads. `report`
    gets a line for each damaged safe point that was set aside. `log` is as in `Study.run`.
    """
    store, run = open_store(store), Run.parse(run)
    for problem in _complete(store, run, device, report, place_logger(log, store)):
        report(problem)
    return store.folder(run).read()


def _complete(
    store: Store, run: Run, device: str, report: Callable[[str], None] | None, logger: Logger | None = None
) -> list[str]:
    """Executes a run and what it needs, unless they are stored; returns why they could not be logged, if so.

    No result is read here, because each is read where it is used.
    """
    found = _compute(store, run, device, report, logger)
    return found.write() if isinstance(found, Finished) else found


def _compute(
    store: Store, run: Run, device: str, report: Callable[[str], None] | None, logger: Logger | None
) -> Finished | list[str]:
    """Executes a run and what it needs, and does not write what it found; for a stored run, the same as `_complete`.

    What it found has the lock of its folder until it is written.
    """
    folder = store.folder(run)
    await_written(folder.place)
    if folder.is_done:
        folder.tidy()  # after a process that was killed in its last moment
        return log_stored(logger, run, folder)
    run.require()
    problems = [problem for need in run.needs() for problem in _complete(store, need, device, report, logger)]
    found = None
    store.create()
    folder.take_lock()
    try:
        if folder.is_done:
            return problems
        with fixed_conditions():
            found = _execute(store, run, folder, device, logger)
        if report is not None:
            for warning in folder.warnings():
                report(warning)
        found.problems[:0] = problems
        return found
    finally:
        if found is None:
            folder.lock.release()


def _execute(store: Store, run: Run, folder: RunFolder, device: str, logger: Logger | None) -> Finished:
    """Executes a run to its end, but does not write what it found."""
    values, tensors, records = SafePoint({}, {}, []) if folder.begin(run) else folder.saved()
    state = State(values, tensors, read=lambda need: obtain(store, need, device=device), device=device)
    log = RunLog(logger, run, [record.values for record in records])
    pace, started = Pace(), time.perf_counter()
    shown = started  # a short run shows no progress: that would be another file
    try:
        for record in run(state):
            if record is not None:
                records.append(record)
                log.write(record.values)
            now = time.perf_counter()
            if now - shown > 0.2:
                folder.show_progress(state.done)
                shown = now
            if pace.is_due(now):
                folder.save(state, records)
                pace.spent(now, time.perf_counter())
        found = SafePoint(state.values, state.snapshot(), records)
    except Exception as error:
        fail_run(folder, error, records)
    finally:
        log.close()
    made = {"device": device, "threads": torch.get_num_threads(), "seconds": round(time.perf_counter() - started, 3)}
    return Finished(run, folder, found, made, log.problems)


class Pace:
    """When to do overhead work, such as writing a safe point: seldom enough that it takes `share` of the time."""

    def __init__(self, share: float = 0.01, first: float = 0.3) -> None:
        self.share = share
        self.next = time.perf_counter() + first

    def is_due(self, now: float) -> bool:
        return now >= self.next

    def spent(self, begin: float, end: float) -> None:
        self.next = end + (end - begin) / self.share


def order_runs(runs: Iterable[Run]) -> list[Run]:
    """The runs and all that they depend on, each once; dependencies come first, the simplest before the others."""
    return [run for run, _ in sorted(_depths(runs).items(), key=itemgetter(1))]


def _depths(runs: Iterable[Run]) -> dict[Run, int]:
    """For the runs and all that they need, how many runs must come one after the other before each."""
    depth: dict[Run, int] = {}

    def visit(run: Run) -> int:
        found = depth.get(run)
        if found is None:
            needs = run.needs()
            found = depth[run] = 1 + max(map(visit, needs)) if needs else 0
        return found

    for run in runs:
        visit(run)
    return depth


def carry_out(
    store: Store,
    runs: Iterable[Run],
    engine: Engine,
    *,
    device: str = "cpu",
    tell: Callable[[Progress], None] = lambda progress: None,
    report: Callable[[str], None] = warn,
    log: Logger | Mapping[str, Any] | str | None = None,
    begin: Callable[[], None] = lambda: None,
) -> dict[Run, str]:
    """Executes what is missing on an engine; returns `{run: why it failed}`, empty if all is well.

    `tell` is called with the progress, `report` with a line for each retry and each damaged safe point. `log` is as in
    `Study.run`; runs that are stored already are logged, too. The store is made, and `begin` called, when nothing is
    left that could be refused.

    A run whose needs are still under way elsewhere waits for them in its own process. What a run reads must be there
    before any of them begins.
    """
    depth = _depths(runs)
    estimates = estimate_seconds(depth, store, device=device)
    seconds = {run: step.seconds for run, step in zip(depth, estimates, strict=True)}
    folders = {run: store.folder(run) for run in depth}
    missing = [run for run in depth if not folders[run].is_done]
    for run in missing:
        run.require()
    logger, problems = place_logger(log, store), []
    if missing:
        engine.require()
        store.create()
    begin()
    missing = order_by_length(missing, depth, seconds)
    left, total = dict.fromkeys(missing, 0.0), sum(seconds.values())  # the greatest progress seen of each
    failures: dict[Run, str] = {}
    pace = Pace(first=0)  # asking all runs how far they are takes time of its own
    root, sent = store.root.resolve(), logger and logger.settings()
    names = [folders[run].name for run in missing]
    hints = Hints(
        seconds=[seconds[run] for run in missing],
        names=names,
        marks=[f"{root}/runs/{name}/{SAFE_POINTS[0]}" for name in names],
        folder=root / "engines",
        device=device,
    )
    work = execute_run if engine.takes_deferred else execute_at_once
    for outcome in engine.map(work, [(str(root), run.settings(), device, sent) for run in missing], hints):
        if isinstance(outcome, Notice):
            report(outcome.text)
        elif isinstance(outcome, Retry):
            report(f"{missing[outcome.index].folder}: {outcome.reason}")
        elif outcome is not None:
            run = missing[outcome.index]
            left.pop(run)
            if outcome.error is not None:
                failures[run] = outcome.error
            problems += outcome.value or ()
            for warning in folders[run].warnings():
                report(warning)
        now = time.perf_counter()
        if left and not pace.is_due(now):
            continue
        # A run that starts again from an earlier safe point does not move the bar back.
        left = {run: max(behind, folders[run].progress()) for run, behind in left.items()}
        ahead = sum(seconds[run] * (1 - behind) for run, behind in left.items())
        # One that has made progress is under way; the others are waiting, so the longest of them is next.
        current = next((run for run, behind in left.items() if behind > 0), next(iter(left), None))
        tell(Progress(total - ahead, total, len(depth) - len(left), len(depth), current, failures))
        pace.spent(now, time.perf_counter())
    for run in depth.keys() - set(missing) if logger else ():
        problems += log_stored(logger, run, folders[run])
    if problems:  # a logger that fails once fails often
        report(problems[0] + (f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""))
    return failures


def order_by_length(runs: Iterable[Run], depth: Mapping[Run, int], seconds: Mapping[Run, float]) -> list[Run]:
    """What is needed first, and of that the longest first, so that no core waits at the end.

    Runs within a factor of two (up to twice as long as the shortest of them) stay in the order of the plan, which may
    begin with what a claim needs most: their times are estimates.
    """
    longest = max(seconds.values(), default=1.0)
    return sorted(runs, key=lambda run: (depth[run], int(math.log2(longest / max(seconds[run], 1e-9)))))


def execute_run(item: tuple[str, dict, str, dict | None]) -> list[str] | BeingWritten:
    """Executes one run of a store, in a process that does nothing else; returns why it could not be logged, if so.

    What a short run has found is written while the process computes something else; then that is deferred.
    """
    keep_conditions()
    begin, found = time.perf_counter(), _compute_item(item)
    if not isinstance(found, Finished):
        return found
    return write_behind(found.copy()) if time.perf_counter() - begin < SHORT else found.write()


def execute_at_once(item: tuple[str, dict, str, dict | None]) -> list[str]:
    """The same in whatever process this is, for engines that wait for nothing deferred: the result is written."""
    found = _compute_item(item)
    return found.write() if isinstance(found, Finished) else found


def _compute_item(item: tuple[str, dict, str, dict | None]) -> Finished | list[str]:
    root, settings, device, log = item
    logger = None if log is None else Logger.parse(log)
    return _compute(_open_again(root), Run.parse(settings), device, None, logger)  # `carry_out` reports what is damaged


@lru_cache(maxsize=8)
def _open_again(root: str) -> Store:
    """A store that the process has opened before, for the run before this one."""
    return Store(root)
