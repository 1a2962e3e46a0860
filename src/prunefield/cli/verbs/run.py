"""Execute one run with settings from a TOML file (a study).

    kind = "neuron"
    steps = 500
    task = { kind = "nlgp", g = 3.0 }

`prunefield list` shows the kinds of runs, tasks, networks and scores.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.cli.options import add_engine, add_store, how_to_run, print_json, print_plan
from prunefield.core.collection import pause_collection
from prunefield.core.errors import Error, UsageError
from prunefield.core.names import modules

if TYPE_CHECKING:
    from prunefield.lab.results import Results
    from prunefield.lab.study import Study

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
        raise UsageError(f"{args.file} has a [sweep] of {show_count(study)} runs; use: prunefield sweep {args.file}")
    return carry_study(args, study)


def read_study(args: Namespace) -> "Study":
    """The study in the file, with the changes of --set."""
    with pause_collection():  # the libraries, and all values of a sweep
        from prunefield.lab.study import Study

        return Study.read(args.file, args.set)


def show_count(study: "Study") -> str:
    """How many runs a study has, as a person reads it."""
    return f"{study.count:,}" if study.count < 10**18 else "more than 10^18"


def carry_study(args: Namespace, study: "Study") -> int:
    """Executes a study and prints what was recorded: all records of one run, the last record of each of several."""
    from prunefield.core.files import make_folder
    from prunefield.core.terminal import show_table, show_warning
    from prunefield.lab.exports import require_parquet, tabulate_study

    if args.dry_run:
        with pause_collection():
            return print_plan(args, study.plan(args.store, device=args.device))
    is_sweep = study.count > 1
    if is_sweep:  # whether the end can be written, before anything is computed
        require_parquet() if args.parquet else None
        make_folder(args.out, chosen_by="--out") if args.out else None
    results = study.run(args.store, **how_to_run(args))
    files = _save_files(args, results) if is_sweep and results.done else []
    if args.json:
        found = [
            {"run": run.folder, "digest": result.digest, "settings": run.settings(), "records": result.values}
            for run, result in results
        ]
        failures = {run.folder: reason for run, reason in results.failures.items()}
        print_json({"runs": found, "failures": failures} | ({"files": files} if is_sweep else {}))
    else:
        table = tabulate_study(results) if is_sweep else results.frame()
        show_table(list(table), table.astype(object).to_numpy().tolist(), title=results.title)
        if files:
            print("\n".join(("", *files)))
    for run, reason in results.failures.items():
        show_warning(f"{run.folder} failed: {reason}")
    return 1 if results.failures else 0


def _save_files(args: Namespace, results: "Results") -> list[str]:
    """Writes the table and the picture of a sweep; where that is impossible, the results are there all the same."""
    from prunefield.core.terminal import show_warning
    from prunefield.lab.exports import save_study

    folder = args.out or args.store / "studies"
    try:
        return [str(path) for path in save_study(results, folder, args.file.stem, parquet=args.parquet)]
    except Error as error:
        if args.out:
            raise
        show_warning(f"the table and the picture are not written: {error}")
        return []
