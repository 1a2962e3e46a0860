"""What `run` and `sweep` share: reading a study, carrying it out, and what is printed at its end."""

from argparse import Namespace
from shlex import join
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import how_to_run, print_json, print_plan
from prunefield.core.collection import pause_collection
from prunefield.core.errors import Error

if TYPE_CHECKING:
    from prunefield.lab.results import Results
    from prunefield.lab.study import Study


def read_study(args: Namespace) -> "Study":
    """The study in the file, with the changes of --set."""
    with pause_collection():  # the libraries, and all values of a sweep
        from prunefield.lab.study import Study

        return Study.read(args.file, args.set)


def repeat_with(verb: str, args: Namespace) -> str:
    """The same study with another verb: its file and its changes."""
    changes = [part for change in args.set for part in ("--set", change)]
    return join(("prunefield", verb, str(args.file), *changes))


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
    table: Any = tabulate_study(results) if is_sweep else results.frame()
    files = _save_files(args, results, table) if is_sweep and len(table) else []
    if args.json:
        found = [
            {"run": run.folder, "digest": result.digest, "settings": run.settings(), "records": result.values}
            for run, result in results
        ]
        failures = {run.folder: reason for run, reason in results.failures.items()}
        print_json({"runs": found, "failures": failures} | ({"files": files} if is_sweep else {}))
    else:
        show_table(list(table), table.astype(object).to_numpy().tolist(), title=results.title)
        if files:
            print("\n".join(("", *files)))
    for run, reason in results.failures.items():
        show_warning(f"{run.folder} failed: {reason}")
    return 1 if results.failures else 0


def _save_files(args: Namespace, results: "Results", table: Any) -> list[str]:
    """Writes the table and the picture of a sweep; where that is impossible, the results are there all the same."""
    from prunefield.core.terminal import show_warning
    from prunefield.lab.exports import save_study

    folder = args.out or args.store / "studies"
    try:
        return [str(path) for path in save_study(results, table, folder, args.file.stem, parquet=args.parquet)]
    except Error as error:
        if args.out:
            raise
        show_warning(f"the table and the picture are not written: {error}")
        return []
