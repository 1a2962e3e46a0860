"""List, show, verify or remove the runs of a store.

A name may be abbreviated to any unique prefix of it or of its hash.
"""

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import add_store, old_store, print_json
from prunefield.core.errors import StoreError, UsageError, show_line, unknown

if TYPE_CHECKING:
    from prunefield.lab.store import Folder


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="|".join(ACTIONS), help="the action")
    parser.add_argument("names", nargs="*", metavar="RUN", help="the runs [default: all]")
    parser.add_argument("--damaged", action="store_true", help="only runs that `verify` finds damaged")
    parser.add_argument("--unfinished", action="store_true", help="only runs that were interrupted or failed")
    parser.add_argument("--all", action="store_true", help="with remove: all runs")
    add_store(parser)


def execute(args: Namespace) -> int:
    if args.action not in ACTIONS:
        raise unknown("action of runs", args.action, ACTIONS)
    store = old_store(args)
    folders = [store.match(name) for name in args.names] if args.names else list(store)
    if args.damaged or args.unfinished:
        folders = [
            folder
            for folder in folders
            if (args.unfinished and folder.status in ("stopped", "failed"))
            or (args.damaged and folder.is_done and folder.problems())
        ]
    elif args.action in ("remove", "show") and not (args.names or args.all):
        raise UsageError(f"runs {args.action} needs names of runs, --damaged, --unfinished or --all")
    return ACTIONS[args.action](args, folders)


def list_(args: Namespace, folders: "list[Folder]") -> int:
    """One line per run. Nothing is read but a few bytes of each, so damage is for `verify` to find."""
    rows = [_row(folder) for folder in folders]
    if args.json:
        print_json(rows)
        return 0
    names = [show_line(row["run"]) for row in rows]
    width = max(map(len, names), default=3)  # not `screen.show`: it takes seconds for 20,000 rows
    print(f"{'run':{width}}  status   progress  seconds")
    for name, row in zip(names, rows, strict=True):
        print(f"{name:{width}}  {row['status']:7}  {row['progress']:8.0%}  {row['seconds'] or ''}".rstrip())
    return 0


def _row(folder: "Folder") -> dict[str, Any]:
    status, seconds = folder.status, None
    with suppress(StoreError):
        seconds = folder.table("made").get("seconds") if status == "done" else None
    progress = 1.0 if status == "done" else folder.progress()
    is_number = isinstance(seconds, int | float)
    return {"run": folder.name, "status": status, "progress": progress, "seconds": seconds if is_number else None}


def show_(args: Namespace, folders: "list[Folder]") -> int:
    """Settings, records and what made them, always as JSON."""
    entries = []
    for folder in folders:
        parts = {part: folder.table(part) for part in ("settings", "made", "done", "failure")}
        records = folder.read().values if folder.is_done else []
        entries.append({"run": folder.name, "status": folder.status, **parts, "records": records})
    print_json(entries[0] if len(entries) == 1 else entries)
    return 0


def verify(args: Namespace, folders: "list[Folder]") -> int:
    """Compares every file of finished runs with its checksum."""
    problems = [(folder, problem) for folder in folders if folder.is_done for problem in folder.problems()]
    if args.json:
        print_json([{"run": folder.name, "problem": problem, "remedy": folder.remedy} for folder, problem in problems])
    else:
        for folder, problem in problems:
            print(show_line(f"{folder.name}: {problem}; {folder.remedy}"))
        print(f"{len(folders)} runs checked, {len({folder.name for folder, _ in problems})} damaged")
    return 1 if problems else 0


def remove(args: Namespace, folders: "list[Folder]") -> int:
    """Deletes runs."""
    for folder in folders:
        folder.remove()
    if args.json:
        print_json([folder.name for folder in folders])
    else:
        print("\n".join(show_line(f"removed {folder.name}") for folder in folders) or "nothing to remove")
    return 0


ACTIONS = {"list": list_, "show": show_, "verify": verify, "remove": remove}
