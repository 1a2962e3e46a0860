"""Print the ledger of the store: each claim with its source, the paper's value, ours, and the verdict."""

from argparse import ArgumentParser, Namespace

from prunefield.cli.options import add_items, add_store, old_store, print_json


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest in the store]")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.cli.screen import show_ledger
    from prunefield.report.ledger import check_scale, items, settle

    chosen, scale, store = items(args.items), None if args.scale is None else check_scale(args.scale), old_store(args)
    findings = {item.kind(): settle(store, item, scale) for item in chosen}
    rows = [row for finding in findings.values() if finding for row in finding.rows]
    absent = [name for name, finding in findings.items() if finding is None]
    if args.json:
        print_json({"claims": [row.as_json() for row in rows], "absent": absent})
    else:
        show_ledger([row.as_json() for row in rows])
        for name in absent:
            print(f"{name} is not in the store; run: prunefield reproduce {name} --out {store.root}")
    return 1 if args.strict and any(row.verdict.status == "not reproduced" for row in rows) else 0
