"""Reproduce figures, tables and theorems of the papers, and check their claims.

Runs that are in the store already are not repeated; an interrupted command goes on where it was. Each item gets its
table and its drawing in DIR/items/.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from prunefield.options import (
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
    from prunefield.ledger import Finding
    from prunefield.store import Store


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", default="smoke", help="smoke (seconds), laptop (minutes) or paper [default: smoke]")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a claim is not reproduced")
    add_engine(parser)
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.execution import carry_out, order
    from prunefield.ledger import check_scale, items, settle
    from prunefield.screen import progress, show_ledger

    chosen, scale, engine = items(args.items), check_scale(args.scale), engine_of(args)
    runs = order(run for item in chosen for run in item.runs(scale))
    if args.dry_run:
        print_plan(args, runs)
        return 0
    device, store = check_device(args), new_store(args)
    with progress(f"reproduce, {scale} scale") as tell:
        failures = carry_out(store, runs, engine, device=device, tell=tell)
    findings = {item.kind(): settle(store, item, scale) for item in chosen}
    entries = [describe(finding, store) if finding else {"item": name} for name, finding in findings.items()]
    rows = [row for finding in findings.values() if finding for row in finding.rows]
    if args.json:
        failed = {run.folder: reason for run, reason in failures.items()}
        print_json({"scale": scale, "out": str(store.root), "items": entries, "failures": failed})
    else:
        show_ledger(rows)
        for entry in entries:
            print(f"{entry['item']}: {', '.join(entry.get('files', ['not finished']))}")
    for run, reason in failures.items():
        print(f"prunefield: {run.folder} failed: {reason}", file=sys.stderr)
    return 1 if failures or (args.strict and any(row.verdict.status == "not reproduced" for row in rows)) else 0


def describe(finding: "Finding", store: "Store") -> dict[str, Any]:
    """Writes the files of an item and says all that was found."""
    from prunefield.report.drawings import write

    files = [str(path) for path in write(finding, store.root / "items")]
    claims = [row.as_json() for row in finding.rows]
    title, runs = finding.item.title, [run.folder for run in finding.results]
    return {
        "item": finding.name, "title": title, "digest": finding.digest, "files": files, "runs": runs, "claims": claims
    }  # fmt: skip
