"""Print the BibTeX entries of the papers, to cite what you used."""

from argparse import ArgumentParser, Namespace
from importlib import import_module

from prunefield.errors import unknown
from prunefield.names import modules


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"[default: all] {', '.join(_papers())}")


def execute(args: Namespace) -> int:
    for name in args.papers or _papers():
        if name not in _papers():
            raise unknown("paper", name, _papers())
        print(import_module(f"prunefield.papers.{name}").BIBTEX.strip(), end="\n\n")
    return 0


def _papers() -> list[str]:
    return sorted({name.partition("/")[0] for name in modules("papers")})
