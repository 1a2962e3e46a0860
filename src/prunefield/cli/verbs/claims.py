"""Print the ledger of the store: each claim with its source, the paper's value, ours, and the verdict."""

from argparse import ArgumentParser, Namespace

from prunefield.cli.options import add_items, add_store, print_json


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest in the store]")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.report.reproduction import read_ledger

    found = read_ledger(args.items, args.scale, args.store)
    if args.json:
        print_json({"claims": found.claims, "absent": found.unfinished})
    else:
        found.show()
        for name in found.unfinished:
            print(f"{name} is not in the store; run: prunefield reproduce {name} --store {args.store}")
    return 1 if args.strict and found.contradicted else 0
