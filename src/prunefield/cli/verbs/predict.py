"""Predict from data alone whether and where a ReLU neuron will localise, and with what certainty.

DATA is a `.npy` file with inputs (n, …), a `.npz` file with inputs `x` and labels `y`, or the name of a task. The
theory is that of lufkin2024 (Eq. 5). The command tests the stimulus properties S1 to S3, estimates the kurtosis and the
amplifier of an input and the covariances of the classes with the shortest and the longest lengthscale, and integrates
the gradient flow from several initialisations, on the data and on resamples of them. The answer is yes or no if it is
95% certain (39 of 40 resamples agree, or 20 of 20), otherwise undecided. Without labels, class 0 is taken to have no
correlations.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.cli.options import add_json, is_array_file, print_json
from prunefield.core.errors import UsageError
from prunefield.core.names import modules
from prunefield.core.settings import change_setting, read_settings

if TYPE_CHECKING:
    from torch import Tensor

SAMPLES = 20_000
EXAMPLES = {
    "prunefield predict data.npz": "from your own examples x and labels y",
    "prunefield predict nlgp,g=3": "from a task",
    "prunefield predict ising --draw ising.svg": "from a task, with a drawing",
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help=f"FILE.npy, FILE.npz or a task: {', '.join(modules('tasks'))}")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting of the task, as in g=3"
    )
    parser.add_argument(
        "--samples", type=int, metavar="N", help=f"number of examples of a task [default: {SAMPLES}, or all it has]"
    )
    parser.add_argument("--inits", type=int, default=5, metavar="N", help="number of initialisations [default: 5]")
    parser.add_argument(
        "--resamples",
        type=int,
        metavar="N",
        help="number of resamples of the data [default: 40, or 20 if S2 is not met]",
    )
    parser.add_argument("--time", type=float, default=1000.0, help="end time, steps × learning rate [default: 1000]")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of initial weights, resamples and a task's examples [default: 0]"
    )
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw the prediction: FILE.svg, FILE.pdf or FILE.png")
    add_json(parser)


def execute(args: Namespace) -> int:
    import torch

    from prunefield.core.figures import encode_figure
    from prunefield.core.files import check_target, write_whole
    from prunefield.measures.prediction import predict

    if args.samples is not None and args.samples < 100:
        raise UsageError(f"--samples must be at least 100, not {args.samples}")
    if args.draw:
        check_target(args.draw, chosen_by="--draw")
        if args.draw.suffix not in (".svg", ".pdf", ".png"):
            raise UsageError(f"--draw takes a file that ends in .svg, .pdf or .png, not {args.draw}")
    torch.set_num_threads(1)  # as in every run: small matrices are slower on several
    found = predict(*read_inputs(args), inits=args.inits, resamples=args.resamples, time=args.time, seed=args.seed)
    if args.draw:
        write_whole(args.draw, encode_figure(found.plot(), args.draw.suffix[1:]), chosen_by="--draw")
    if args.json:
        print_json(found.as_json())
    else:
        print(found)
    return 0


def read_inputs(args: Namespace) -> "tuple[Tensor, Tensor | None, tuple[int, ...]]":
    """Inputs (n, N), labels (n,) or None, and the shape of one input."""
    from prunefield.core.seeds import generator
    from prunefield.measures.examples import read_examples
    from prunefield.tasks import Task, draw_distinct

    path = Path(args.data)
    if is_array_file(args.data):
        if option := "--set" if args.set else "--samples" if args.samples else "":
            raise UsageError(f"{option} is for a task; {path} is a file, and all of its examples are used")
        return read_examples(path)
    if path.exists():
        raise UsageError(f"{path} is neither .npy nor .npz; save an array with numpy.save or numpy.savez(x=…, y=…)")
    settings = read_settings(args.data)
    for text in args.set:
        change_setting(settings, text)
    task = Task.parse(settings)
    batch = draw_distinct(task, args.samples or SAMPLES, generator=generator(args.seed, "data"))
    if len(batch.y) < (args.samples or 0):
        raise UsageError(f"{task.kind()} has {len(batch.y):,} training examples, but --samples is {args.samples:,}")
    return batch.x, batch.y, task.shape
