"""Reproduce figures, tables and theorems of the papers, and check their claims.

Runs already in the store are not repeated, and an interrupted command continues where it stopped. The table and the
figure of each item are written to `items/` in the store.
"""

from argparse import ArgumentParser, Namespace

from prunefield.cli.options import add_engine, add_items, add_store, how_to_run, print_json, print_plan

PUBLISHED = {"same": "; same as published", "differs": "; differs from the published result", None: ""}


def add_options(parser: ArgumentParser) -> None:
    add_items(parser)
    parser.add_argument("--scale", default="smoke", help="smoke, laptop, night or paper [default: smoke]")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a claim is not reproduced")
    add_engine(parser)
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.core.terminal import show_warning
    from prunefield.report.reproduction import plan_items, reproduce

    if args.dry_run:
        return print_plan(args, plan_items(args.items or None, args.scale, args.store, device=args.device))
    found = reproduce(args.items or None, args.scale, args.store, **how_to_run(args))
    if args.json:
        entries = [{"item": name, "files": [], **entry} for name, entry in found.entries.items()]
        failures = dict(found.failures)
        print_json({"scale": args.scale, "store": str(args.store), "items": entries, "failures": failures})
    else:
        found.show()
        for name, entry in found.entries.items():
            print(f"{name}: {', '.join(entry.get('files', ())) or 'not finished'}{PUBLISHED[entry.get('published')]}")
    for name, reason in found.failures.items():
        show_warning(f"{name} failed: {reason}")
    return 1 if found.failures or (args.strict and found.contradicted) else 0
