"""A Slurm cluster."""

import math
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from prunefield.core.errors import UsageError
from prunefield.core.files import default_store, store_option
from prunefield.core.interruption import advise
from prunefield.engines import Engine, Hints, Notice, Outcome, Retry
from prunefield.engines._batches import pack_batches
from prunefield.engines._slurm_commands import PROGRAMS, ask_slurm, find_longest_array, require_program, submit_script
from prunefield.engines._slurm_queue import Piece, Place, Queue, make_pieces, name_array
from prunefield.engines._slurm_watch import watch_pieces

ADVICE = "the jobs continue in Slurm; run the same command to wait for them, or `prunefield cancel{}` to end them"
Text = Annotated[str, BeforeValidator(lambda value: value if value is None else str(value))]  # 10:00:00 is a time


class Slurm(Engine):
    """A Slurm cluster: arrays of jobs, each with a few small runs or one long one.

    The store must be in a folder that all nodes share. Jobs belong to Slurm: they continue when the command ends, and
    the same command waits for them again. A job that is preempted, or whose time is up, goes back into the queue, and
    its runs continue from their last safe points. A run whose job dies resumes, up to `retry` times; a run that raises
    an error is not repeated. `prunefield cancel` ends the jobs of a store.
    """

    takes_deferred: ClassVar[bool] = True
    partition: Text | None = Field(default=None, description="partition; by default that of the cluster")
    account: Text | None = Field(default=None, description="account to charge")
    time: Text | None = Field(default=None, description="time limit of one job, as in 4:00:00 or 2-00:00:00")
    memory: Text | None = Field(default=None, description="memory of one job, as in 8G")
    gres: Text | None = Field(
        default=None, description="generic resources of one job; by default gpu:1 with --device cuda, otherwise none"
    )
    cpus: int | None = Field(
        default=None,
        ge=1,
        description="CPUs of one job, each for one run at a time; by default 1, or `per_gpu` for each GPU",
    )
    per_gpu: int = Field(default=4, ge=1, description="number of runs that share a GPU")
    jobs: int | None = Field(
        default=None, ge=1, description="maximum number of simultaneous runs; by default unlimited"
    )
    minutes: float = Field(
        default=10.0, gt=0, description="estimated minutes that one job should take: short runs are grouped to fill it"
    )
    retry: int = Field(default=3, ge=0, description="number of times a run is restarted after its job died")
    margin: int = Field(
        default=60, ge=1, description="seconds before the time limit at which a job stops and is queued again"
    )
    poll: float = Field(default=5.0, gt=0, description="seconds between two queries to Slurm")
    options: Text = Field(default="", description="further options for sbatch, as in '--qos=low --constraint=a100'")

    @property
    def is_here(self) -> bool:
        return False

    def require(self) -> None:
        for program in PROGRAMS:
            require_program(program)

    def map(
        self, work: Callable[[Any], Any], items: Sequence[Any], hints: Hints | None = None
    ) -> Iterator[Outcome | Retry | Notice | None]:
        if not items:
            return
        hints = hints or Hints()
        queue = Queue((hints.folder or default_store().resolve() / "engines") / self.kind())
        name = _name_function(work)
        pieces = make_pieces(name, items, hints.names, hints.marks, hints.seconds)

        def submit(these: Sequence[Piece], alone: bool = False) -> dict[str, Place]:
            return self._submit(queue, name, these, hints.device, alone=alone)

        with advise(ADVICE.format(store_option(queue.folder.parent.parent))):
            yield from watch_pieces(queue, pieces, submit, retry=self.retry, poll=self.poll)

    def cancel(self, folder: Path) -> list[str]:
        queue = Queue(folder / self.kind())
        if not queue.folder.is_dir():
            return []
        with queue.hold():  # nothing is submitted meanwhile
            tasks = queue.list_live()
            jobs = sorted({task.job for task in tasks}, key=int)
            if jobs:
                ask_slurm(["scancel", *jobs])
        return [f"Slurm job {job}: {sum(task.job == job for task in tasks)} tasks" for job in jobs]

    def _submit(
        self, queue: Queue, work: str, pieces: Sequence[Piece], device: str, *, alone: bool
    ) -> dict[str, Place]:
        """Submits what is not in the queue yet; where each piece is, by its key."""
        processes = self.cpus or self._count_processes(device)
        with queue.hold():
            live = queue.find_live()
            queue.remove_old({place.token for place in live.values()})
            found = {piece.key: live[piece.key] for piece in pieces if piece.key in live}
            new = [piece for piece in pieces if piece.key not in live]
            if not new:
                return found
            size, slots = 60 * self.minutes * processes, math.ceil((self.jobs or 1) / processes)
            packed = pack_batches([piece.seconds for piece in new], 0 if alone else size, slots)
            batches, longest = [[new[index] for index in batch] for batch in packed], find_longest_array()
            for start in range(0, len(batches), longest):
                part = batches[start : start + longest]
                token = queue.write_array(part, processes, self.retry)
                try:
                    submit_script(
                        self._list_options(queue, token, len(part), processes, device),
                        _write_script(queue.folder / token, work),
                    )
                except BaseException:
                    queue.remove(token)
                    raise
                found |= {piece.key: Place(token, task) for task, batch in enumerate(part) for piece in batch}
        return found

    def _list_options(self, queue: Queue, token: str, tasks: int, processes: int, device: str) -> list[str]:
        """The options of sbatch. Those that the user adds come last, so that they count."""
        limit = f"%{math.ceil(self.jobs / processes)}" if self.jobs else ""
        log = str(queue.folder / token).replace("%", "%%")
        chosen = {
            "partition": self.partition,
            "account": self.account,
            "time": self.time,
            "mem": self.memory,
            "gres": self._choose_gres(device),
        }
        return [
            f"--job-name={name_array(token)}",
            f"--array=0-{tasks - 1}{limit}",
            f"--output={log}/%a.log",
            "--open-mode=append",
            "--requeue",
            f"--signal=B:USR1@{self.margin}",
            "--nodes=1",
            "--ntasks=1",
            f"--cpus-per-task={processes}",
            *(f"--{name}={value}" for name, value in chosen.items() if value),
            *_split_options(self.options),
        ]

    def _choose_gres(self, device: str) -> str | None:
        return self.gres or ("gpu:1" if device.startswith("cuda") else None)

    def _count_processes(self, device: str) -> int:
        """The number of runs at the same time in one job."""
        return self.per_gpu * count_gpus(self._choose_gres(device) or "") if device.startswith("cuda") else 1


def count_gpus(gres: str) -> int:
    """The number of GPUs in a list of generic resources, at least 1.

    >>> count_gpus("gpu:2"), count_gpus("gpu:a100:4,shard:8"), count_gpus("gpu")
    (2, 4, 1)
    """
    found = re.search(r"\bgpu(?::[^:,]*[^:,\d][^:,]*)?:(\d+)", gres)
    return max(1, int(found[1])) if found else 1


def _split_options(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"slurm: options={text!r} cannot be split into words: {error}") from None


def _name_function(work: Callable[[Any], Any]) -> str:
    """MODULE:FUNCTION, by which a job imports it."""
    module, name = work.__module__, work.__qualname__
    if module == "__main__" or "." in name or "<" in name:
        raise UsageError(f"engine 'slurm' can only call functions that a job can import, not {module}.{name}")
    return f"{module}:{name}"


def _write_script(folder: Path, work: str) -> str:
    command = (sys.executable, "-m", "prunefield.engines._slurm_task", str(folder), work)
    return f"#!/bin/sh\nexec {' '.join(map(shlex.quote, command))}\n"
