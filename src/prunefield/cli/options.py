"""Options that several verbs share, and what they mean."""

import json
import math
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from prunefield.cli.documents import VERSION
from prunefield.cli.run_tables import RUN_COLUMNS, make_run_cells, show_run_table
from prunefield.core.encoding import make_encoder
from prunefield.core.errors import UsageError, unknown
from prunefield.core.files import default_store
from prunefield.core.names import modules

if TYPE_CHECKING:
    from prunefield.lab.plan import Plan
    from prunefield.lab.store import Store

MANY = 1_000  # entries of a list in a JSON document, each of which is then one line


class Parser(ArgumentParser):
    """An argument parser whose errors are ours, one line each, and whose numbers and paths are sensible.

    Its help begins with what the command does and ends with `examples`, which are commands and what they do.
    """

    def __init__(self, *, examples: Mapping[str, str] | None = None, **settings: Any) -> None:
        self.examples = examples or {}
        super().__init__(**settings, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)
        for kind, read in ((int, _read_whole), (float, _read_real), (Path, _read_path)):
            self.register("type", kind, read)

    def format_help(self) -> str:
        from prunefield.core.terminal import find_width, wrap_lines

        width = find_width() or 100
        parts, epilog = [], self.epilog or ""
        for paragraph in (self.description or "").strip().split("\n\n"):
            is_code = paragraph.startswith(" ")
            parts += [*(paragraph.splitlines() if is_code else wrap_lines(" ".join(paragraph.split()), width)), ""]
        self.description = self.epilog = None
        parts.append(super().format_help().rstrip())
        if self.examples:
            parts += ["", "examples:"]
            longest = max(map(len, self.examples))
            for command, what in self.examples.items():
                is_short = longest + 4 + max(map(len, self.examples.values())) <= width
                parts += [f"  {command:<{longest}}  {what}"] if is_short else [f"  {command}", f"      {what}"]
        for line in epilog.splitlines():
            parts += ["", *wrap_lines(line, width, rest="  ")]
        return "\n".join(parts) + "\n"

    def error(self, message: str) -> NoReturn:
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            options = [name for action in self._actions for name in action.option_strings]
            got = message.removeprefix(prefix).split(" ")[0]
            if got.partition("=")[0] == "--out" and "--store" in options:
                raise UsageError(f"unknown argument {got!r}: the folder of results is chosen with --store DIR")
            raise unknown("argument", got, options)
        raise UsageError(f"{message} (see: {self.prog} --help)")


def make_parser(name: str, verb: ModuleType) -> Parser:
    """The parser of a verb, from its file."""
    parser = Parser(prog=f"prunefield {name}", description=verb.__doc__, examples=getattr(verb, "EXAMPLES", None))
    verb.add_options(parser)
    return parser


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
    """--store and --json."""
    place = default_store()
    parser.add_argument(
        "--store", type=Path, default=place, metavar="DIR", help=f"folder of all results [default: {place}]"
    )
    add_json(parser)


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")


def add_items(parser: ArgumentParser) -> None:
    """Names of items, which the help lists."""
    parser.add_argument(
        "items", nargs="*", metavar="ITEM", help="a paper or one of its items, as in redman2025/fig4 [default: all]"
    )
    papers: dict[str, list[str]] = {}
    for name in modules("papers"):
        papers.setdefault(name.partition("/")[0], []).append(name)
    parser.epilog = "\n".join(f"{paper}: {', '.join(names)}" for paper, names in papers.items())


def parse_shape(text: str) -> tuple[int, ...]:
    """The numbers of --shape.

    >>> parse_shape("3,32,32")
    (3, 32, 32)
    """
    shape = tuple(int(part) if part.strip().isdecimal() and len(part) < 19 else 0 for part in text.split(","))
    if 0 in shape:
        raise UsageError(f"--shape must be positive whole numbers separated by commas, as in 3,32,32, not {text!r}")
    return shape


def is_array_file(text: str) -> bool:
    """Whether data are a file of arrays and not a task, which may end with the path of one: npz,path=/data/a.npz."""
    path = Path(text)
    return path.suffix in (".npy", ".npz") and (text.partition(",")[0] not in modules("tasks") or path.is_file())


def add_engine(parser: ArgumentParser) -> None:
    """--engine, --jobs, --retry, --device, --log, --from and --dry-run."""
    names = " | ".join(modules("engines"))
    parser.add_argument(
        "--engine",
        default="local",
        metavar="NAME[,KEY=VALUE…]",
        help=f"where runs are executed: {names}, with settings as in ray,address=auto [default: local]",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of runs in parallel [default: one per core; on a cluster, as many as it allows]",
    )
    parser.add_argument(
        "--retry",
        type=int,
        metavar="N",
        help="number of times a run is restarted from its last safe point if its process, job or machine dies; a run "
        "that raises an error is not restarted [default: 0 on local, 3 on ray and slurm]",
    )
    add_device(parser)
    parser.add_argument(
        "--log",
        metavar="NAME[,KEY=VALUE…]",
        help=f"also write the numbers that runs record to: {' | '.join(modules('loggers'))}, with settings as "
        "in tensorboard,folder=DIR [default folder: logs/NAME in the store]",
    )
    parser.add_argument(
        "--from",
        dest="pack",
        type=Path,
        metavar="FILE",
        help="take runs from a file written by `prunefield runs pack`, after checking them",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the runs and the estimated time without executing anything"
    )


def add_device(parser: ArgumentParser) -> None:
    parser.add_argument("--device", default="cpu", help="device to compute on: cpu, cuda, cuda:1 or mps [default: cpu]")


def read_device(args: Namespace) -> str:
    """The device of --device, if this machine has it."""
    from prunefield.lab.conditions import check_device

    return check_device(args.device)


def how_to_run(args: Namespace) -> dict[str, Any]:
    """What `Study.run` and `reproduce` take from --engine, --jobs, --retry, --device, --log and --from."""
    from prunefield.core.terminal import show_warning

    return {
        "engine": args.engine,
        "jobs": args.jobs,
        "retry": args.retry,
        "device": args.device,
        "log": args.log,
        "pack": args.pack,
        "report": show_warning,
    }


def old_store(args: Namespace) -> "Store":
    """The store in --store, which must be there."""
    from prunefield.lab.store import read_store

    return read_store(args.store)


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


def print_json(document: dict[str, Any]) -> None:
    """Prints the JSON document of a command on stdout, with its version; numbers that are not finite are null.

    Its keys are described in `cli/documents.py`.
    """
    document = {"version": VERSION, **document}
    try:
        lines = _encode_document(document)
    except ValueError:
        lines = _encode_document(_drop_infinities(document))
    (_document or sys.stdout).writelines(lines)


def _encode_document(document: dict[str, Any]) -> list[str]:
    """Readable JSON; with long lists one line for each entry, since indenting would take most of the time."""
    if not any(isinstance(value, list) and len(value) > MANY for value in document.values()):
        return [json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1), "\n"]
    dump = make_encoder(ensure_ascii=False, allow_nan=False)
    lines = ["{\n"]  # not joined: that would copy them all several times
    for key, value in document.items():
        if isinstance(value, list):
            lines += f"{dump(key)}: [\n", *[text for item in value for text in (dump(item), ",\n")][:-1], "\n]", ",\n"
        else:
            lines += f"{dump(key)}: {dump(value)}", ",\n"
    return [*lines[:-1], "\n}\n"]


def _drop_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_drop_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_learnt(row: Mapping[str, Any]) -> bool:
    """Whether the notes below a plan say where the time of a run comes from; those of stored runs are measured."""
    return bool(row["learnt"]) and row["state"] == "to do"


def print_plan(args: Namespace, plan: "Plan") -> int:
    """What --dry-run prints: the runs, which of them are stored, and the time of the rest."""
    from prunefield.core.terminal import find_width, show_duration, wrap_lines
    from prunefield.engines import choose_engine
    from prunefield.loggers import Logger

    choose_engine(args.engine, args.jobs, args.retry)  # refused here as they would be without --dry-run
    Logger.parse(args.log) if args.log else None
    plan = plan.with_pack(args.pack) if args.pack else plan
    if args.json:
        print_json(plan.as_json())
        return 0
    columns = (*RUN_COLUMNS, "state", "one core")
    rows = [
        (*make_run_cells(row), row["state"], show_duration(row["seconds"]) + " *" * _is_learnt(row))
        for row in plan.describe()
    ]
    show_run_table(columns, rows)
    for line in (plan.title, *(f"* {note}" for note in plan.notes())):
        print("\n".join(wrap_lines(line, find_width() or 10**6, rest="  ")))
    return 0
