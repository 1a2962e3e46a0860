"""Execute one run with settings from a TOML file (a study).

    kind = "neuron"
    steps = 500
    task = { kind = "nlgp", g = 3.0 }

`prunefield list` shows the kinds of runs, tasks and scores.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import add_engine, add_store, check_device, engine_of, new_store, print_json, print_plan
from prunefield.core.errors import UsageError
from prunefield.core.names import modules

if TYPE_CHECKING:
    from prunefield.lab.study import Study
    from prunefield.runs import Run


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="the study (a TOML file)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting, as in task.g=3"
    )
    add_engine(parser)
    add_store(parser)
    parser.epilog = "\n".join(f"{family}: {', '.join(modules(family))}" for family in ("runs", "tasks", "scores"))


def execute(args: Namespace) -> int:
    from prunefield.lab.study import read

    study = read(args.file, args.set)
    if study.count > 1:
        raise UsageError(f"{args.file} has a [sweep] of {show_count(study)} runs; use: prunefield sweep {args.file}")
    return carry(args, list(study))


def show_count(study: "Study") -> str:
    """How many runs a study has, as a person reads it."""
    return f"{study.count:,}" if study.count < 10**18 else "more than 10^18"


def carry(args: Namespace, studies: "Sequence[Run]") -> int:
    """Executes studies and prints their records."""
    from prunefield.cli.screen import progress, show_warning
    from prunefield.lab.execution import carry_out, order

    engine = engine_of(args)
    if args.dry_run:
        print_plan(args, order(studies))
        return 0
    device, store = check_device(args), new_store(args)
    with progress(args.file.name) as tell:
        failures = carry_out(store, studies, engine, device=device, tell=tell, report=show_warning)
    results = {study: store.folder(study).read() for study in studies if store.folder(study).is_done}
    if args.json:
        done = [
            {"run": study.folder, "digest": result.digest, "settings": study.settings(), "records": result.values}
            for study, result in results.items()
        ]
        print_json({"runs": done, "failures": {run.folder: reason for run, reason in failures.items()}})
    elif len(studies) == 1:
        for study, result in results.items():
            show_rows(result.values, title=str(store.folder(study).path))
    else:
        flat = {study: flatten(study.settings()) for study in studies}
        swept = [key for key in flat[studies[0]] if len({str(settings.get(key)) for settings in flat.values()}) > 1]
        rows = [
            {"run": study.folder} | {key: flat[study].get(key) for key in swept} | result.values[-1]
            for study, result in results.items()
        ]
        show_rows(rows, title=f"the last record of each run in {store.root}")
    for run, reason in failures.items():
        print(f"prunefield: {run.folder} failed: {reason}", file=sys.stderr)
    return 1 if failures else 0


def flatten(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings with dotted keys.

    >>> flatten({"seed": 1, "task": {"g": 3}})
    {'seed': 1, 'task.g': 3}
    """
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def show_rows(rows: Sequence[Mapping[str, Any]], *, title: str) -> None:
    """Prints records as a table."""
    from prunefield.cli.screen import show

    columns = list(dict.fromkeys(key for row in rows for key in row))
    show(columns, [[_short(row.get(key, "")) for key in columns] for row in rows], title=title)


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
