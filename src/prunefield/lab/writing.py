"""Results of short runs, which a thread writes while the next run computes; several at a time, if they are ready.

A run counts as finished when its future is done, and its folder stays locked until then. If several results cannot be
written together, each is written by itself, so that only the run that does not fit on the disk fails.
"""

import os
import threading
from contextlib import suppress
from functools import lru_cache

from prunefield.core.commits import can_sync_at_once, write_folders
from prunefield.engines import Deferred
from prunefield.lab.examination import MARK
from prunefield.lab.findings import Finished

RUNS, BYTES = 64, 100_000_000  # that wait at most; whoever has another one waits, too
TOGETHER, GATHER = 32, 0.4  # runs that are written at once, or seconds for which the first of them waits for others


class BeingWritten(Deferred):
    """A result that a writer writes: why the run could not be logged, if so, or the error of writing."""

    def __init__(self, writer: "_Writer") -> None:
        super().__init__()
        self.writer = writer

    def hurry(self) -> None:
        self.writer.hurry()


def write_behind(finished: Finished) -> BeingWritten:
    """Has a result written by the thread of this process, which then releases the lock of its folder."""
    return _start_writer(os.getpid()).put(finished)


def await_written(place: str) -> None:
    """Waits for a result that this process is about to write; whoever asks for its lock would do so less promptly."""
    _start_writer(os.getpid()).wait(place)


class _Writer:
    def __init__(self) -> None:
        self.waiting: list[tuple[Finished, BeingWritten]] = []
        self.futures: dict[str, BeingWritten] = {}  # those that are being written, too
        self.size = 0  # of all these, in bytes
        self.is_urgent = False  # somebody waits for one of them
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None

    def put(self, finished: Finished) -> BeingWritten:
        future = BeingWritten(self)
        with self.changed:
            if self.thread is None:
                self.thread = threading.Thread(target=self._serve, name="prunefield-writer", daemon=True)
                self.thread.start()
            self.changed.wait_for(lambda: len(self.futures) < RUNS and self.size < BYTES)
            self.waiting.append((finished, future))
            self.futures[finished.folder.place] = future
            self.size += finished.count_bytes()
            if len(self.waiting) in (1, TOGETHER):
                self.changed.notify_all()
        return future

    def hurry(self) -> None:
        with self.changed:
            self.is_urgent = True
            self.changed.notify_all()

    def wait(self, place: str) -> None:
        if (future := self.futures.get(place)) is not None:
            self.hurry()
            future.exception()  # waits; whoever asked for this run gets the error

    def _serve(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting)
                self.changed.wait_for(lambda: self.is_urgent or len(self.waiting) >= TOGETHER, GATHER)
                group, self.waiting, self.is_urgent = self.waiting, [], False
            errors = _write_all([finished for finished, _ in group])
            with self.changed:
                for finished, _ in group:
                    del self.futures[finished.folder.place]
                    self.size -= finished.count_bytes()
                self.changed.notify_all()
            for (finished, future), error in zip(group, errors, strict=True):
                future.more = future is not group[-1][1]
                future.set_result(finished.problems) if error is None else future.set_exception(error)


def _write_all(group: list[Finished]) -> list[BaseException | None]:
    """Writes results and releases their locks; for each, why it could not be written, if so."""
    is_written = can_sync_at_once() and _write_group(group)
    errors: list[BaseException | None] = []
    for finished in group:
        try:
            finished.folder.lock.release() if is_written else finished.write()
            errors.append(None)
        except BaseException as error:  # of any kind: somebody waits for the future
            errors.append(error)
    return errors


def _write_group(group: list[Finished]) -> bool:
    """Writes all of a group but the settings, which are as `begin` has written them and become safe with the rest.

    If that fails, for whatever reason, each is to be written by itself: then it is known which is to blame.
    """
    with suppress(Exception):
        folders = {finished.folder.place: finished.pack() for finished in group}
        for contents in folders.values():
            del contents["settings.json"]
        write_folders(folders, MARK)
        for finished in group:
            finished.folder.tidy()
        return True
    return False


@lru_cache(maxsize=1)
def _start_writer(process: int) -> _Writer:
    """The writer of this process; one that was forked starts its own."""
    return _Writer()
