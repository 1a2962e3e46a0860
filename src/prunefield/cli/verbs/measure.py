"""Measure the receptive fields of your own network: widths, IPR, kurtosis, cavity scores.

WEIGHTS is a .safetensors file, a torch state dict (read without executing anything) or a .npy array. One matrix (units,
inputs) in it is measured, usually the first layer of a fully connected net. Kurtosis and cavity scores need --data,
preprocessed as for the network. With --out, the values of every unit, the scores of every weight and a picture of the
fields are written to a folder.
"""

from argparse import ArgumentParser, Namespace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import add_json, print_json, settings_of
from prunefield.core.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from prunefield.measures.checkpoints import Layer

SHOWN, ACROSS = 120, 15  # fields in the picture, as in Fig. 1 of redman2025


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
        help="a mask written by `prune`, or a .npy array [default: the non-zero weights are kept]",
    )
    add(
        "--layer",
        metavar="NAME",
        help="name of the layer in the file [default: the first matrix whose inputs fit --shape]",
    )
    add(
        "--shape",
        default="3,32,32",
        metavar="N,N,…",
        help="shape of one input: channels, height, width [default: 3,32,32]",
    )
    add("--data", metavar="FILE|TASK", help="FILE.npz with x and y, FILE.npy, or a task such as leaves,side=32")
    add("--per-class", type=int, default=50, metavar="N", help="number of images of each class [default: 50]")
    add("--seed", type=int, default=0, help="seed of a task's images [default: 0]")
    add("--out", type=Path, metavar="DIR", help="output folder for units.json, scores.safetensors and fields.svg")
    add_json(parser)


def execute(args: Namespace) -> int:
    import torch

    from prunefield.measures.checkpoints import read_layer
    from prunefield.measures.portrait import describe_fields, describe_responses

    torch.set_num_threads(1)
    shape = parse_shape(args.shape)
    layer = read_layer(args.weights, shape, args.layer, args.mask)
    found, scores = describe_fields(layer.weight, layer.mask, shape), None
    if args.data:
        x, y = load(args, layer)
        more, scores = describe_responses(layer.weight, layer.mask, x, y)
        found |= more
    head = {"layer": layer.name, "shape": list(shape), "units": len(layer.weight)}
    head["density"] = layer.mask.float().mean().item()
    rows = [{"measure": name, **summarise(values)} for name, values in found.items()]
    if args.out:
        write(args.out, layer, shape, {**head, "measures": rows}, found, scores)
    if args.json:
        print_json({**head, "measures": rows})
    else:
        show_rows(head, rows, data=bool(args.data))
    return 0


def parse_shape(text: str) -> tuple[int, ...]:
    """The numbers of --shape.

    >>> parse_shape("3,32,32")
    (3, 32, 32)
    """
    parts = text.split(",")
    shape = tuple(int(part) if part.strip().isdecimal() and len(part) < 19 else 0 for part in parts)
    if len(shape) > 3 or 0 in shape:
        raise UsageError(f"--shape takes one to three numbers, as in 3,32,32, not {text!r}")
    return shape


def load(args: Namespace, layer: "Layer") -> "tuple[Tensor, Tensor]":
    """Images (n, inputs), `per_class` of each class, and their classes; a file without labels is one class."""
    import torch

    from prunefield.cli.verbs.predict import load as read
    from prunefield.core.seeds import generator
    from prunefield.core.sizes import check_demand
    from prunefield.tasks import Task, draw_balanced

    if args.per_class < 4:
        raise UsageError(f"--per-class must be at least 4, not {args.per_class}; a kurtosis needs that many images")
    if Path(args.data).suffix in (".npy", ".npz"):
        x, y, _ = read(args)
        y = torch.zeros(len(x), dtype=torch.long) if y is None else y
        chosen = torch.cat([torch.nonzero(y == label).flatten()[: args.per_class] for label in y.unique()])
        x, y = x[chosen], y[chosen]
    else:
        task = Task.parse(settings_of(args.data))
        check_demand(f"--per-class {args.per_class}", 4 * args.per_class * task.classes * prod(task.shape))
        x, y = draw_balanced(task, args.per_class, generator=generator(args.seed, "measure"))
    if x.shape[1] != layer.weight.shape[1]:
        raise UsageError(
            f"an image of --data has {x.shape[1]} numbers, but {layer.name} has {layer.weight.shape[1]} inputs"
        )
    if not bool(x.isfinite().all()):
        raise UsageError(f"--data {args.data} contains numbers that are not finite; fix the file")
    return x.to(layer.weight.dtype), y


def summarise(values: "Tensor") -> dict[str, Any]:
    """Mean, median, least and greatest over the units that have a value, and how many those are."""
    values = values[~values.isnan()]
    if len(values) == 0:
        return {"mean": None, "median": None, "least": None, "greatest": None, "units": 0}
    found = (values.mean(), values.quantile(0.5), values.min(), values.max())
    names = ("mean", "median", "least", "greatest")
    return {name: value.item() for name, value in zip(names, found, strict=True)} | {"units": len(values)}


def show_rows(head: dict[str, Any], rows: list[dict[str, Any]], *, data: bool) -> None:
    from prunefield.cli.screen import show
    from prunefield.core.errors import show_line

    cells = [
        ["–" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row.values()]
        for row in rows
    ]
    title = f"{show_line(head['layer'], 200)}: {head['units']} units, density {head['density']:.4g}"
    show(list(rows[0]), cells, title=title)
    if head["density"] == 1:
        print("Nothing is masked, and all full masks have the same width, so widths are those of |w|.")
    if not data:
        print("Kurtosis and cavity scores need images: --data")


def write(
    folder: Path,
    layer: "Layer",
    shape: tuple[int, ...],
    summary: dict[str, Any],
    found: "dict[str, Tensor]",
    scores: "Tensor | None",
) -> None:
    """units.json, scores.safetensors (with data) and fields.svg (two-dimensional fields)."""
    import json

    from safetensors.torch import save

    from prunefield.core.files import make_folder, write_whole
    from prunefield.report.drawings import encode

    make_folder(folder)
    units = {name: [None if value != value else value for value in values.tolist()] for name, values in found.items()}
    write_whole(folder / "units.json", json.dumps({**summary, "per_unit": units}, indent=1, allow_nan=False).encode())
    if scores is not None:
        write_whole(folder / "scores.safetensors", save({layer.name: scores.contiguous()}))
    if len(shape) > 1:
        write_whole(folder / "fields.svg", encode(draw(layer, shape), "svg"))


def draw(layer: "Layer", shape: tuple[int, ...]) -> Any:
    """The weights of the most connected units as pictures: grey is zero; colours if there are three channels."""
    import matplotlib
    from matplotlib.figure import Figure

    from prunefield.core.errors import show_line
    from prunefield.measures.pictures import show
    from prunefield.report.drawings import STYLE

    ranked = layer.mask.sum(1).argsort(descending=True, stable=True)[:SHOWN]
    fields = (layer.weight * layer.mask)[ranked].view(len(ranked), *(1,) * (3 - len(shape)), *shape)
    if fields.shape[1] != 3:
        fields = fields.mean(1, keepdim=True).expand(-1, 3, -1, -1)
    greatest = fields.abs().amax((1, 2, 3), keepdim=True).clamp(min=1e-30)
    rows = -(-len(fields) // ACROSS)
    figure = Figure(figsize=(10, 0.4 + 0.67 * rows), layout="constrained")
    title = f"{show_line(layer.name, 80)}: the {len(fields)} units with most kept inputs"
    with matplotlib.rc_context(STYLE):
        show(figure.subplots(), 0.5 + 0.5 * fields / greatest, min(ACROSS, len(fields)), title)
    return figure
