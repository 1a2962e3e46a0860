"""How long runs will take: their own estimate, corrected by what the store has measured on this machine."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from statistics import median
from typing import NamedTuple

from prunefield.core.errors import Error
from prunefield.core.plugin import Plugin
from prunefield.lab.store import Store
from prunefield.runs import Run

Sort = tuple[str, ...]  # all kinds among the settings of a run
EVERY: Sort = ()
NOTHING = {EVERY: (1.0, 0)}  # learnt: the factor of a run's own estimate, from how many runs
ENOUGH = 30  # measured runs of a kind: more would take longer to read than they improve a median


class TimeEstimate(NamedTuple):
    """Seconds on one core; `learnt` is the number of measured runs behind them, 0 if they are the run's own guess."""

    seconds: float
    learnt: int = 0


def estimate_seconds(
    runs: Iterable[Run], store: Store | None = None, *, device: str = "cpu", names: Sequence[str] | None = None
) -> list[TimeEstimate]:
    """The time of each run: `run.seconds()` × the median of measured ÷ estimated seconds of similar runs in the store.

    Similar runs agree in every `kind` among their settings (run, task, network); if none of those is finished, all
    runs of the same kind count. `names` are those of the store, where they are known.
    """
    runs = list(runs)
    kinds = {sort.kind() for sort in set(map(type, runs))}
    ratios = {} if store is None else _learn_ratios(store, names or store.names(), kinds, device)
    known = {kind: {sort: (median(each), len(each)) for sort, each in sorts.items()} for kind, sorts in ratios.items()}
    found = []
    for run in runs:
        sorts = known.get(run.kind(), NOTHING)
        own = sorts.get(_name_sort(run)) if len(sorts) > 2 else None  # a single sort has the median of its kind
        factor, learnt = own or sorts[EVERY]
        found.append(TimeEstimate(run.seconds() * factor, learnt))
    return found


def _learn_ratios(
    store: Store, names: Iterable[str], kinds: set[str], device: str
) -> dict[str, dict[Sort, list[float]]]:
    """Measured ÷ estimated seconds of finished runs, by kind and by sort, and all of a kind as EVERY."""
    ratios: dict[str, dict[Sort, list[float]]] = {}
    wanted = set(kinds)  # of which there are not enough yet
    for name in names:
        kind = name.rpartition("-")[0]
        if kind not in wanted:
            continue
        with suppress(Error):  # damaged, or of another version: nothing to learn from
            folder = store[name]
            made, run = folder.table("made"), Run.parse(folder.table("settings"))
            seconds, guess = made.get("seconds"), run.seconds()
            if made.get("device") == device and isinstance(seconds, int | float) and guess > 0:
                for sort in (EVERY, _name_sort(run)):
                    ratios.setdefault(kind, {}).setdefault(sort, []).append(max(seconds, 1e-3) / guess)
                if len(ratios[kind][EVERY]) == ENOUGH:
                    wanted.remove(kind)
    return ratios


def _name_sort(run: Run) -> Sort:
    """All kinds among the settings of a run, with their places."""
    found: list[str] = []
    _add_kinds(run, "kind", found)
    return tuple(found)


def _add_kinds(plugin: Plugin, place: str, found: list[str]) -> None:
    found.append(f"{place}={plugin.kind()}@{plugin.version}")
    for name in type(plugin).model_fields:
        value = getattr(plugin, name)
        if isinstance(value, Plugin | tuple):
            for number, item in enumerate(value if isinstance(value, tuple) else (value,)):
                if isinstance(item, Plugin):
                    _add_kinds(item, f"{place}.{name}.{number}", found)
