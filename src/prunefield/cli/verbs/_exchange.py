"""`runs pack`, `runs unpack` and `runs merge`: runs that go from one store to another."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.cli.options import old_store, print_json
from prunefield.cli.verbs._choice import choose_runs
from prunefield.core.errors import UsageError, show_line
from prunefield.core.progress import track_progress
from prunefield.core.terminal import count_things

if TYPE_CHECKING:
    from prunefield.lab.joining import Joined

PACK = Path("runs.zip")  # where `pack` writes by default


def pack_runs(args: Namespace) -> int:
    """Writes finished runs, and those that they need, to one file."""
    from prunefield.core.sizes import show_bytes
    from prunefield.lab.packs import write_pack

    store = old_store(args)
    wanted = choose_runs(args, store)
    chosen = [folder for folder in wanted if folder.is_done]
    left_out = sorted(folder.name for folder in wanted if not folder.is_done)
    if args.names and left_out:
        raise UsageError(f"{left_out[0]} is not finished, so it cannot be packed")
    if not chosen:
        why = f"none of the {len(wanted)} runs is finished" if wanted else f"{store.root} has no runs"
        raise UsageError(f"{why}, so there is nothing to pack")
    out = args.out or PACK
    written = write_pack(chosen, out)
    if args.json:
        found = {"runs": list(written.runs), "left_out": left_out, "bytes": written.bytes, "sha256": written.seal}
        print_json({"pack": str(out), **found})
        return 0
    print(f"{out}: {count_things(len(written.runs), 'run')}, {show_bytes(written.bytes)}")
    if left_out:
        many = count_things(len(left_out), "run")
        print(show_line(f"prunefield: left out, not finished: {many} ({left_out[0]} …)"), file=sys.stderr)
    return 0


def unpack_into_store(args: Namespace) -> int:
    """Takes the runs of a file into the store."""
    from prunefield.lab import joining

    if not args.names:
        raise UsageError("runs unpack needs a file, as in: prunefield runs unpack runs.zip")
    file, *runs = args.names
    return _print_joined(args, joining.unpack_runs(args.store, Path(file), runs or None))


def merge_runs(args: Namespace) -> int:
    """Takes the runs of other stores into this one."""
    from prunefield.lab.joining import merge_stores

    if not args.names:
        raise UsageError("runs merge needs stores, as in: prunefield runs merge worker-1 worker-2 --store all")
    for name in args.names:
        if Path(name).is_file():
            raise UsageError(f"{name} is a file, not a store; for a file of `runs pack`: prunefield runs unpack {name}")
    with track_progress("merge", unit="runs", shown=not args.json) as tell:
        joined = merge_stores(args.store, args.names, tell=lambda at, total: tell(at, total, f"{at} of {total} runs"))
    return _print_joined(args, joined)


def _print_joined(args: Namespace, joined: "Joined") -> int:
    """What happened to the runs; status 1 if a run differs or was refused."""
    from dataclasses import asdict

    from prunefield.core.terminal import show_warning

    if args.json:
        print_json({"store": str(args.store), **asdict(joined)})
    else:
        print(f"{args.store}: {joined.describe()}")
        for problem in joined.problems:
            show_warning(show_line(problem))
    return 1 if joined.problems else 0
