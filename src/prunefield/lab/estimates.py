"""How long runs will take: their own estimate, corrected by what the store has measured on this machine."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from statistics import median
from typing import NamedTuple

from prunefield.core.errors import Error
from prunefield.core.plugin import Plugin
from prunefield.lab.store import Store
from prunefield.runs import Run

ENOUGH = 30  # measured runs of a kind: more would take longer to read than they improve a median


class TimeEstimate(NamedTuple):
    """Seconds on one core; `learnt` is the number of measured runs behind them, 0 if they are the run's own guess."""

    seconds: float
    learnt: int = 0


def estimate_seconds(
    runs: Iterable[Run], store: Store | None = None, *, device: str = "cpu"
) -> dict[Run, TimeEstimate]:
    """The time of each run: `run.seconds()` × the median of measured ÷ estimated seconds of similar runs in the store.

    Similar runs agree in every `kind` among their settings (run, task, network); if none of those is finished, all
    runs of the same kind count.
    """
    runs = list(runs)
    ratios = {} if store is None else _learn_ratios(store, {run.kind() for run in runs}, device)
    found = {}
    for run in runs:
        known = ratios.get(_name_sort(run)) or ratios.get((run.kind(),)) or ()
        found[run] = TimeEstimate(run.seconds() * (median(known) if known else 1.0), len(known))
    return found


def _learn_ratios(store: Store, kinds: set[str], device: str) -> dict[tuple[str, ...], list[float]]:
    """Measured ÷ estimated seconds of finished runs, by sort and by kind."""
    ratios, seen = defaultdict(list), Counter()
    for folder in store:
        kind = folder.kind
        if kind not in kinds or seen[kind] == ENOUGH:
            continue
        with suppress(Error):  # damaged, or of another version: nothing to learn from
            made, run = folder.table("made"), Run.parse(folder.table("settings"))
            seconds, guess = made.get("seconds"), run.seconds()
            if made.get("device") == device and isinstance(seconds, int | float) and guess > 0:
                seen[kind] += 1
                for sort in {_name_sort(run), (kind,)}:
                    ratios[sort].append(max(seconds, 1e-3) / guess)
    return ratios


def _name_sort(run: Run) -> tuple[str, ...]:
    """All kinds among the settings of a run, with their places."""
    return tuple(_list_kinds(run, "kind"))


def _list_kinds(plugin: Plugin, place: str) -> Iterator[str]:
    yield f"{place}={plugin.kind()}@{plugin.version}"
    for name in type(plugin).model_fields:
        value = getattr(plugin, name)
        for number, item in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(item, Plugin):
                yield from _list_kinds(item, f"{place}.{name}.{number}")
