"""Write one self-contained HTML page from the store: every claim and figure, and explorers of masks and fields."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from prunefield.cli.options import add_items, add_store, old_store, print_json


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest in the store]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="output file [default: report.html in the store]")
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.report.ledger import check_scale, find_items
    from prunefield.report.page import write_page
    from prunefield.report.page.gaps import collect_findings

    chosen, scale, store = (
        find_items(args.items),
        None if args.scale is None else check_scale(args.scale),
        old_store(args),
    )
    found = collect_findings(store, chosen, scale)
    path = write_page(found, store, args.out or store.root / "report.html").resolve()
    if args.json:
        missing = [gap["name"] for gap in found.missing]
        print_json({"report": str(path), "missing": missing, "problems": found.problems})
        return 0
    print(f"report: {path}")
    for name, problem in found.problems.items():
        print(f"left out: {name}: {problem}")
    if found.missing:
        print(f"{len(found.missing)} of {len(chosen)} items are not finished; the page has the commands that make them")
    return 0
