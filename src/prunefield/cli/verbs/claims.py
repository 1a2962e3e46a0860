"""Print the ledger of the store: each claim with its source, the paper's value, ours, and the verdict.

With --published, show the results that are shipped with prunefield; no store is needed.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from shlex import quote

from prunefield.cli.options import add_items, add_store, print_json
from prunefield.core.errors import list_names
from prunefield.core.terminal import find_width, show_warning, wrap_lines

EXAMPLES = {
    "prunefield claims": "every claim, checked on the results in the store",
    "prunefield claims bar2023/theorem4.4": "the claims of one item",
    "prunefield claims --published": "the results shipped with prunefield",
    "prunefield claims lufkin2024 --published | grep 'not reproduced'": "in a pipe, every claim is one line",
}
FEW = 3  # items without a result that have a line each


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument(
        "--scale",
        help="smoke, laptop, night or paper [default: the largest that has the item, with --published the claim]",
    )
    parser.add_argument("--published", action="store_true", help="show the published results, not those of the store")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.report.collecting import list_problems
    from prunefield.report.reproduction import read_ledger, read_published_ledger

    if args.published:
        found = read_published_ledger(args.items or None, args.scale)
    else:
        found = read_ledger(args.items or None, args.scale, args.store)
    if args.json:
        entries = [{key: part for key, part in entry.items() if key != "claims"} for entry in found.entries.values()]
        published = {"items": list(filter(None, entries))} if args.published else {}
        problems = dict(found.failures)
        print_json({"claims": found.claims, "absent": found.unfinished, "problems": problems, **published})
    else:
        found.show()
        _show_absent(found.unfinished, args)
    for line in list_problems(found.failures):
        show_warning(line)
    return 1 if found.failures or (args.strict and found.contradicted) else 0


def _show_absent(names: Sequence[str], args: Namespace) -> None:
    """Items without a result, with the command that makes them: a line for each of a few, one line for more."""
    at, scale = (f" at {args.scale} scale", f" --scale {args.scale}") if args.scale else ("", "")
    for name in names if len(names) <= FEW else [""]:
        what = f"{name} is" if name else f"{len(names)} items ({list_names(names, FEW)}) are"
        asked = "".join(f" {item}" for item in ([name] if name else args.items))
        command = f"prunefield reproduce{asked}{scale} --store {quote(str(args.store))}"
        line = f"{what} not published{at}" if args.published else f"{what} not in the store{at}; run: {command}"
        print("\n".join(wrap_lines(line, find_width() or 10**6, rest="  ")))
