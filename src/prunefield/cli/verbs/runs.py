"""List, tabulate, show, verify, remove, pack, unpack or merge the runs of a store.

A name may be abbreviated to any unique prefix of it or of its hash. `runs table` has one row per finished run: its
settings, and the values of its last record; in a narrow terminal a row is a block of lines without what is nan or None.

`runs pack` writes finished runs and those that they need to one file with checksums, `runs unpack FILE` takes them into
a store, and `runs merge STORE …` takes in the runs of other stores, which are only read. Runs with equal settings must
have equal digests; if two differ, both are kept and reported. Of an unfinished run, the furthest safe point is kept.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import RUN_COLUMNS, add_store, make_run_cells, old_store, print_json, show_run_table
from prunefield.cli.verbs._exchange import PACK, merge_runs, pack_runs, unpack_into_store
from prunefield.core.errors import StoreError, UsageError, show_line, unknown
from prunefield.core.settings import flatten_settings
from prunefield.core.terminal import count_things
from prunefield.lab.listing import describe_runs

if TYPE_CHECKING:
    from prunefield.lab.store import RunFolder

MANY = 2_000  # runs; of more, a list has few columns, so that it stays quick

EXAMPLES = {
    "prunefield runs list --kind neuron": "the runs of a kind, with the settings that differ",
    "prunefield runs show neuron-4f": "settings, versions and last values of one run, or why it failed",
    "prunefield runs table --csv runs.csv": "settings and last values of all runs",
    "prunefield runs verify": "compare all files with their checksums",
    "prunefield runs remove --unfinished": "delete what was interrupted or failed",
    "prunefield runs pack --study study.toml --out study.zip": "one file with all runs of a study, to hand on",
    "prunefield runs pack --item redman2025/fig4 --scale laptop --out fig4.zip": "one file with all runs of an item",
    "prunefield runs unpack study.zip --store new": "check such a file and take its runs into a store",
    "prunefield runs merge worker-1 worker-2 --store all": "one store from several",
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="|".join([*ACTIONS, *EXCHANGE]), help="the action")
    parser.add_argument(
        "names",
        nargs="*",
        default=[],
        metavar="RUN",
        help="names of runs [default: all]; for unpack, a file; for merge, stores",
    )
    parser.add_argument("--damaged", action="store_true", help="only runs that `verify` finds damaged")
    parser.add_argument("--unfinished", action="store_true", help="only runs that were interrupted or failed")
    parser.add_argument("--all", action="store_true", help="with remove: all runs")
    parser.add_argument(
        "--long", action="store_true", help=f"with list: show all columns, even for more than {MANY:,} runs"
    )
    parser.add_argument("--kind", metavar="KIND", help="only runs of this kind")
    parser.add_argument("--records", action="store_true", help="with table: one row per record instead of per run")
    parser.add_argument("--csv", metavar="FILE", help="with table: write CSV to this file, or to stdout if it is -")
    parser.add_argument("--item", action="append", metavar="ITEM", help="with pack: the runs of a paper or item")
    parser.add_argument(
        "--scale", default="smoke", help="with pack --item: smoke, laptop, night or paper [default: smoke]"
    )
    parser.add_argument("--study", type=Path, metavar="FILE.toml", help="with pack: the runs of a study")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"with pack: output file [default: {PACK}]")
    parser.add_argument("--parquet", type=Path, metavar="FILE", help="with table: write Parquet to this file")
    add_store(parser)


def execute(args: Namespace) -> int:
    if args.action not in (*ACTIONS, *EXCHANGE):
        raise unknown("action of runs", args.action, [*ACTIONS, *EXCHANGE])
    for option, actions in TAKEN.items():
        if getattr(args, option) not in (None, False) and args.action not in actions:
            raise UsageError(f"--{option} has no effect on `runs {args.action}`; it is for {', '.join(actions)}")
    if args.action in EXCHANGE:
        return EXCHANGE[args.action](args)
    store = old_store(args)
    folders = [store.match(name) for name in args.names] if args.names else list(store)
    if args.kind is not None:
        store.check_kind(args.kind)
        folders = [folder for folder in folders if folder.kind == args.kind]
    if args.damaged or args.unfinished:
        folders = [
            folder
            for folder in folders
            if (args.unfinished and folder.status in ("stopped", "failed", "foreign"))
            or (args.damaged and folder.is_done and folder.problems())
        ]
    elif args.action in ("remove", "show") and not (args.names or args.all):
        raise UsageError(f"runs {args.action} needs names of runs, --damaged, --unfinished or --all")
    return ACTIONS[args.action](args, folders)


def print_runs(args: Namespace, folders: "list[RunFolder]") -> int:
    """One line per run. Only the beginning of each is read, so damage is for `verify` to find."""
    rows = [_row(folder) for folder in folders]
    if len(folders) <= MANY or args.long:
        rows = [{**told, **row} for row, told in zip(rows, describe_runs(folders), strict=True)]
    if args.json:
        print_json({"runs": rows})
        return 0
    if rows and "kind" in rows[0]:
        cells = [(*make_run_cells(row), _show_status(row), _show_seconds(row)) for row in rows]
        show_run_table((*RUN_COLUMNS, "status", "seconds"), cells)
        return 0
    names = [show_line(row["run"]) for row in rows]
    width = max(map(len, names), default=3)  # not `show_table`: it takes seconds for 20,000 rows
    print(f"{'run':{width}}  status        seconds")
    for name, row in zip(names, rows, strict=True):
        print(f"{name:{width}}  {_show_status(row):12}  {_show_seconds(row)}".rstrip())
    if rows:
        print(f"{len(rows):,} runs; --long shows their settings, items, dates and sizes too", file=sys.stderr)
    return 0


def _show_status(row: dict[str, Any]) -> str:
    return row["status"] if row["status"] in ("done", "foreign") else f"{row['status']} {row['progress']:.0%}"


def _show_seconds(row: dict[str, Any]) -> str:
    return "" if row["seconds"] is None else f"{row['seconds']:g}"


def _row(folder: "RunFolder") -> dict[str, Any]:
    status, made = folder.status, {}
    with suppress(StoreError):
        made = folder.table("made") if status == "done" else {}
    progress, seconds, date = 1.0 if status == "done" else folder.progress(), made.get("seconds"), made.get("finished")
    row = {"run": folder.name, "status": status, "progress": progress}
    row["seconds"] = seconds if isinstance(seconds, int | float) else None
    return row | ({"date": date[:16].replace("T", " ")} if isinstance(date, str) else {})


def print_table(args: Namespace, folders: "list[RunFolder]") -> int:
    """Settings and values of finished runs, as a table, CSV or JSON."""
    from prunefield.core.files import write_whole
    from prunefield.core.terminal import find_width, show_table
    from prunefield.lab.store import tabulate_runs

    if args.json and args.csv == "-":
        raise UsageError("--json and --csv - both print to stdout; choose one of them, or a file with --csv FILE")
    found: Any = tabulate_runs(folders, records=args.records)
    if args.csv not in (None, "-"):
        write_whole(Path(args.csv), found.to_csv(index=False).encode(), chosen_by="--csv")
        print(f"{args.csv}: {_show_size(found)}", file=sys.stderr if args.json else None)
    if args.parquet is not None:
        from prunefield.lab.exports import encode_parquet

        write_whole(args.parquet, encode_parquet(found), chosen_by="--parquet")
        print(f"{args.parquet}: {_show_size(found)}", file=sys.stderr if args.json else None)
    if args.json:
        print_json({"runs": found.astype(object).where(found.notna(), None).to_dict("records")})
    elif args.csv == "-":
        sys.stdout.write(found.to_csv(index=False))
    elif args.csv is None and args.parquet is None:
        varies = [key for key in found if key == "run" or found[key].map(str).nunique() > 1]
        cells = found[varies].astype(object)
        shown = cells if find_width() is None else cells.where(cells.notna(), "–")  # a folded row leaves it out
        show_table(varies, shown.to_numpy().tolist())
    return 0


def _show_size(table: Any) -> str:
    return " and ".join(map(count_things, table.shape, ("row", "column")))


def show_runs(args: Namespace, folders: "list[RunFolder]") -> int:
    """Settings, records and what made them; as JSON, or for people without all but the last record."""
    entries = []
    for folder in folders:
        parts = {part: folder.table(part) for part in ("settings", "made", "done", "failure")}
        records = folder.read().values if folder.is_done else []
        entries.append({"run": folder.name, "status": folder.status, **parts, "records": records})
    if args.json:
        print_json({"runs": entries})
    else:
        print("\n\n".join("\n".join(_describe_run(entry)) for entry in entries))
    return 0


def _describe_run(entry: dict[str, Any]) -> Iterator[str]:
    """What is known about a run, as lines that fit the terminal."""
    from prunefield.core.terminal import find_width, wrap_lines

    records, failure = entry["records"], entry["failure"]
    yield show_line(f"{entry['run']}: {entry['status']}, {count_things(len(records), 'record')}")
    parts = {
        "settings": flatten_settings(entry["settings"]),
        "made": entry["made"] | {key: entry["done"][key] for key in ("digest",) if key in entry["done"]},
    }
    parts |= {"last record (all of them: --json)" if records[1:] else "record": record for record in records[-1:]}
    parts |= {"failure": {"message": failure["message"]}} if "message" in failure else {}
    for title, table in parts.items():
        yield from ["", title] if table else []
        width = max(map(len, table), default=0)
        for key, value in table.items():
            yield from wrap_lines(show_line(str(value)), find_width() or 10**6, first=f"  {show_line(key):{width}}  ")
    for line in str(failure.get("traceback", "")).splitlines():
        yield " " * (2 + len(line) - len(line.lstrip(" "))) + show_line(line)


def verify_runs(args: Namespace, folders: "list[RunFolder]") -> int:
    """Compares every file of finished runs with its checksum."""
    problems = [(folder, problem) for folder in folders if folder.is_done for problem in folder.problems()]
    if args.json:
        found = [{"run": folder.name, "problem": problem, "remedy": folder.remedy} for folder, problem in problems]
        print_json({"checked": len(folders), "damaged": found})
    else:
        for folder, problem in problems:
            print(show_line(f"{folder.name}: {problem}; {folder.remedy}"))
        print(f"{count_things(len(folders), 'run')} checked, {len({folder.name for folder, _ in problems})} damaged")
    return 1 if problems else 0


def remove_runs(args: Namespace, folders: "list[RunFolder]") -> int:
    """Deletes runs; a folder that is not a run is kept."""
    kept = [folder for folder in folders if folder.status == "foreign" and not args.names]
    removed = [folder for folder in folders if folder not in kept]
    for folder in removed:
        folder.remove()
    if args.json:
        print_json({"removed": [folder.name for folder in removed]})
    else:
        print("\n".join(show_line(f"removed {folder.name}") for folder in removed) or "nothing to remove")
    for folder in kept:
        print(show_line(f"prunefield: kept {folder.path}: it is not a run of prunefield"), file=sys.stderr)
    return 0


ACTIONS = {"list": print_runs, "table": print_table, "show": show_runs, "verify": verify_runs, "remove": remove_runs}
EXCHANGE = {"pack": pack_runs, "unpack": unpack_into_store, "merge": merge_runs}
TAKEN = dict.fromkeys(("damaged", "unfinished", "all"), tuple(ACTIONS))  # options, and the actions that heed them
TAKEN |= {"kind": (*ACTIONS, "pack"), "long": ("list",), **dict.fromkeys(("records", "csv", "parquet"), ("table",))}
TAKEN |= dict.fromkeys(("item", "study", "out"), ("pack",))
