"""Which kept values go with the results of a store: values that measure another result of a run are computed anew."""

from collections.abc import Iterable, Mapping

from prunefield.lab.execution import order_runs
from prunefield.lab.store import Store
from prunefield.papers import Item, Scale
from prunefield.report.kept import KeptRun, read_kept_runs
from prunefield.runs import Run


def find_digests(store: Store, runs: Iterable[Run]) -> dict[str, str]:
    """The digests of those runs that are finished in a store, by name."""
    folders = [store.folder(run) for run in runs]
    return {folder.name: folder.table("done").get("digest", "") for folder in folders if folder.is_done}


def find_stale(runs: Iterable[Run], kept: Mapping[str, KeptRun], digests: Mapping[str, str]) -> list[str]:
    """The runs whose kept values do not go with the results that a store has of other runs, by name.

    Results differ between kinds of processors, and what measures one result says nothing about another. `runs` come
    with those that they need, dependencies first; `digests` are those of the results in the store, by name.
    """
    changed, stale = set[str](), dict[str, None]()
    for run in runs:
        name, old, new = run.folder, kept.get(run.folder), digests.get(run.folder)
        needs = [need.folder for need in run.needs()]
        if new is None and changed.intersection(needs):
            changed.add(name)
            stale |= dict.fromkeys([name] if old else [])
        elif new is not None and (old is None or old.digest != new):
            changed.add(name)
            stale |= dict.fromkeys(need for need in needs if need in kept and need not in digests)
    return list(stale)


def list_unkept(items: Iterable[Item], scale: Scale, store: Store | None = None) -> dict[str, list[Run]]:
    """The runs of each item that have to be computed although others are kept, with those that they need.

    Kept values that do not go with what the store has, or will have then, are computed anew (`find_stale`).
    """
    plans: dict[str, list[Run]] = {}
    wanted: dict[str, set[str]] = {}
    kept: dict[str, KeptRun] = {}
    digests: dict[str, str] = {}
    for item in items:
        plan = plans[item.kind()] = order_runs(item.plan(scale))
        shipped = read_kept_runs(item.kind().partition("/")[0], item.own_scale(scale))
        missing = [run for run in plan if not (item.from_values and run.folder in shipped)]
        wanted[item.kind()] = {run.folder for run in order_runs(missing)}
        kept |= shipped
        digests |= dict.fromkeys(wanted[item.kind()] - digests.keys(), "")  # not known before it is computed
        digests |= find_digests(store, plan) if store else {}
    stale = set(find_stale((run for plan in plans.values() for run in plan), kept, digests))
    return {name: [run for run in plan if run.folder in wanted[name] | stale] for name, plan in plans.items()}
