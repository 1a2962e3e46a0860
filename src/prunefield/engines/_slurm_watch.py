"""Waits for pieces of work in Slurm's queue, and submits again what died."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from prunefield.core.errors import RunError
from prunefield.engines import Notice, Outcome, Retry
from prunefield.engines._slurm_commands import ORDINARY, JobTask, Unreachable, find_exit, list_job_tasks
from prunefield.engines._slurm_queue import Piece, Place, Queue, find_time, name_array, read_events

DEATHS = {
    "BOOT_FAIL": "its node did not start",
    "COMPLETED": "its job ended without a result",
    "DEADLINE": "the deadline of its job passed",
    "NODE_FAIL": "its node died",
    "OUT_OF_MEMORY": "its job needed more memory than it had",
    "PREEMPTED": "its job was preempted",
    "REVOKED": "its job was revoked",
    "TIMEOUT": "its job reached the time limit",
}
SURE = 3  # questions in a row after which a job has ended: one that returns to the queue may seem to have, for a moment


class Submit(Protocol):
    def __call__(self, these: Sequence[Piece], alone: bool = False) -> dict[str, Place]: ...


def watch_pieces(
    queue: Queue, pieces: Sequence[Piece], submit: Submit, *, retry: int, poll: float
) -> Iterator[Outcome | Retry | Notice | None]:
    """Submits the pieces and yields what becomes of them."""
    watch = Watch(queue, pieces, submit, retry)
    watch.where = submit(pieces)
    asked = -poll
    while watch.left:
        yield from watch.read_results()
        if watch.left and time.monotonic() - asked >= poll:
            try:
                yield from watch.ask()
            except Unreachable as error:
                yield from watch.tell(f"{error}; still waiting, as jobs continue without it")
            asked = time.monotonic()
        yield None
        if watch.left:
            time.sleep(min(poll, 0.2 + len(watch.left) / 1000))


class Watch:
    """What is known about the pieces that have not ended."""

    def __init__(self, queue: Queue, pieces: Sequence[Piece], submit: Submit, retry: int) -> None:
        self.queue, self.submit, self.retry = queue, submit, retry
        self.left = {piece.key: piece for piece in pieces}
        self.where: dict[str, Place] = {}
        self.begun: set[str] = set()
        self.deaths = Counter[str]()
        self.marks = {piece.key: find_time(piece.mark) for piece in pieces}
        self.read_to: dict[Place, int] = {}
        self.waiting: set[Place] = set()  # tasks that have not begun, so that there is nothing to read
        self.gone = Counter[Place]()
        self.again: list[Piece] = []  # to be submitted as soon as Slurm answers
        self.told: set[str] = set()

    def read_results(self, places: Iterable[Place] | None = None) -> Iterator[Outcome | Retry]:
        """What the jobs have written since the last time: all that have begun, or those at these places."""
        for place in set(self.where.values()) - self.waiting if places is None else places:
            start = self.read_to.get(place, 0)
            events, self.read_to[place] = read_events(self.queue.result_path(place), start)
            for event in events:
                piece = self.left.get(event["key"])
                if piece is None or self.where.get(piece.key) != place:
                    continue
                if "start" in event:
                    self.begun.add(piece.key)
                elif "retry" in event:
                    yield Retry(piece.index, str(event["retry"]))
                else:
                    self._forget(piece)
                    yield Outcome(piece.index, event.get("value"), event.get("error"))

    def ask(self) -> Iterator[Outcome | Retry | Notice]:
        """Asks Slurm about the jobs; what has died is submitted again."""
        places = defaultdict(list)
        for key, place in self.where.items():
            places[place].append(self.left[key])
        tasks = {
            Place(task.name.removeprefix(name_array("")), task.number): task
            for task in list_job_tasks({name_array(place.token) for place in places})
        }
        self.waiting = {place for place, task in tasks.items() if task.state == "PENDING" and place in places}
        for place, pieces in places.items():
            task = tasks.get(place)
            if task is not None and task.is_live:
                self.gone[place] = 0
                if task.state == "PENDING" and task.reason not in ORDINARY:
                    yield from self.tell(f"job {task.id} waits in Slurm's queue: {task.reason}")
                continue
            self.gone[place] += 1
            if self.gone[place] >= SURE:
                yield from self.read_results([place])  # what it wrote in its last moment
                yield from self._bury(place, task, [piece for piece in pieces if piece.key in self.left])
        yield from self._submit_again()

    def tell(self, text: str) -> Iterator[Notice]:
        """A notice, once."""
        if text not in self.told:
            self.told.add(text)
            yield Notice(text)

    def _bury(self, place: Place, task: JobTask | None, pieces: Sequence[Piece]) -> Iterator[Outcome | Retry]:
        """What becomes of the pieces of a job that has ended without them."""
        if not pieces:
            return
        job = f"job {task.id}" if task else f"job {name_array(place.token)}"
        if task is not None and task.state == "CANCELLED":
            yield from self._fail(pieces, f"its {job} was cancelled; the same command submits it again")
            return
        if not self.queue.log_path(place).exists():
            yield from self._fail(
                pieces,
                f"its {job} ended and left no log in {self.queue.folder / place.token}: the store must be in a folder "
                f"that all nodes share{f', and {task.node} does not have it' if task and task.node else ''}",
            )
            return
        how = self._describe_death(place, task)
        begun = [piece for piece in pieces if piece.key in self.begun]
        if not begun and task is not None and task.state == "FAILED":
            yield from self._fail(pieces, f"its {job} failed before the run began: {how}")
            return
        for piece in pieces:
            self.where.pop(piece.key)
            counted, is_free = piece in begun or not begun, self._is_free(task, piece)
            self.deaths[piece.key] += counted and not is_free
            if self.deaths[piece.key] > self.retry:
                yield from self._fail([piece], f"{how} (retry: {self.retry})")
                continue
            self.again.append(piece)
            if counted:
                number = "" if is_free else f" {self.deaths[piece.key]} of {self.retry}"
                yield Retry(piece.index, f"{how}; retry{number}")

    def _is_free(self, task: JobTask | None, piece: Piece) -> bool:
        """Whether a death does not count: a job that was preempted, or whose time was up after a new safe point."""
        before, self.marks[piece.key] = self.marks[piece.key], find_time(piece.mark)
        state = task.state if task else ""
        return state == "PREEMPTED" or (state in ("TIMEOUT", "COMPLETED") and self.marks[piece.key] != before)

    def _submit_again(self) -> Iterator[Outcome | Notice]:
        """Those that had begun get a job of their own: one of them may have brought the others down."""
        alone = [piece for piece in self.again if piece.key in self.begun]
        others = [piece for piece in self.again if piece.key not in self.begun]
        for these in filter(None, (alone, others)):
            try:
                self.where |= self.submit(these, alone=these is alone)
            except Unreachable:
                raise  # they stay in `again`
            except RunError as error:
                yield from self._fail(these, f"it could not be submitted again: {error}")
            done = {piece.key for piece in these}
            self.begun -= done
            self.again = [piece for piece in self.again if piece.key not in done]

    def _fail(self, pieces: Sequence[Piece], reason: str) -> Iterator[Outcome]:
        for piece in pieces:
            self._forget(piece)
            yield Outcome(piece.index, None, reason)

    def _forget(self, piece: Piece) -> None:
        self.left.pop(piece.key, None)
        self.where.pop(piece.key, None)

    def _describe_death(self, place: Place, task: JobTask | None) -> str:
        if task is None:
            return "its job ended, and Slurm no longer knows why"
        what = DEATHS.get(task.state, f"its job died ({find_exit(task) or task.state})")
        node = f" on {task.node}" if task.node else ""
        last = ""
        with suppress(OSError):
            lines = self.queue.log_path(place).read_text(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{what}{node}{f': {last[:300]}' if last and task.state == 'FAILED' else ''}"
