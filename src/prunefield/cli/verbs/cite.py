"""Print the BibTeX entries of prunefield and of the papers, to cite what you used."""

from argparse import ArgumentParser, Namespace

import prunefield
from prunefield.core.names import modules

OWN = """@software{{prunefield,
  title   = {{prunefield: which data, networks and pruning rules make local receptive fields, and why}},
  author  = {{{{The prunefield developers}}}},
  version = {{{version}}}
}}"""

EXAMPLES = {
    "prunefield cite": "prunefield and all papers",
    "prunefield cite lufkin2024": "prunefield and one paper",
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"a paper: {', '.join(_papers())} [default: all]")


def execute(args: Namespace) -> int:
    from prunefield.report.ledger import load_paper

    entries = [load_paper(name).BIBTEX.strip() for name in args.papers or _papers()]
    print("\n\n".join([OWN.format(version=prunefield.__version__), *entries]))
    return 0


def _papers() -> list[str]:
    return sorted({name.partition("/")[0] for name in modules("papers")})
