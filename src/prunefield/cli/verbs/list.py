"""List the available tasks, networks, scores, runs, engines and items of the papers."""

from argparse import ArgumentParser, Namespace

from prunefield.cli.options import add_json, print_json
from prunefield.core.errors import unknown
from prunefield.core.names import FAMILIES, list_presets, modules, read_summary


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", metavar="FAMILY", help=f"one of {', '.join(FAMILIES)} [default: all]")
    add_json(parser)
    parser.epilog = "\n".join(f"{family}: {', '.join(_names(family))}" for family in FAMILIES)


def execute(args: Namespace) -> int:
    if args.family not in (None, *FAMILIES):
        raise unknown("family", args.family, FAMILIES)
    families = FAMILIES if args.family is None else (args.family,)
    found = {family: {name: read_summary(family, name) for name in _names(family)} for family in families}
    if args.json:
        print_json(found)
    else:
        for family, kinds in found.items():
            print(family)
            print("\n".join(f"  {name:<22} {text}" for name, text in kinds.items()))
    return 0


def _names(family: str) -> list[str]:
    return [*modules(family), *list_presets(family)]
