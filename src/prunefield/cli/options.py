"""Options that several verbs share, and what they mean."""

import json
import math
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from prunefield.core.errors import UsageError, unknown
from prunefield.core.names import modules

if TYPE_CHECKING:
    from prunefield.engines import Engine
    from prunefield.lab.store import Store
    from prunefield.runs import Run


class Parser(ArgumentParser):
    """An argument parser whose errors are ours, one line each, and whose numbers and paths are sensible."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)
        for kind, read in ((int, _read_whole), (float, _read_real), (Path, _read_path)):
            self.register("type", kind, read)

    def error(self, message: str) -> NoReturn:
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            options = [name for action in self._actions for name in action.option_strings]
            raise unknown("argument", message.removeprefix(prefix).split(" ")[0], options)
        raise UsageError(f"{message} (see: {self.prog} --help)")


def _read_whole(text: str) -> int:
    if abs(number := int(text)) >= 2**63:
        raise ArgumentTypeError("the number must lie between -2^63 and 2^63")
    return number


def _read_real(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ArgumentTypeError(f"the number must be finite, not {text!r}")
    return number


def _read_path(text: str) -> Path:
    if not text:
        raise ArgumentTypeError("a file or folder cannot have an empty name")
    return Path(text)


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


def parse_shape(text: str) -> tuple[int, ...]:
    """The numbers of --shape.

    >>> parse_shape("3,32,32")
    (3, 32, 32)
    """
    shape = tuple(int(part) if part.strip().isdecimal() and len(part) < 19 else 0 for part in text.split(","))
    if 0 in shape:
        raise UsageError(f"--shape must be positive whole numbers with commas, as in 3,32,32, not {text!r}")
    return shape


def add_engine(parser: ArgumentParser) -> None:
    """--engine, --jobs, --device and --dry-run."""
    names = " | ".join(modules("engines"))
    parser.add_argument(
        "--engine",
        default="local",
        metavar="NAME[,KEY=VALUE…]",
        help=f"where runs are executed: {names}, with settings as in ray,address=auto [default: local]",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="number of runs in parallel [default: one per core]")
    add_device(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="print the runs and the estimated time without executing anything"
    )


def add_device(parser: ArgumentParser) -> None:
    parser.add_argument("--device", default="cpu", help="the device: cpu, cuda, cuda:1, mps [default: cpu]")


def engine_of(args: Namespace) -> "Engine":
    """The engine that --engine and --jobs ask for."""
    from prunefield.engines import Engine

    return Engine.parse(args.engine if args.jobs is None else f"{args.engine},jobs={args.jobs}")


def check_device(args: Namespace) -> str:
    """The device, if this machine has it."""
    import torch

    try:
        if torch.empty(1, device=args.device).is_meta:
            raise RuntimeError("it computes nothing")
    except (RuntimeError, AssertionError, ValueError, OverflowError) as error:
        raise UsageError(f"no device {args.device!r} here: {str(error).partition(chr(10))[0]}") from None
    return args.device


def new_store(args: Namespace) -> "Store":
    """The store in --out, made if it is not there."""
    from prunefield.lab.store import Store

    return Store(args.out)


def old_store(args: Namespace) -> "Store":
    """The store in --out, which must be there."""
    if not has_store(args):
        raise UsageError(
            f"no store in {args.out}; to create one, run: prunefield reproduce --scale smoke --out {args.out}"
        )
    return new_store(args)


def has_store(args: Namespace) -> bool:
    """Whether there is a store in --out; one that may not be looked into counts, and is refused when it is opened."""
    try:
        return (args.out / "store.json").exists()
    except PermissionError:
        return True


_document: TextIO | None = None  # where --json prints, while everything else that is printed goes to stderr


@contextmanager
def reserve_stdout() -> Iterator[None]:
    """Keeps stdout for `print_json`: what user code prints, in this process or a worker, goes to stderr."""
    global _document
    before = sys.stdout
    try:
        number, error = before.fileno(), sys.stderr.fileno()
        before.flush()
        _document = os.fdopen(os.dup(number), "w", encoding=before.encoding, errors="backslashreplace")
        os.dup2(error, number)
    except (OSError, ValueError, AttributeError):  # no file: somebody has put another object there
        number, _document, sys.stdout = None, before, sys.stderr
    try:
        yield
    finally:
        document, _document, sys.stdout = _document, None, before
        if number is not None and document is not None:
            before.flush()
            os.dup2(document.fileno(), number)
            document.close()


def print_json(document: Any) -> None:
    """Prints one JSON document on stdout; numbers that are not finite are null."""
    try:
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_drop_infinities(document), indent=1, ensure_ascii=False)
    print(text, file=_document or sys.stdout)


def _drop_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_drop_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_plan(args: Namespace, runs: "Sequence[Run]") -> None:
    """What --dry-run prints: the runs, which of them are stored, and the time of the rest."""
    from prunefield.cli.screen import show, show_duration

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
