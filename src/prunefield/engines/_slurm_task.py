"""What a job of the engine `slurm` does: python -m prunefield.engines._slurm_task FOLDER MODULE:FUNCTION.

It carries out the pieces of its task, several at a time if it has several CPUs. Pieces that have ended are not repeated
when the job is queued again. Shortly before the time limit Slurm sends SIGUSR1: the job then goes back into the queue,
and its runs continue from their last safe points.
"""

import json
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from prunefield.engines import Outcome, Retry, await_value
from prunefield.engines._slurm_queue import find_time, read_events, write_event
from prunefield.engines.local import Local


def run_task(folder: str, work: str) -> int:
    """Carries out one task; its exit status."""
    warned: list[float] = []
    signal.signal(signal.SIGUSR1, lambda *_: warned.append(time.monotonic()))
    number, started = os.environ["SLURM_ARRAY_TASK_ID"], time.monotonic()
    table = json.loads(Path(folder, f"{number}.json").read_text())
    results = Path(folder, f"{number}.jsonl")
    ended = {event["key"] for event in read_events(results)[0] if "value" in event or "error" in event}
    left = {piece["key"]: piece for piece in table["pieces"] if piece["key"] not in ended}
    marks = {key: find_time(piece["mark"]) for key, piece in left.items()}
    keys = list(left)
    items = [(work, str(results), left[key]) for key in keys]
    began = len(left)
    for outcome in Local(jobs=table["processes"], retry=table["retry"]).map(carry_out_piece, items):
        if isinstance(outcome, Outcome):
            key = keys[outcome.index]
            left.pop(key)
            write_event(results, describe_outcome(key, outcome))
        elif isinstance(outcome, Retry):
            write_event(results, {"key": keys[outcome.index], "retry": outcome.reason})
        if warned and left:
            moved = len(left) < began or any(find_time(piece["mark"]) != marks[key] for key, piece in left.items())
            return queue_again() if moved else give_up(results, left, warned[0] - started)
    return 0


def carry_out_piece(task: tuple[str, str, dict[str, Any]]) -> Any:
    """Calls the function on one item, in a process of its own; what it prints goes to the log of the run."""
    work, results, piece = task
    share_gpus()
    write_event(Path(results), {"key": piece["key"], "start": True})
    module, _, function = work.partition(":")
    with redirected(Path(results).parent.parent / "logs" / f"{Path(piece['name']).name}.log"):
        try:
            value = getattr(import_module(module), function)(piece["item"])
            return await_value(value)
        except Exception:
            traceback.print_exc()
            raise


@contextmanager
def redirected(log: Path) -> Iterator[None]:
    """What this process and its children print goes to the end of a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = [os.dup(number) for number in (1, 2)]
    with log.open("ab") as file:
        job = f"{os.environ.get('SLURM_ARRAY_JOB_ID')}_{os.environ.get('SLURM_ARRAY_TASK_ID')}"
        restart = os.environ.get("SLURM_RESTART_COUNT", "0")
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        file.write(f"--- {when} job {job} on {platform.node()}, restart {restart}\n".encode())
        file.flush()
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in zip((1, 2), before, strict=True):
            os.dup2(old, number)
            os.close(old)


def share_gpus() -> None:
    """Of several GPUs of the job, each of its processes sees one: the first process the first GPU, and so on around.

    CUDA reads this variable when it is first used, so nothing may have used it before.
    """
    if os.environ.get("PRUNEFIELD_OWN_GPU"):
        return
    every = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    number = multiprocessing.current_process().name.rpartition("-")[2]
    if len(every) > 1 and number.isdigit():
        os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["PRUNEFIELD_OWN_GPU"] = every[(int(number) - 1) % len(every)]


def describe_outcome(key: str, outcome: Outcome) -> dict[str, Any]:
    """An outcome as an event; a value that JSON cannot hold is an error."""
    if outcome.error is not None:
        return {"key": key, "error": outcome.error}
    try:
        json.dumps(outcome.value)
    except (TypeError, ValueError) as error:
        return {"key": key, "error": f"engine 'slurm' returns values as JSON: {error}"}
    return {"key": key, "value": outcome.value}


def queue_again() -> int:
    """Puts this job back into the queue. If Slurm does not allow it, the command that waits submits it anew."""
    job = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    print(f"{job}: the time limit is near; it returns to the queue", flush=True)
    return subprocess.run(["scontrol", "requeue", job], check=False).returncode


def give_up(results: Path, left: dict[str, dict[str, Any]], seconds: float) -> int:
    """Without a new safe point, the next attempt would end in the same way."""
    begun = {event["key"] for event in read_events(results)[0] if "start" in event}
    reason = (
        f"the time limit of its job came near after {seconds:.0f} s without a new safe point; give it more time, as in "
        "--engine slurm,time=4:00:00"
    )
    for key in left:
        if key in begun:
            write_event(results, {"key": key, "error": reason})
    return queue_again() if set(left) - begun else 0


if __name__ == "__main__":
    # By its name, so that new processes find its functions.
    sys.exit(import_module("prunefield.engines._slurm_task").run_task(*sys.argv[1:]))
