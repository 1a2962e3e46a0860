"""Write one self-contained HTML page from the store: the ledger and every figure with its settings and table."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from prunefield.cli.options import add_items, add_store, old_store, print_json


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest in the store]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="output file [default: report.html in the store]")
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.core.errors import UsageError
    from prunefield.report.ledger import check_scale, find_items, read_finding
    from prunefield.report.page import write_page

    chosen, scale, store = (
        find_items(args.items),
        None if args.scale is None else check_scale(args.scale),
        old_store(args),
    )
    findings = [finding for item in chosen if (finding := read_finding(store, item, scale))]
    if not findings:
        raise UsageError(f"no item is complete in {store.root}; run: prunefield reproduce --store {store.root}")
    path = write_page(findings, store, args.out or store.root / "report.html")
    if args.json:
        print_json({"report": str(path.resolve())})
    else:
        print(f"report: {path.resolve()}")
    return 0
