"""Execute every combination of settings in the [sweep] table of a study.

    kind = "neuron"
    task = { kind = "nlgp" }

    [sweep]
    seed = [0, 1, 2]
    "task.g" = { low = 0.01, high = 3.0, count = 5, log = true }
    skip = "task.g > 1 and seed > 0"

The settings outside [sweep] are the same in all runs. A list or a range is one axis of a grid, and `skip` leaves
combinations out. A table [sweep.zip] goes through its lists in parallel; [sweep.random] and [sweep.sobol] draw `count`
samples `over` settings.

At the end a table and a picture of all runs are written, by default to `studies/` in the store.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from prunefield.cli.verbs import run
from prunefield.cli.verbs._studies import carry_study, read_study, repeat_with, show_count
from prunefield.core.errors import UsageError

MANY = 10_000  # runs that nobody asks for by mistake

EXAMPLES = {
    "prunefield sweep study.toml --jobs 2": "execute all combinations",
    "prunefield sweep study.toml --engine ray,address=auto": "on a Ray cluster",
    "prunefield sweep study.toml --set seed=0 --dry-run": "what it would take with one seed only",
    "prunefield sweep study.toml --parquet --out results": "write results/study.csv, .svg and .parquet",
}


def add_options(parser: ArgumentParser) -> None:
    run.add_options(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="output folder of the table and the picture [default: studies in the store]",
    )
    parser.add_argument("--parquet", action="store_true", help="write the table as Parquet as well")
    parser.add_argument("--yes", action="store_true", help=f"execute even if there are more than {MANY:,} runs")


def execute(args: Namespace) -> int:
    study = read_study(args)
    if study.count < 2:
        raise UsageError(f"{args.file} has no [sweep] with several values; use: {repeat_with('run', args)}")
    if study.count > MANY and not args.yes:
        raise UsageError(
            f"{args.file} has a [sweep] of {show_count(study)} runs, more than {MANY:,}; shorten its lists, or "
            "add --yes to execute them all"
        )
    return carry_study(args, study)
