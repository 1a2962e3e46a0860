"""Print the ledger of the store: each claim with its source, the paper's value, ours, and the verdict.

With --published it shows the results that are shipped with prunefield, and needs no store.
"""

from argparse import ArgumentParser, Namespace

from prunefield.cli.options import add_items, add_store, old_store, print_json


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest that was computed]")
    parser.add_argument("--published", action="store_true", help="show the published results, not those of the store")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.cli.screen import show_ledger
    from prunefield.report.ledger import check_scale, items, settle
    from prunefield.report.publishing import find_published

    chosen, scale = items(args.items), None if args.scale is None else check_scale(args.scale)
    if args.published:
        published = {item.kind(): find_published(item, scale) for item in chosen}
        entries = [found.as_json() for found in published.values() if found]
        claims = [claim for entry in entries for claim in entry.pop("claims")]
        absent = {name: f"{name} has no published result" for name, found in published.items() if not found}
        document = {"items": entries}
    else:
        store, document = old_store(args), {}
        findings = {item.kind(): settle(store, item, scale) for item in chosen}
        claims = [row.as_json() for finding in findings.values() if finding for row in finding.rows]
        absent = {
            name: f"{name} is not in the store; run: prunefield reproduce {name} --out {store.root}"
            for name, finding in findings.items()
            if not finding
        }
    if args.json:
        print_json({"claims": claims, "absent": list(absent), **document})
    else:
        show_ledger(claims)
        for line in absent.values():
            print(line)
    return 1 if args.strict and any(claim["status"] == "not reproduced" for claim in claims) else 0
