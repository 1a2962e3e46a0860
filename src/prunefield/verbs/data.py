"""List the data sets: their shape, number of classes and where they come from."""

from argparse import ArgumentParser, Namespace

from prunefield.errors import unknown
from prunefield.names import modules, summary
from prunefield.options import add_json, print_json


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="list", help="what to do")
    add_json(parser)
    parser.epilog = f"data sets: {', '.join(modules('tasks'))}"


def execute(args: Namespace) -> int:
    if args.action != "list":
        raise unknown("action of data", args.action, ["list"])
    from prunefield.screen import show
    from prunefield.tasks import Task

    tasks = [Task.parse(name) for name in modules("tasks")]
    rows = [
        {"data": task.kind(), "shape": task.shape, "classes": task.classes, "what": summary("tasks", task.kind())}
        for task in tasks
    ]
    if args.json:
        print_json(rows)
    else:
        show(("data", "shape", "classes", "what"), [tuple(row.values()) for row in rows])
    return 0
