"""Processes that are killed or told to end, and equal commands at the same time."""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from workplace import PATIENCE, SEEDS, STEPS, Workplace, expect, wait_for

from prunefield.core import commits
from prunefield.lab import writing
from prunefield.lab.joining import merge_stores, unpack_runs
from prunefield.lab.packs import write_pack
from prunefield.lab.store import Store


def list_children(pid: int) -> list[int]:
    """The processes that descend from one."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found += [int(entry.name), *list_children(int(entry.name))]
    return found


def start_and_wait(place: Workplace, *options: str, jobs: int = 2, runs: int = 2):
    """A command whose runs wait at the gate, at a safe point."""
    place.close_gate()
    store = place.new_store()
    process = place.command(store, *options, jobs=jobs)
    wait_for(lambda: process.poll() is not None or len(place.at_gate(store)) >= runs, "safe points")
    expect(process.poll() is None, "the command ended too early")
    return store, process


def end_main(sign: int):
    def fault(place: Workplace, draw: random.Random) -> str:
        store, process = start_and_wait(place)
        time.sleep(draw.random() * 0.3)
        children = list_children(process.pid)
        os.kill(process.pid, sign)
        process.communicate(timeout=PATIENCE)
        expect(process.returncode != 0, "the command did not notice")
        wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children), "the end of its workers")
        return _repeat(place, store)

    return fault


def _repeat(place: Workplace, store: Store) -> str:
    """The same command again: what was at a safe point continues from there."""
    before = len(place.starts())
    place.open_gate()
    place.finish(place.command(store))
    place.check(store)
    resumed = [step for _, step in place.starts()[before:] if step > 0]
    expect(len(resumed) >= 2, f"runs at a safe point were begun again: {place.starts()}")
    return f"{len(resumed)} runs continued from step {min(resumed)}"


def kill_worker(place: Workplace, draw: random.Random) -> str:
    store, process = start_and_wait(place)
    workers = [pid for pid in list_children(process.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    expect(len(workers) == 2, f"{len(workers)} workers instead of 2")
    os.kill(draw.choice(workers), signal.SIGKILL)
    place.open_gate()
    out, said = process.communicate(timeout=PATIENCE)
    expect(process.returncode == 1, f"status {process.returncode} after a worker was killed")
    expect("its process died" in said, "nothing was said about the worker")
    expect(out.count('"digest"') == 2, "the other runs were not finished")
    before = len(place.starts())
    place.finish(place.command(store))
    place.check(store)
    (start,) = place.starts()[before:]
    expect(start[1] > 0, "the run was begun again")
    return f"1 run failed, 2 finished; it continued from step {start[1]}"


def kill_worker_with_retry(place: Workplace, draw: random.Random) -> str:
    store, process = start_and_wait(place, "--retry", "1")
    workers = [pid for pid in list_children(process.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(draw.choice(workers), signal.SIGKILL)
    place.open_gate()
    place.finish(process)
    place.check(store)
    return "continued by itself"


def kill_anywhere(place: Workplace, draw: random.Random) -> str:
    """Killed at any moment of a whole execution, again and again, until it comes to its end."""
    place.open_gate()
    store, lives = place.new_store(), 0
    while lives < 8:
        child = place.fork(lambda: place.obtain_all(store))
        time.sleep(draw.random() * 0.15)
        for pid in [*list_children(child.pid), child.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.join()
        lives += 1
        for folder in store:
            expect(not folder.is_done or not folder.problems(), "a part of a result looks finished")
    expect(place.obtain_all(store) == "", "the same call fails")
    place.check(store)
    return f"killed {lives} times"


def kill_before_written(place: Workplace, draw: random.Random) -> str:
    """All runs are computed and none is written, or some files of them, or all but some marks: then kill -9."""
    place.open_gate()
    store, seen = place.new_store(), []
    for last in (0, *sorted(draw.sample(range(1, 15), 4)), 15):

        def die(last: int = last) -> None:
            left = iter(range(last))
            replace, write = os.replace, commits.write_folders

            def count(source: str, target: str) -> None:
                if threading.current_thread().name == "prunefield-writer" and next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                replace(source, target)

            os.replace = count
            writing.write_folders = lambda *group: write(*group) if last else os.kill(os.getpid(), signal.SIGKILL)

        line = place.obtain_all(store, die, behind=True)
        seen.append(sum(folder.is_done for folder in store))
        expect(line == "the process died" or seen[-1] == len(SEEDS), f"it was not killed: {line!r}")
        for folder in store:
            expect(not folder.is_done or not folder.problems(), "a part of a result looks finished")
    expect(place.obtain_all(store, behind=True) == "", "the same call fails")
    place.check(store)
    return f"killed at six moments of writing; {seen} runs were finished then"


def run_at_once(count: int):
    def fault(place: Workplace, draw: random.Random) -> str:
        place.close_gate()
        store = place.new_store()
        every = []
        for _ in range(count):
            every.append(place.command(store, jobs=1))
            time.sleep(draw.random() * 0.2)
        wait_for(lambda: place.at_gate(store), "a safe point")
        place.open_gate()
        for process in every:
            place.finish(process)
        place.check(store)
        starts = place.starts()
        expect(sorted(starts) == [(seed, 0) for seed in SEEDS], f"runs were computed twice: {starts}")
        return "each run was computed once"

    return fault


def kill_exchange(what: str):
    def fault(place: Workplace, draw: random.Random) -> str:
        store, pack = place.new_store(), place.root / f"pack-{place.number}.zip"
        write_pack(place.finished, place.root / "whole.zip")
        work = {
            "merge": lambda: merge_stores(store, [place.finished]),
            "unpack": lambda: unpack_runs(store, place.root / "whole.zip"),
            "pack": lambda: write_pack(place.finished, pack),
        }[what]
        for _ in range(5):
            child = place.fork(work)
            time.sleep(draw.random() * 0.05)
            child.kill()
            child.join()
            for folder in store:
                expect(not folder.is_done or not folder.problems(), "a part of a result looks finished")
        work()
        if what == "pack":
            expect(pack.read_bytes() == (place.root / "whole.zip").read_bytes(), "the pack is not whole")
            return "the same bytes"
        place.check(store, kept=place.expected)
        return "killed 5 times"

    return fault


def merge_at_once(place: Workplace, draw: random.Random) -> str:
    store = place.new_store()
    every = [place.fork(lambda: merge_stores(store, [place.finished, place.unfinished])) for _ in range(4)]
    for child in every:
        child.join()
    expect([child.exitcode for child in every] == [0] * 4, "a merge failed")
    merge_stores(store, [place.finished])
    place.check(store, kept=place.expected)
    return "4 merges of 2 stores"


FAULTS = {
    "kill -9 of the command": (end_main(signal.SIGKILL), 3),
    "preemption: SIGTERM to the command": (end_main(signal.SIGTERM), 2),
    "kill -9 of a worker": (kill_worker, 2),
    "kill -9 of a worker, --retry 1": (kill_worker_with_retry, 2),
    "kill -9 at eight random moments": (kill_anywhere, 3),
    "kill -9 between computing and writing in the background": (kill_before_written, 2),
    "two equal commands at once": (run_at_once(2), 2),
    "four equal commands at once": (run_at_once(4), 2),
    "kill -9 of runs merge": (kill_exchange("merge"), 1),
    "kill -9 of runs unpack": (kill_exchange("unpack"), 1),
    "kill -9 of runs pack": (kill_exchange("pack"), 1),
    "four equal merges at once": (merge_at_once, 1),
}
assert STEPS % 2 == 0
