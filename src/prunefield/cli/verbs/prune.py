"""Prune your own network: score its weights, write a mask, and report what is left.

MODEL is `module:factory`: this Python code is imported and called without arguments, and must return an `nn.Module`.
Nothing else is executed, nothing in files of weights either. The network is not changed. Or it is a built-in network,
optionally with another width than usual: `resnet20`, `resnet20:32`. Or it is a saved network, a file of weights
(.safetensors, or a state dict of torch), whose linear and convolution weights are ranked by scores that need not run
it, such as `magnitude`.
"""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import add_device, add_json, check_device, print_json, settings_of
from prunefield.cli.verbs._networks import BUILT_IN, check_name, is_saved, load
from prunefield.core.errors import Error, UsageError
from prunefield.core.names import modules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch
    from torch import nn

    from prunefield.masks.mask import Mask
    from prunefield.scores import Score
    from prunefield.tasks import Batch, Task


def add_options(parser: ArgumentParser) -> None:
    scores = " | ".join(modules("scores"))
    add = parser.add_argument
    names = " | ".join(BUILT_IN)
    add(
        "model",
        metavar="MODEL",
        help=f"module:factory, as in my_nets:resnet (the current folder is searched); or {names}; or a file of weights",
    )
    add("--density", required=True, help="fraction of the weights to keep, above 0 and at most 1")
    add(
        "--shape",
        metavar="N,N,…",
        help="shape of one input, as in 3,32,32 [default: that of the task in --inputs or of the built-in network]",
    )
    add(
        "--classes",
        type=int,
        metavar="N",
        help="number of classes of a built-in network [default: those of the task in --inputs, or 10]",
    )
    add("--score", default="synflow", metavar="NAME[,KEY=VALUE…]", help=f"{scores} [default: synflow]")
    add(
        "--iterations",
        type=int,
        metavar="N",
        help="number of score-and-prune iterations [default: the score's own, 100 for synflow]",
    )
    add("--schedule", default="exponential", help="schedule of densities: exponential or linear [default: exponential]")
    add(
        "--inputs",
        metavar="NAME[,KEY=VALUE…]",
        help="task that provides the data to score with, as in chi or leaves,side=32 [default: normal]",
    )
    add("--batch", type=int, default=256, metavar="N", help="number of examples to score with [default: 256]")
    add("--scope", default="global", help="scope of the threshold: global, layer, uniform or erk [default: global]")
    add(
        "--sample",
        default="never",
        help="sample the mask in proportion to its scores: never, last or every iteration [default: never]",
    )
    add("--reduce", help="how signed scores become sampling probabilities: abs, shift, rank or positive")
    add("--alpha", type=float, default=0.0, help="uniform share of the sampling probabilities [default: 0]")
    add(
        "--floor", type=int, default=0, metavar="N", help="minimum number of weights that each layer keeps [default: 0]"
    )
    add("--from", dest="old", type=Path, metavar="MASK", help="a mask to start from; what it has pruned stays pruned")
    add("--weights", type=Path, metavar="FILE", help="file with weights of the network [default: its initial weights]")
    add("--seed", type=int, default=0, help="seed of initial weights, synthetic data and sampling [default: 0]")
    add(
        "--out",
        type=Path,
        default=Path("mask.safetensors"),
        metavar="FILE",
        help="output file [default: mask.safetensors]",
    )
    add_device(parser)
    add_json(parser)


def execute(args: Namespace) -> int:
    import torch

    from prunefield.cli.screen import count_iterations
    from prunefield.core.seeds import generator
    from prunefield.masks.mask import Mask
    from prunefield.pruning.schedules import shrink
    from prunefield.scores import Score

    torch.set_num_threads(1)
    check_name(args.model)
    settings = settings_of(args.score)
    if args.inputs and "inputs" in type(Score.parse(settings)).model_fields:
        settings.setdefault("inputs", "batch")  # who asks for inputs wants them used
    score, (task, shape) = Score.parse(settings), find_shape(args)
    net = load(args, shape, task.classes if task else 10).to(check_device(args))
    draw = source(args, score, net, task, shape)
    if args.sample == "never" and (args.reduce or args.alpha):
        raise UsageError("--reduce and --alpha are for sampled masks: add --sample last")
    old = Mask.load(args.old) if args.old else None
    how = {key: getattr(args, key) for key in ("iterations", "schedule", "scope", "sample", "reduce", "alpha", "floor")}
    try:
        with count_iterations(f"{score.kind()} of {args.model}") as tell:
            how |= {"mask": old, "check": False, "progress": tell}
            mask = shrink(net, score, args.density, draw, generator=generator(args.seed, "mask"), **how)
    except Error:
        raise
    except Exception as error:  # whatever the user's own code raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"{score.kind()} cannot score {args.model}: {reason}") from None
    report = describe(net, mask, shape, score.skip)
    mask.save(args.out)
    if args.json:
        print_json({"mask": str(args.out), "score": score.settings(), **report})
    else:
        show_report(report, args.out)
    for warning in report["warnings"]:
        print(f"prunefield: {warning}", file=sys.stderr)
    return 0


def find_shape(args: Namespace) -> "tuple[Task | None, tuple[int, ...]]":
    """The task of --inputs, if it names one, and the shape of one input; weights in a file have none."""
    from prunefield.tasks import Synthetic, Task

    if is_saved(args.model):
        return None, ()
    table = settings_of(args.inputs or "normal")
    task = Task.parse(table)
    free = isinstance(task, Synthetic) and "shape" not in table  # its inputs can have any shape
    usual = BUILT_IN.get(args.model.partition(":")[0], ()) if free else task.shape
    try:
        shape = tuple(int(side) for side in args.shape.split(",")) if args.shape else usual
    except ValueError:
        raise UsageError(f"--shape must be whole numbers with commas, as in 3,32,32, not {args.shape!r}") from None
    if not shape:
        raise UsageError("synthetic inputs need a shape: --shape 3,32,32")
    if not free and prod(task.shape) != prod(shape):
        own = ",".join(map(str, task.shape))
        raise UsageError(f"--shape {args.shape} does not fit the inputs of {table['kind']}, which have the shape {own}")
    return task, shape


def source(
    args: Namespace, score: "Score", net: "nn.Module", task: "Task | None", shape: tuple[int, ...]
) -> "Callable[[], Sequence[Batch]] | Sequence[Batch]":
    """What the score needs: new data for each iteration in the network's own precision, or only a blank input."""
    import torch

    from prunefield.core.seeds import generator
    from prunefield.tasks import Batch, Synthetic

    if task is None:  # only to be refused by the network, if the score runs it
        return lambda: [Batch(torch.zeros(1, 1), torch.zeros(1, dtype=torch.long))]
    stream, size = generator(args.seed, "inputs"), args.batch
    classes, precise = try_on(net, shape), precision(net)
    if score.needs in ("nothing", "shape"):
        return [Batch(blank(net, shape), torch.zeros(1, dtype=torch.long))]
    if isinstance(task, Synthetic):
        task, size = task.model_copy(update={"shape": shape, "classes": classes}), 1 if task.single else size

    def draw() -> list[Batch]:
        x, y = task.sample(size, generator=stream)
        return [Batch(x.reshape(len(x), *shape).to(args.device, precise), y.to(args.device))]

    return draw


def precision(net: "nn.Module") -> "torch.dtype":
    """The type of a network's numbers."""
    import torch

    return next((item.dtype for item in net.parameters() if item.is_floating_point()), torch.float32)


def blank(net: "nn.Module", shape: tuple[int, ...]) -> "torch.Tensor":
    """One input of zeros where the network is."""
    import torch

    return torch.zeros(1, *shape, dtype=precision(net), device=next(net.parameters(), torch.empty(0)).device)


def try_on(net: "nn.Module", shape: tuple[int, ...]) -> int:
    """How many outputs the network has for one input of a shape."""
    import torch

    from prunefield.modules.borrowing import borrow_network
    from prunefield.modules.calls import find_logits

    try:
        with borrow_network(net, {}, "eval", torch.Generator()) as (call, _), torch.no_grad():
            outputs = call(blank(net, shape))
            with suppress(UsageError):
                outputs = find_logits(outputs)
    except Exception as error:  # whatever the user's own code raises
        sides, reason = ",".join(map(str, shape)), " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"the network does not take inputs of shape {sides}: {reason}") from None
    if not isinstance(outputs, torch.Tensor) or outputs.ndim < 2:
        got = (
            f"a tensor of shape {tuple(outputs.shape)}" if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        )
        raise UsageError(f"the network must return a tensor (examples, classes), not {got}: wrap it")
    return outputs.shape[1]


def describe(net: "nn.Module", mask: "Mask", shape: tuple[int, ...], skip: "Sequence[str]") -> dict[str, Any]:
    """Density, parameters, operations and what collapsed."""
    from prunefield.measures.collapse import describe_collapse
    from prunefield.measures.flops import count_flops

    counts, operations = mask.counts(), {}
    layers: list[dict[str, Any]] = [
        {"layer": name, "weights": mask[name].numel(), "kept": counts[name], "density": density}
        for name, density in mask.per_layer().items()
    ]
    if shape:
        x = blank(net, shape)
        dense, kept = count_flops(net, x), count_flops(net, x, mask)
        operations = {"flops": sum(dense.values()), "kept_flops": sum(kept.values())}
        for row in layers:
            row |= {"flops": dense.get(row["layer"], 0), "kept_flops": kept.get(row["layer"], 0)}
    warnings = describe_collapse(net, mask, shape, skip=skip)
    parameters = sum(parameter.numel() for parameter in net.parameters())
    return {
        "density": mask.density, "weights": mask.total, "kept": sum(counts.values()), "parameters": parameters,
        **operations, "layers": layers, "warnings": warnings,
    }  # fmt: skip


def show_report(report: dict[str, Any], path: Path) -> None:
    from prunefield.cli.screen import show

    columns = list(report["layers"][0])
    rows = [[f"{row[key]:.4g}" if key == "density" else row[key] for key in columns] for row in report["layers"]]
    show(columns, rows, title=f"mask: {path}")
    operations = (
        f"; {report['kept_flops']:,} of {report['flops']:,} operations for one input" if "flops" in report else ""
    )
    print(f"{report['kept']:,} of {report['weights']:,} weights, density {report['density']:.6g}; "
          f"{report['parameters']:,} parameters in all{operations}")  # fmt: skip
