"""Cancel the jobs of a store that are waiting or running in a cluster's queue (`--engine slurm`).

Nothing is lost: the command that submitted them, run again, continues from the last safe points. On the engines
`local` and `ray`, runs end with their command.
"""

from argparse import ArgumentParser, Namespace

from prunefield.cli.options import add_store, old_store, print_json

EXAMPLES = {
    "prunefield cancel": "cancel all jobs of the default store",
    "prunefield cancel --store /shared/my-store": "cancel those of another store",
}


def add_options(parser: ArgumentParser) -> None:
    add_store(parser)


def execute(args: Namespace) -> int:
    from prunefield.core.names import modules
    from prunefield.engines import Engine

    folder = old_store(args).root.resolve() / "engines"
    kinds = [kind for kind in modules("engines") if (folder / kind).is_dir()]
    cancelled = [line for kind in kinds for line in Engine.parse(kind).cancel(folder)]
    if args.json:
        print_json({"cancelled": cancelled})
    else:
        print("\n".join(f"cancelled: {line}" for line in cancelled) or f"no jobs of {args.store} in any queue")
    return 0
