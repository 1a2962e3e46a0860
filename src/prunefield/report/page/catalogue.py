"""The finished runs of a kind that an explorer can show, and short names that tell them apart."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from prunefield.core.errors import Error, StoreError
from prunefield.core.settings import flatten_settings
from prunefield.lab.store import Store
from prunefield.report.page.contents import show_setting
from prunefield.runs import Run

LONGEST = 4  # settings in the name of a run
R = TypeVar("R", bound=Run)


class Listed(NamedTuple):
    """Runs of a kind: those that are shown, how many are finished, and what is wrong with the others."""

    runs: list[Any]
    finished: int
    problems: dict[str, str]


def select_runs(
    store: Store,
    kind: type[R],
    most: int,
    *,
    where: Callable[[R], bool] = lambda _: True,
    weigh: Callable[[R], int] = lambda _: 0,
) -> Listed:
    """The first `most` finished runs of a kind, those with low seeds and, of these, with large weight first; `where`
    says which can be shown. If there are more, that is one of the problems.
    """
    names = [name for name in store.names() if name.startswith(f"{kind.kind()}-") and store[name].is_done]
    found: list[R] = []
    problems: dict[str, str] = {}
    for name in names:
        try:
            run = Run.parse(store[name].table("settings"))
            if run.folder != name:
                raise StoreError(f"its settings are those of {run.folder}; {store[name].remedy}")
            if isinstance(run, kind) and where(run):
                found.append(run)
        except Error as error:  # made by another version, or somebody has edited it
            problems[name] = str(error)
    ordered = sorted(found, key=lambda run: (getattr(run, "seed", 0), -weigh(run), run.folder))
    if len(ordered) > most:
        problems[f"other {kind.kind()} runs"] = (
            f"{len(ordered) - most:,} of {len(ordered):,} are not on the page, which takes at most {most:,}: "
            "those with the lowest seeds"
        )
    return Listed(ordered[:most], len(names), problems)


def name_runs(runs: Sequence[Run], base: Sequence[str], ignored: tuple[str, ...] = ()) -> list[str]:
    """A name for each run: its `base` and the settings in which it differs from most of the others.

    >>> from prunefield.runs.sketch import Sketch
    >>> name_runs([Sketch(), Sketch(), Sketch(tau=2.0)], ["a", "b", "c"])
    ['a', 'b', 'c, tau 2']
    """
    tables = [flatten_settings(run.settings()) for run in runs]
    keys = dict.fromkeys(key for table in tables for key in table if not key.startswith(("kind", *ignored)))
    usual = {key: Counter(repr(table.get(key)) for table in tables).most_common(1)[0][0] for key in keys}
    names = []
    for own, table in zip(base, tables, strict=True):
        rare = [key for key in keys if key in table and repr(table[key]) != usual[key]]
        words = [f"{key} {show_setting(table[key])}" for key in rare]
        more = [f"and {len(words) - LONGEST} more"] if len(words) > LONGEST else []
        names.append(", ".join([own, *words[:LONGEST], *more]))
    twice = {name for name, number in Counter(names).items() if number > 1}
    return [
        f"{name} ({run.id[:6]})" if name in twice else name for name, run in zip(names, runs, strict=True)
    ]  # fmt: skip
