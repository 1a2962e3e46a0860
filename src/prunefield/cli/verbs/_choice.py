"""Which runs of a store `runs pack` takes."""

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from prunefield.core.errors import StoreError

if TYPE_CHECKING:
    from prunefield.lab.store import RunFolder, Store


def choose_runs(args: Namespace, store: "Store") -> "list[RunFolder]":
    """The runs by name, of items or of a study, by default all; and all that they need, as far as it is stored."""
    names: set[str] = {store.match(name).name for name in args.names}
    if args.item:
        from prunefield.papers import Scale
        from prunefield.report.ledger import check_scale, find_items
        from prunefield.report.reproduction import find_owners

        scale: Scale = check_scale(args.scale)
        names |= {run.folder for run in find_owners(find_items(args.item), scale)}
    if args.study:
        from prunefield.lab.execution import order_runs
        from prunefield.lab.study import Study

        names |= {run.folder for run in order_runs(Study.read(args.study).runs)}
    if not (args.names or args.item or args.study):
        names = {name for name in store.names() if store[name].status != "foreign"}
    if args.kind is not None:
        store.check_kind(args.kind)
        names = {name for name in names if store[name].kind == args.kind}
    here = set(store.names())
    for name in list(names):
        names |= _find_needs(_read_settings(store[name]), here)
    return [store[name] for name in sorted(names)]


def _read_settings(folder: "RunFolder") -> dict[str, Any]:
    try:
        return folder.table("settings")
    except StoreError:  # damaged: refused when it is packed
        return {}


def _find_needs(settings: Any, here: set[str]) -> set[str]:
    """The stored runs among nested settings."""
    from prunefield.lab.examination import name_run

    inner: Iterable[Any] = settings.values() if isinstance(settings, dict) else settings
    tables = [item for item in inner if isinstance(item, dict | list)]
    found = {name_run(item) for item in tables if isinstance(item, dict)} & here
    return found.union(*(_find_needs(item, here) for item in tables))
