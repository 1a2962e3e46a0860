"""Measure the receptive fields of your own network: widths, IPR, kurtosis, cavity scores.

WEIGHTS is a .safetensors file, a torch state dict (read without executing anything) or a .npy array. One matrix (units,
inputs) in it is measured, usually the first layer of a fully connected net. Kurtosis and cavity scores need --data,
preprocessed as they were for the network. With --out, the values of every unit, the scores of every weight and a
picture of the fields are written to a folder.
"""

from argparse import ArgumentParser, Namespace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.cli.options import add_json, is_array_file, parse_shape, print_json
from prunefield.core.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

USUAL = (3, 32, 32)  # shape of an input, if nothing tells
EXAMPLES = {
    "prunefield measure net.safetensors --shape 1,28,28": "widths and IPR of the first layer",
    "prunefield measure net.pt --shape 3,32,32 --data cifar10 --out fields": "with kurtosis and cavity scores",
    "prunefield measure w.npy --shape 40 --json": "the same as JSON, for another program",
}


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "weights",
        type=Path,
        metavar="WEIGHTS",
        help="FILE.safetensors, FILE.npy, or a state dict saved with torch.save",
    )
    add(
        "--mask",
        type=Path,
        metavar="FILE",
        help="a mask written by `prune`, or a .npy array [default: non-zero weights count as kept]",
    )
    add(
        "--layer",
        metavar="NAME",
        help="name of the layer in the file [default: the first matrix whose inputs fit --shape]",
    )
    add(
        "--shape",
        metavar="N,N,…",
        help="shape of one input: channels, height, width [default: that of the data, or 3,32,32]",
    )
    add("--data", metavar="FILE|TASK", help="FILE.npz with x and y, FILE.npy, or a task such as leaves,side=32")
    add("--per-class", type=int, default=50, metavar="N", help="number of images of each class [default: 50]")
    add("--seed", type=int, default=0, help="seed of a task's images [default: 0]")
    add("--out", type=Path, metavar="DIR", help="output folder for units.json, scores.safetensors and fields.svg")
    add_json(parser)


def execute(args: Namespace) -> int:
    import torch

    from prunefield.measures.measurement import measure

    torch.set_num_threads(1)
    data, shape = read_images(args) if args.data else (None, USUAL)
    shape = parse_shape(args.shape) if args.shape is not None else USUAL if shape == (prod(USUAL),) else shape
    found = measure(args.weights, args.layer, shape, mask=args.mask, data=data)
    if args.out:
        found.save(args.out)
    if args.json:
        print_json(found.as_json())
    else:
        print(found)
    return 0


def read_images(args: Namespace) -> "tuple[tuple[Tensor, Tensor], tuple[int, ...]]":
    """Images (n, inputs), `per_class` of each class, and their classes; and the shape of one image.

    A file without labels is one class.
    """
    import torch

    from prunefield.core.seeds import generator
    from prunefield.core.sizes import check_demand
    from prunefield.measures.examples import read_examples
    from prunefield.tasks import Task, draw_balanced

    if args.per_class < 4:
        raise UsageError(f"--per-class must be at least 4, not {args.per_class}; a kurtosis needs that many images")
    if not is_array_file(args.data):
        task = Task.parse(args.data)
        check_demand(f"--per-class {args.per_class}", 4 * args.per_class * task.classes * prod(task.shape))
        return draw_balanced(task, args.per_class, generator=generator(args.seed, "measure")), task.shape
    x, y, shape = read_examples(Path(args.data))
    y = torch.zeros(len(x), dtype=torch.long) if y is None else y
    chosen = torch.cat([torch.nonzero(y == label).flatten()[: args.per_class] for label in y.unique()])
    return (x[chosen], y[chosen]), shape
