"""Prune a network of your own: score its weights, write a mask, and say what is left.

MODEL is `module:factory`: Python that you name is imported and called without arguments, and must give an
`nn.Module`. Nothing else is executed: weights are read from safetensors files alone. The network is not changed.
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.errors import UsageError
from prunefield.names import modules
from prunefield.options import add_json, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn

    from prunefield.masks import Mask
    from prunefield.tasks import Batch

MADE_UP = ("normal", "sparse", "chi", "ones")  # inputs.Source, without importing torch


def add_options(parser: ArgumentParser) -> None:
    scores = " | ".join(modules("scores"))
    add = parser.add_argument
    add("model", metavar="MODULE:FACTORY", help="the network, as in my_nets:resnet; the current folder is searched")
    add("--density", required=True, help="the kept fraction of the weights, above 0 and at most 1")
    add("--shape", metavar="N,N,…", help="of one input, as in 3,32,32 [default: that of the task in --inputs]")
    add("--score", default="synflow", metavar="NAME[,KEY=VALUE…]", help=f"{scores} [default: synflow]")
    add("--iterations", type=int, metavar="N", help="of scoring and pruning [default: 100 for synflow, else 1]")
    add("--schedule", default="exponential", help="of densities: exponential or linear [default: exponential]")
    sources = f"{' | '.join(MADE_UP)}, or a task such as leaves,side=32"
    add("--inputs", metavar="NAME[,KEY=VALUE…]", help=f"data to score with: {sources} [default: normal]")
    add("--batch", type=int, default=256, metavar="N", help="examples to score with [default: 256]")
    add("--scope", default="global", help="of the threshold: global, layer, uniform or erk [default: global]")
    add("--sample", default="never", help="draw the mask by its scores: never, last or every iteration")
    add("--reduce", help="signed scores to chances: abs, shift, rank or positive")
    add("--alpha", type=float, default=0.0, help="the uniform share of the chances [default: 0]")
    add("--floor", type=int, default=0, metavar="N", help="weights that each layer keeps at least [default: 0]")
    add("--from", dest="old", type=Path, metavar="MASK", help="a mask; what it has pruned stays pruned")
    add("--weights", type=Path, metavar="FILE.safetensors", help="weights of the network [default: the factory's own]")
    add("--seed", type=int, default=0, help="of the factory, made-up data and sampling [default: 0]")
    add("--out", type=Path, default=Path("mask.safetensors"), metavar="FILE", help="[default: mask.safetensors]")
    add_json(parser)


def execute(args: Namespace) -> int:
    import torch

    from prunefield.masks import Mask
    from prunefield.schedules import shrink
    from prunefield.scores import Score
    from prunefield.seeds import generator

    torch.set_num_threads(1)
    settings = parse(args.score)
    if settings["kind"] == "synflow" and args.inputs:
        settings.setdefault("inputs", "batch")  # who asks for inputs wants them used
    score, net = Score.parse(settings), load(args)
    draw, shape = source(args, net)
    mask = shrink(
        net,
        score,
        args.density,
        draw,
        generator=generator(args.seed, "mask"),
        iterations=args.iterations or (100 if score.kind() == "synflow" else 1),
        schedule=args.schedule,
        scope=args.scope,
        sample=args.sample,
        reduce=args.reduce,
        alpha=args.alpha,
        floor=args.floor,
        mask=Mask.load(args.old) if args.old else None,
    )
    mask.save(args.out)
    report = describe(net, mask, shape)
    if args.json:
        print_json({"mask": str(args.out), "score": score.settings(), **report})
    else:
        show_report(report, args.out)
    for warning in report["warnings"]:
        print(f"prunefield: {warning}", file=sys.stderr)
    return 0


def parse(text: str) -> dict[str, Any]:
    """`snip,mode=train` as a table."""
    from prunefield.study import change

    kind, *settings = text.split(",")
    table: dict[str, Any] = {"kind": kind}
    for setting in settings:
        change(table, setting)
    return table


def load(args: Namespace) -> "nn.Module":
    """The network that MODULE:FACTORY makes, with the weights of --weights."""
    from importlib import import_module

    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from prunefield.seeds import derive

    name, _, factory = args.model.partition(":")
    if not factory or Path(args.model).is_file():
        advice = "a file of weights goes to --weights"
        raise UsageError(f"a network is named module:factory, as in my_nets:resnet, got {args.model!r}; {advice}")
    sys.path.insert(0, "")
    try:
        make = getattr(import_module(name), factory)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"cannot import {args.model}: {error}") from None
    finally:
        sys.path.remove("")
    with torch.random.fork_rng(devices=[]):  # factories draw first weights from the global stream
        torch.manual_seed(derive(args.seed, "net"))
        net = make() if not isinstance(make, torch.nn.Module) else make
    if not isinstance(net, torch.nn.Module):
        raise UsageError(f"{args.model} gives a {type(net).__name__}, not a torch.nn.Module")
    if args.weights:
        try:
            net.load_state_dict(load_file(args.weights))
        except (OSError, SafetensorError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"the weights {args.weights} do not fit {args.model}: {reason}") from None
    return net


def source(args: Namespace, net: "nn.Module") -> "tuple[Callable[[], Sequence[Batch]], tuple[int, ...]]":
    """New data for each iteration, and the shape of one input."""
    from prunefield.inputs import draw_batch
    from prunefield.seeds import generator
    from prunefield.tasks import Batch, Task

    stream, table = generator(args.seed, "inputs"), parse(args.inputs or "normal")
    try:
        shape = tuple(int(side) for side in args.shape.split(",")) if args.shape else ()
    except ValueError:
        raise UsageError(f"--shape is whole numbers with commas, as in 3,32,32, got {args.shape!r}") from None
    if table["kind"] not in MADE_UP:
        task = Task.parse(table)
        shape = shape or task.shape
        try_on(net, shape)

        def real() -> list[Batch]:
            x, y = task.sample(args.batch, generator=stream)
            return [Batch(x.reshape(len(x), *shape).float(), y)]

        return real, shape
    if not shape:
        raise UsageError("made-up inputs need the shape of one: --shape 3,32,32")
    classes = try_on(net, shape)
    size = 1 if table["kind"] in ("chi", "ones") else args.batch
    return lambda: [draw_batch(table["kind"], size, shape, classes, generator=stream)], shape


def try_on(net: "nn.Module", shape: tuple[int, ...]) -> int:
    """How many outputs the network has for one input of a shape."""
    import torch

    from prunefield.measure.flops import evaluating

    try:
        with evaluating(net), torch.no_grad():
            return net(torch.zeros(1, *shape)).shape[-1]
    except (RuntimeError, ValueError, IndexError) as error:
        sides, reason = ",".join(map(str, shape)), str(error).splitlines()[0]
        raise UsageError(f"the network does not take inputs of shape {sides}: {reason}") from None


def describe(net: "nn.Module", mask: "Mask", shape: tuple[int, ...]) -> dict[str, Any]:
    """Density, parameters, operations and emptied layers."""
    import torch

    from prunefield.measure.collapse import find_collapse
    from prunefield.measure.flops import count_flops

    x = torch.zeros(1, *shape)
    dense, kept, counts = count_flops(net, x), count_flops(net, x, mask), mask.counts()
    layers = [
        {"layer": name, "weights": mask[name].numel(), "kept": counts[name], "density": density,
         "flops": dense.get(name, 0), "kept_flops": kept.get(name, 0)}
        for name, density in mask.per_layer().items()
    ]  # fmt: skip
    collapse = find_collapse(net, mask, shape)
    around = "" if collapse.dead else "; another way leads around it"
    warnings = [f"{name} keeps no weight{' and cuts the network' if name in collapse.cut else around}"
                for name in collapse.emptied]  # fmt: skip
    warnings += ["nothing flows from input to output; raise the density or set --floor"] if collapse.dead else []
    parameters = sum(parameter.numel() for parameter in net.parameters())
    return {
        "density": mask.density, "weights": mask.total, "kept": sum(counts.values()), "parameters": parameters,
        "flops": sum(dense.values()), "kept_flops": sum(kept.values()), "layers": layers, "warnings": warnings,
    }  # fmt: skip


def show_report(report: dict[str, Any], path: Path) -> None:
    from prunefield.screen import show

    columns = ("layer", "weights", "kept", "density", "flops", "kept_flops")
    rows = [[f"{row[key]:.4g}" if key == "density" else row[key] for key in columns] for row in report["layers"]]
    show(columns, rows, title=f"mask: {path}")
    print(f"{report['kept']:,} of {report['weights']:,} weights, density {report['density']:.6g}; "
          f"{report['parameters']:,} parameters in all; "
          f"{report['kept_flops']:,} of {report['flops']:,} operations for one input")  # fmt: skip
