"""Stores that meet: runs of other stores and packs are taken into a store, one by one, each whole or not at all.

Equal runs must have equal digests. Where they do not, both are kept: the store keeps its own result, and the other one
goes to `differing-1`, a store inside of it (or to `differing-2`, if a third result comes along).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from prunefield.core.errors import StoreError, UsageError
from prunefield.core.locks import LockTimeout
from prunefield.lab.examination import Examined, name_run
from prunefield.lab.folder import RunFolder
from prunefield.lab.packs import open_pack
from prunefield.lab.store import Store, match_name, open_store, read_store
from prunefield.runs import Run


@dataclass(frozen=True)
class Joined:
    """What happened to the runs of other stores, by name."""

    added: list[str] = field(default_factory=list)  # finished, and new here
    same: list[str] = field(default_factory=list)  # here already, with the same digest
    resumed: list[str] = field(default_factory=list)  # unfinished, and taken because they were further there
    behind: list[str] = field(default_factory=list)  # unfinished, and not further there
    different: dict[str, str] = field(default_factory=dict)  # why, and where the other result is kept
    refused: dict[str, str] = field(default_factory=dict)  # why nothing was taken

    @property
    def problems(self) -> list[str]:
        """One line for each run that differs or was refused."""
        return [f"{run}: {why}" for run, why in (*self.different.items(), *self.refused.items())]

    def describe(self) -> str:
        parts = {
            "added": self.added,
            "already here": self.same,
            "unfinished (taken, as further there)": self.resumed,
            "unfinished (not taken, as no further there)": self.behind,
            "different": self.different,
            "refused": self.refused,
        }
        return ", ".join(f"{len(runs):,} {what}" for what, runs in parts.items() if runs) or "no runs"


def merge_stores(
    target: Store | Path | str,
    sources: Iterable[Store | Path | str],
    *,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Joined:
    """Takes the runs of other stores, which are only read, into `target`, which is made if there is none.

    A finished run is checked before it is taken. Of unfinished runs the furthest safe point is kept. Interrupt it at
    any time: the same call continues. `tell` is called with the number of runs behind, and of all.
    """
    opened = [read_store(source) for source in sources]
    here = open_store(target)
    for store in opened:
        if store.root.resolve() == here.root.resolve():
            raise UsageError(f"{store.root} cannot be merged into itself")
    here.create()
    joined, folders = Joined(), [folder for store in opened for folder in store]
    for place, folder in enumerate(folders):
        tell(place, len(folders))
        if folder.is_done:
            adopt_run(here, folder.name, folder.examine, f"{folder.root}", joined)
        elif folder.status != "foreign":
            _adopt_safe_point(here[folder.name], folder, joined)
    tell(len(folders), len(folders))
    return joined


def unpack_runs(target: Store | Path | str, path: Path | str, runs: Iterable[str] | None = None) -> Joined:
    """Takes runs (all by default) from a pack into a store, after all of them were checked."""
    joined = Joined()
    with open_pack(path) as pack:
        every, what = list(pack.digests), f"run in {path}"
        chosen = every if runs is None else list(dict.fromkeys(match_name(what, run, every) for run in runs))
        pack.check(chosen)
        here = open_store(target)
        here.create()
        for run in chosen:
            adopt_run(here, run, lambda run=run: pack.examine(run), str(path), joined)
    return joined


def take_runs(store: Store, path: Path | str, runs: Iterable[Run], report: Callable[[str], None]) -> Joined:
    """Takes from a pack those of the `runs` that the store lacks.

    `report` gets a line for each that differs, and one if runs are left to be computed.
    """
    joined, names = Joined(), [run.folder for run in runs]
    with open_pack(path) as pack:
        wanted = [name for name in names if name in pack.digests]
        missing = [run for run in wanted if not store[run].is_done]
        if left := sum(name not in pack.digests and not store[name].is_done for name in names):
            report(f"{path} has {len(wanted) or 'none'} of the {len(names):,} runs; to be computed: {left:,}")
        pack.check(missing)
        if missing:
            store.create()
        for run in missing:
            adopt_run(store, run, lambda run=run: pack.examine(run), str(path), joined)
        for run in wanted:
            if store[run].table("done").get("digest") not in (None, pack.digests[run]):
                joined.different[run] = f"{path} has another result (digest {pack.digests[run][:16]}…); ours is used"
    for problem in joined.problems:
        report(problem)
    return joined


def adopt_run(store: Store, name: str, examine: Callable[[], Examined], source: str, joined: Joined) -> None:
    """Takes one finished run into a store, and notes in `joined` what happened."""
    found = examine()
    if found.problems:
        joined.refused[name] = f"damaged in {source}: {found.problems[0]}"
        return
    own = store[name].examine() if store[name].is_done else None
    if own is not None and own.problems:
        joined.refused[name] = f"damaged in {store.root}: {own.problems[0]}; {store[name].remedy}, or merge again"
    elif own is not None and own.digest == found.digest:
        store[name].tidy()  # if it was killed between the mark and this
        joined.same.append(name)
    elif own is not None:
        place = _keep_other(store, name, found)
        joined.different[name] = (
            f"{source} has another result: digest {found.digest[:16]}…, not {own.digest[:16]}…; "
            f"it is kept in the store {place}"
        )
    elif _write_run(store[name], found):
        joined.added.append(name)
    else:
        joined.refused[name] = f"it is being executed in {store.root}; stop it first, or wait for it"


def _keep_other(store: Store, name: str, found: Examined) -> Path:
    """Where a result is kept that differs from that of the store: the first store inside of it with room for it."""
    for number in count(1):
        other = Store(store.root / f"differing-{number}")
        if not other[name].is_done:
            _write_run(other[name], found)
            return other.root
        if other[name].examine().digest == found.digest:
            return other.root
    raise AssertionError("numbers do not end")


def _write_run(folder: RunFolder, found: Examined) -> bool:
    """Writes the files of a finished run, its mark last; False if it is being executed here."""
    try:
        with folder.hold(timeout=0):
            if not folder.is_done:
                folder.write_finished(found.contents)
            return True
    except LockTimeout:
        return False


def _adopt_safe_point(own: RunFolder, other: RunFolder, joined: Joined) -> None:
    """Takes the safe point of an unfinished run if it is further than that of this store."""
    if own.is_done:
        joined.behind.append(own.name)
        return
    point = other.find_safe_point()
    try:
        settings = other.table("settings")
    except StoreError:
        settings = {}
    if point is not None and name_run(settings) != own.name:
        joined.refused[own.name] = f"its settings.json in {other.root} is damaged, or that of another run"
        return
    try:
        with own.hold(timeout=0):
            here = own.find_safe_point()
            if own.is_done or point is None or (here is not None and here[0] >= point[0]):
                joined.behind.append(own.name)
                return
            own.write_safe_point(settings, point[1])
            joined.resumed.append(own.name)
    except LockTimeout:
        joined.refused[own.name] = f"it is being executed in {own.root}; stop it first, or wait for it"
