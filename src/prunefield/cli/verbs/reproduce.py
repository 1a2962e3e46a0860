"""Reproduce figures, tables and theorems of the papers, and check their claims.

Runs already in the store are not repeated, and an interrupted command continues where it stopped. The table and the
figure of each item are written to `items/` in the store. Up to 12 claims are printed with their numbers; if there are
more, a summary is printed, and `prunefield claims` shows them all.
"""

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from typing import TYPE_CHECKING

from prunefield.cli.options import add_engine, add_items, add_store, how_to_run, print_json, print_plan
from prunefield.cli.verbs import report
from prunefield.core.errors import list_names
from prunefield.core.files import store_option
from prunefield.core.progress import track_progress
from prunefield.core.terminal import count_things, show_warning

if TYPE_CHECKING:
    from prunefield.report.reproduction import Reproduction

EXAMPLES = {
    "prunefield reproduce": "everything at smoke scale, in a few minutes",
    "prunefield reproduce redman2025/fig4 --scale laptop": "one item, at a larger scale",
    "prunefield reproduce --report": "everything at smoke scale, and the page",
    "prunefield reproduce --scale paper --dry-run": "what everything would take at paper scale",
    "prunefield reproduce redman2025/fig4 --from fig4.zip": "use a colleague's results, after checking them",
}
FEW = 12  # claims whose ledger is printed
PUBLISHED = {"same": "as published", "differs": "unlike the published result", "kept": "from published values"}


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", default="smoke", help="smoke, laptop, night or paper [default: smoke]")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    parser.add_argument("--report", action="store_true", help="write the page as well, as `prunefield report` does")
    parser.add_argument(
        "--unpublished", action="store_true", help="leave out runs whose values are shipped with prunefield"
    )
    add_engine(parser)
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.engines import choose_engine
    from prunefield.engines.local import keep_workers
    from prunefield.report.reproduction import plan_items, reproduce

    if args.dry_run:
        how = {"device": args.device, "unpublished": args.unpublished}
        return print_plan(args, plan_items(args.items or None, args.scale, args.store, **how))
    page = None
    with keep_workers():
        found = reproduce(args.items or None, args.scale, args.store, unpublished=args.unpublished, **how_to_run(args))
        if args.report and found.claims:
            with track_progress("page", unit="pages") as tell:
                tell(0, 1, "collecting everything that is stored")
                near = choose_engine("local", args.jobs)
                page, _ = report.write_report(args.store, engine=near, published=args.unpublished)
    if args.json:
        entries = [{"item": name, "files": [], **entry} for name, entry in found.entries.items()]
        document = {"scale": args.scale, "store": str(args.store), "items": entries, "failures": dict(found.failures)}
        print_json(document | ({"report": str(page)} if page else {}))
    else:
        print_end(args, found, str(args.store / page.name) if page else None)
    for name, reason in found.failures.items():
        show_warning(f"{name} failed: {reason}")
    return 1 if found.failures or (args.strict and found.contradicted) else 0


def print_end(args: Namespace, found: "Reproduction", page: str | None) -> None:
    """The last screen: the claims or how many of them hold, where the files are, and what to do next."""
    from prunefield.report.screen import choose_highlights, show_summary

    items = count_things(len(found.entries), "item")
    if len(found.claims) <= FEW:
        found.show()
    elif found.claims:
        print(f"{args.scale} scale: {len(found.claims)} claims of {items}\n")
        show_summary(found.claims)
    print()
    if names := found.unfinished:
        print(f"{count_things(len(names), 'item')} not finished: {list_names(names, most=3)}")
    published = Counter(entry.get("published") for entry in found.entries.values())
    for key, words in PUBLISHED.items():
        if published[key]:
            print(f"{published[key]} of {items} {words}")
    if found.claims:
        print(f"figures  {args.store / 'items'} (SVG, PDF, CSV)")
    if page:
        print(f"page     {page}")
    is_elsewhere = shutil.which("prunefield") is None and sys.argv[0].endswith("/prunefield")
    program, place = sys.argv[0] if is_elsewhere else "prunefield", store_option(args.store)
    if len(found.claims) > FEW:
        print(f"next     {program} claims{place}    (every claim with its numbers)")
    if args.scale == "smoke" and (best := choose_highlights(found.claims)):
        print(f"         {program} reproduce {best[0]['item']} --scale laptop{place}")
