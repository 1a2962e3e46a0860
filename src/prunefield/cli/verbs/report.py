"""Write one self-contained HTML page from the store: every claim and figure, and explorers of masks and fields."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.cli.options import add_items, add_store, print_json

if TYPE_CHECKING:
    from prunefield.engines import Engine
    from prunefield.report.collecting import Collected

EXAMPLES = {
    "prunefield report": "the page of everything in the store",
    "prunefield report lufkin2024 --scale laptop --out lufkin.html": "one paper at one scale",
    "prunefield report redman2025 --published": "also what follows from published values, without computing anything",
}


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", help="smoke, laptop, night or paper [default: the largest in the store]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="output file [default: report.html in the store]")
    parser.add_argument(
        "--published", action="store_true", help="use values shipped with prunefield for runs that are not in the store"
    )
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.report.collecting import list_problems

    path, found = write_report(args.store, args.items, args.scale, args.out, published=args.published)
    if args.json:
        missing = [gap["name"] for gap in found.missing]
        print_json({"report": str(path), "missing": missing, "problems": found.problems})
        return 0
    print(f"report: {path}")
    for line in list_problems(found.problems):
        print(line)
    if found.missing:
        print(f"items not finished: {len(found.missing)}; the page has the commands that make them")
    return 0


def write_report(
    place: Path,
    items: Sequence[str] = (),
    wanted: str | None = None,
    out: Path | None = None,
    engine: "Engine | None" = None,
    *,
    published: bool = False,
) -> "tuple[Path, Collected]":
    """Writes the page of what a store has of the chosen items (all by default); returns its path and what it has."""
    from prunefield.lab.store import open_store, read_store
    from prunefield.report.collecting import collect_findings
    from prunefield.report.ledger import check_scale, find_items
    from prunefield.report.page import write_page

    chosen, scale = find_items(list(items)), None if wanted is None else check_scale(wanted)
    store = open_store(place) if published else read_store(place)
    found = collect_findings(store, chosen, scale, published=published)
    if out is None:
        store.create()
    return write_page(found, store, out or store.root / "report.html", engine=engine).resolve(), found
