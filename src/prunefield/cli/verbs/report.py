"""Write one self-contained HTML page from the store: the ledger and every figure with its settings and table."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from prunefield.cli.options import add_items, add_store, print_json

EXAMPLES = {
    "prunefield report": "the page of everything that is stored",
    "prunefield report lufkin2024 --scale laptop --out lufkin.html": "one paper at one scale",
}


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest in the store]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="output file [default: report.html in the store]")
    add_store(parser)


def execute(args: Namespace) -> int:
    path = write_report(args.store, args.items, args.scale, args.out)
    if args.json:
        print_json({"report": str(path)})
    else:
        print(f"report: {path}")
    return 0


def write_report(place: Path, items: Sequence[str] = (), wanted: str | None = None, out: Path | None = None) -> Path:
    """Writes the page of what a store has of the chosen items (all by default); returns its full path."""
    from prunefield.core.errors import UsageError
    from prunefield.lab.store import read_store
    from prunefield.report.ledger import check_scale, find_items, read_finding
    from prunefield.report.page import write_page

    chosen, scale = find_items(list(items)), None if wanted is None else check_scale(wanted)
    store = read_store(place)
    findings = [finding for item in chosen if (finding := read_finding(store, item, scale))]
    if not findings:
        raise UsageError(f"no item is complete in {store.root}; run: prunefield reproduce --store {store.root}")
    return write_page(findings, store, out or store.root / "report.html").resolve()
