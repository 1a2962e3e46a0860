"""Print the ledger of the store: each claim with its source, the paper's value, ours, and the verdict.

With --published, show the results that are shipped with prunefield; no store is needed.
"""

from argparse import ArgumentParser, Namespace
from shlex import quote

from prunefield.cli.options import add_items, add_store, print_json

EXAMPLES = {
    "prunefield claims": "every claim, checked on the results in the store",
    "prunefield claims bar2023/theorem4.4": "the claims of one item",
    "prunefield claims --published": "the results shipped with prunefield",
    "prunefield claims lufkin2024 --published | grep 'not reproduced'": "in a pipe, every claim is one line",
}


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest that was computed]")
    parser.add_argument("--published", action="store_true", help="show the published results, not those of the store")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.report.reproduction import read_ledger, read_published_ledger

    if args.published:
        found = read_published_ledger(args.items or None, args.scale)
        absent = "{name} has no published result"
    else:
        found = read_ledger(args.items or None, args.scale, args.store)
        at, scale = (f" at {args.scale} scale", f" --scale {args.scale}") if args.scale else ("", "")
        command = f"prunefield reproduce {{name}}{scale} --store {quote(str(args.store))}"
        absent = f"{{name}} is not in the store{at}; run: {command}"
    if args.json:
        entries = [{key: part for key, part in entry.items() if key != "claims"} for entry in found.entries.values()]
        published = {"items": list(filter(None, entries))} if args.published else {}
        print_json({"claims": found.claims, "absent": found.unfinished, **published})
    else:
        found.show()
        for name in found.unfinished:
            print(absent.replace("{name}", name))
    return 1 if args.strict and found.contradicted else 0
