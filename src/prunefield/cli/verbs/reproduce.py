"""Reproduce figures, tables and theorems of the papers, and check their claims.

Runs already in the store are not repeated, and an interrupted command continues where it stopped. The table and the
figure of each item are written to DIR/items/.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import (
    add_engine,
    add_items,
    add_store,
    check_device,
    engine_of,
    new_store,
    print_json,
    print_plan,
)

if TYPE_CHECKING:
    from prunefield.papers import Scale

PUBLISHED = {"same": "; same as published", "differs": "; differs from the published result", None: ""}


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", default="smoke", help="smoke, laptop, night or paper [default: smoke]")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    add_engine(parser)
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.cli.screen import progress, show_ledger, show_warning
    from prunefield.engines import Outcome
    from prunefield.lab.execution import carry_out, order
    from prunefield.report.ledger import check_scale, items

    chosen, scale, engine = items(args.items), check_scale(args.scale), engine_of(args)
    runs = order(run for item in chosen for run in item.plan(scale))
    if args.dry_run:
        print_plan(args, runs)
        return 0
    device, store = check_device(args), new_store(args)
    with progress(f"reproduce, {scale} scale") as tell:
        failed = carry_out(store, runs, engine, device=device, tell=tell, report=show_warning)
    failures = {run.folder: why for run, why in failed.items()}
    entries: dict[str, dict[str, Any]] = {item.kind(): {"item": item.kind()} for item in chosen}
    names = list(entries)
    for outcome in engine.map(publish, [(str(store.root.resolve()), name, scale) for name in names]):
        if not isinstance(outcome, Outcome):
            continue
        if outcome.error is None:
            entries[names[outcome.index]] |= outcome.value
        else:
            failures[names[outcome.index]] = outcome.error
    for entry in entries.values():
        entry["files"] = [str(store.root / file) for file in entry.get("files", [])]
    claims = [claim for entry in entries.values() for claim in entry.get("claims", [])]
    if args.json:
        print_json({"scale": scale, "out": str(store.root), "items": list(entries.values()), "failures": failures})
    else:
        show_ledger(claims)
        for name, entry in entries.items():
            print(f"{name}: {', '.join(entry['files']) or 'not finished'}{PUBLISHED[entry.get('published')]}")
    for name, reason in failures.items():
        print(f"prunefield: {name} failed: {reason}", file=sys.stderr)
    return 1 if failures or (args.strict and any(claim["status"] == "not reproduced" for claim in claims)) else 0


def publish(work: tuple[str, str, "Scale"]) -> dict[str, Any]:
    """Writes the files of an item of a store and says all that was found; nothing if a run of it is missing."""
    from prunefield.lab.store import Store
    from prunefield.report.drawings import write
    from prunefield.report.ledger import items, settle
    from prunefield.report.publishing import compare

    root, name, scale = work
    store = Store(root)
    (item,) = items([name])
    finding = settle(store, item, scale)
    if finding is None:
        return {}
    return {
        "title": item.title,
        "digest": finding.digest,
        "published": compare(finding),
        "files": [str(path.relative_to(store.root)) for path in write(finding, store.root / "items")],
        "runs": [run.folder for run in finding.results],
        "claims": [row.as_json() for row in finding.rows],
    }
