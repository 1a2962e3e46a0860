"""Execute every combination of the values in the [sweep] table of a study.

kind = "neuron"
task = { kind = "nlgp" }

[sweep]
seed = [0, 1, 2]
"task.g" = [0.01, 1.0, 3.0]
"""

from argparse import Namespace

from prunefield.errors import UsageError
from prunefield.verbs.run import add_options, carry

__all__ = ["add_options", "execute"]


def execute(args: Namespace) -> int:
    from prunefield.study import read

    studies = read(args.file, args.set)
    if len(studies) < 2:
        raise UsageError(f"{args.file} has no [sweep] with several values; use: prunefield run {args.file}")
    return carry(args, studies)
