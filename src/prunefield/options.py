"""Options that several verbs share, and what they mean."""

import json
import os
import re
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from prunefield.errors import UsageError, unknown
from prunefield.names import modules

if TYPE_CHECKING:
    from prunefield.engines import Engine
    from prunefield.runs import Run
    from prunefield.store import Store


class Parser(ArgumentParser):
    """An argument parser whose errors are ours, one line each."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            options = [name for action in self._actions for name in action.option_strings]
            raise unknown("argument", message.removeprefix(prefix).split()[0], options)
        raise UsageError(f"{message} (see: {self.prog} --help)")


def add_store(parser: ArgumentParser) -> None:
    """--out and --json."""
    default = Path(os.environ.get("PRUNEFIELD_OUT", "prunefield-out"))
    parser.add_argument("--out", type=Path, default=default, metavar="DIR", help=f"the store [default: {default}]")
    add_json(parser)


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")


def add_items(parser: ArgumentParser) -> None:
    """Names of items, which the help lists."""
    names = " ".join(modules("papers"))
    parser.add_argument("items", nargs="*", metavar="ITEM", help=f"a paper or one of its items [default: all]: {names}")


def add_engine(parser: ArgumentParser) -> None:
    """--engine, --jobs, --device and --dry-run."""
    names = " | ".join(modules("engines"))
    parser.add_argument(
        "--engine",
        default="local",
        metavar="NAME[,KEY=VALUE…]",
        help=f"where runs are executed: {names}, with settings as in ray,address=auto [default: local]",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="how many runs side by side [default: one per core]")
    add_device(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the runs and the estimated time, execute nothing")


def add_device(parser: ArgumentParser) -> None:
    parser.add_argument("--device", default="cpu", help="what to compute on: cpu, cuda, cuda:1, mps [default: cpu]")


def engine_of(args: Namespace) -> "Engine":
    """The engine that --engine and --jobs ask for."""
    from prunefield.engines import Engine

    return Engine.parse(settings_of(args.engine if args.jobs is None else f"{args.engine},jobs={args.jobs}"))


def settings_of(text: str) -> dict[str, Any]:
    """NAME[,KEY=VALUE…] as a table.

    >>> settings_of("snip,skip=[1, 2],mode=train")
    {'kind': 'snip', 'skip': [1, 2], 'mode': 'train'}
    """
    from prunefield.study import change

    kind, *settings = re.split(r",(?![^\[]*\])", text)  # not inside of a list
    table: dict[str, Any] = {"kind": kind}
    for setting in settings:
        change(table, setting)
    return table


def check_device(args: Namespace) -> str:
    """The device, if this machine has it."""
    import torch

    try:
        torch.empty(1, device=args.device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"no device {args.device!r} here: {str(error).splitlines()[0]}") from None
    return args.device


def new_store(args: Namespace) -> "Store":
    """The store in --out, made if it is not there."""
    from prunefield.store import Store

    return Store(args.out)


def old_store(args: Namespace) -> "Store":
    """The store in --out, which must be there."""
    if not has_store(args):
        raise UsageError(f"no store in {args.out}; run: prunefield reproduce --scale smoke --out {args.out}")
    return new_store(args)


def has_store(args: Namespace) -> bool:
    """Whether there is a store in --out; one that may not be looked into counts, and is refused when it is opened."""
    try:
        return (args.out / "store.json").exists()
    except PermissionError:
        return True


def print_json(document: Any) -> None:
    """Prints one JSON document on stdout."""
    print(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))


def print_plan(args: Namespace, runs: "Sequence[Run]") -> None:
    """What --dry-run prints: the runs, which of them are stored, and the time of the rest."""
    from prunefield.screen import show, show_duration

    store = old_store(args) if has_store(args) else None
    states = ["stored" if store and store.folder(run).is_done else "to do" for run in runs]
    left = sum(run.seconds() for run, state in zip(runs, states, strict=True) if state == "to do")
    if args.json:
        rows = [
            {"run": run.folder, "state": state, "seconds": run.seconds(), "settings": run.settings()}
            for run, state in zip(runs, states, strict=True)
        ]
        print_json({"runs": rows, "core_hours": left / 3600})
        return
    rows = [(run.folder, state, show_duration(run.seconds())) for run, state in zip(runs, states, strict=True)]
    show(("run", "state", "one core"), rows)
    print(f"{len(runs)} runs; to do: about {show_duration(left)} of one core ({left / 3600:.2f} core-hours)")
