"""List the available tasks, networks, scores, runs, engines, loggers and items of the papers."""

from argparse import ArgumentParser, Namespace

from prunefield.cli.options import add_json, print_json
from prunefield.core.errors import unknown
from prunefield.core.names import FAMILIES, list_presets, modules, read_summary
from prunefield.core.terminal import find_width, wrap_lines

EXAMPLES = {
    "prunefield list": "everything",
    "prunefield list items": "the figures, tables and theorems that `reproduce` takes",
    "prunefield list networks --json": "names and descriptions as JSON, for another program",
}
WORDS = {"items" if family == "papers" else family: family for family in FAMILIES}  # papers consist of items


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", metavar="FAMILY", help=f"one of {', '.join(WORDS)} [default: all]")
    add_json(parser)
    parser.epilog = "\n".join(f"{word}: {', '.join(_names(family))}" for word, family in WORDS.items())


def execute(args: Namespace) -> int:
    word = "items" if args.family == "papers" else args.family
    if word not in (None, *WORDS):
        raise unknown("family", args.family, WORDS)
    families = WORDS if word is None else {word: WORDS[word]}
    found = {word: {name: read_summary(own, name) for name in _names(own)} for word, own in families.items()}
    if args.json:
        print_json(found)
        return 0
    longest, width = max(len(name) for kinds in found.values() for name in kinds), find_width()
    for word, kinds in found.items():
        print(word)
        for name, text in kinds.items():
            first = f"  {name:<{longest}}  "
            print("\n".join(wrap_lines(text, width, first=first) if width else [first + text]))
    return 0


def _names(family: str) -> list[str]:
    return [*modules(family), *list_presets(family)]
