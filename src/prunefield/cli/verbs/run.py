"""Execute one run with settings from a TOML file (a study).

    kind = "neuron"
    steps = 500
    task = { kind = "nlgp", g = 3.0 }

`prunefield list` shows the kinds of runs, tasks, networks and scores.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from prunefield.cli.options import add_engine, add_store
from prunefield.cli.verbs._studies import carry_study, read_study, repeat_with, show_count
from prunefield.core.errors import UsageError
from prunefield.core.names import modules

EXAMPLES = {
    "prunefield run study.toml": "execute the study, or show its stored result",
    "prunefield run study.toml --set task.g=1 --dry-run": "what it would take with another setting",
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="the study (a TOML file)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting, as in task.g=3"
    )
    add_engine(parser)
    add_store(parser)
    families = ("runs", "tasks", "networks", "scores")
    parser.epilog = "\n".join(f"{family}: {', '.join(modules(family))}" for family in families)


def execute(args: Namespace) -> int:
    study = read_study(args)
    if study.count > 1:
        raise UsageError(f"{args.file} has a [sweep] of {show_count(study)} runs; use: {repeat_with('sweep', args)}")
    return carry_study(args, study)
