"""Prune your own network: score its weights, write a mask, and report what is left.

MODEL is `module:factory`: this Python code is imported and called without arguments, and must return an `nn.Module`.
No other code is executed, in particular none in a file of weights. The network is not changed. MODEL may also be a
built-in network, optionally with a width other than its usual one, as in `resnet20` or `resnet20:32`; or a file of
weights (.safetensors, or a torch state dict), whose linear and convolution weights are ranked by a score that does not
run the network, such as `magnitude`.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from prunefield.cli.options import add_device, add_json, parse_shape, print_json, read_device
from prunefield.core.errors import Error, UsageError, show_line
from prunefield.core.names import modules
from prunefield.core.settings import read_settings
from prunefield.pruning.inputs import choose_task, draw_examples
from prunefield.pruning.models import check_name, is_built_in, load_model, name_networks

EXAMPLES = {
    "prunefield prune lenet-300-100 --density 0.05": "a built-in network, by SynFlow",
    "prunefield prune my_nets:resnet --score snip --data cifar10 --density 0.05": "your own network, scored on data",
    "prunefield prune net.safetensors --score magnitude --density 0.1 --out mask.safetensors": "a file of weights",
}


def add_options(parser: ArgumentParser) -> None:
    scores = " | ".join(modules("scores"))
    add = parser.add_argument
    names = " | ".join(name_networks())
    add(
        "model",
        metavar="MODEL",
        help=f"module:factory, as in my_nets:resnet (the current folder is searched); or {names}; or a file of weights",
    )
    add("--density", required=True, help="fraction of the weights to keep, above 0 and at most 1")
    add(
        "--shape",
        metavar="N,N,…",
        help="shape of one input, as in 3,32,32 [default: that of the task in --data or of the built-in network]",
    )
    add(
        "--classes",
        type=int,
        metavar="N",
        help="number of classes of a built-in network [default: that of the task in --data, or 10]",
    )
    add("--score", default="synflow", metavar="NAME[,KEY=VALUE…]", help=f"{scores} [default: synflow]")
    add(
        "--iterations",
        type=int,
        metavar="N",
        help="number of score-and-prune iterations [default: the score's own, 100 for synflow]",
    )
    add("--schedule", default="exponential", help="schedule of densities: exponential or linear [default: exponential]")
    tasks = " | ".join(modules("tasks"))
    add("--data", metavar="NAME[,KEY=VALUE…]", help=f"data to score with: {tasks} [default: normal]")
    words = "number of examples to score with; trained-magnitude takes all examples of a data set [default: 256]"
    add("--batch-size", type=int, default=256, metavar="N", help=words)
    add("--scope", default="global", help="scope of the threshold: global, layer, uniform or erk [default: global]")
    add(
        "--sample",
        default="never",
        help="when to sample the mask in proportion to the scores: never, last or every (iteration) [default: never]",
    )
    add("--reduce", help="how signed scores become sampling probabilities: abs, shift, rank or positive")
    add(
        "--alpha",
        type=float,
        default=0.0,
        help="share of a uniform distribution in the sampling probabilities [default: 0]",
    )
    add(
        "--floor", type=int, default=0, metavar="N", help="minimum number of weights that each layer keeps [default: 0]"
    )
    add("--start", type=Path, metavar="MASK", help="a mask to start from; what it has pruned stays pruned")
    add(
        "--weights",
        type=Path,
        metavar="FILE",
        help="file with the weights of the network [default: its initial weights]",
    )
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

    from prunefield.core.files import check_target
    from prunefield.core.progress import track_progress
    from prunefield.core.terminal import show_warning
    from prunefield.masks.mask import Mask
    from prunefield.measures.collapse import describe_collapse
    from prunefield.pruning.iterations import prune
    from prunefield.scores import Score

    torch.set_num_threads(1)
    check_name(args.model)
    check_target(args.out)
    if args.batch_size < 1:
        raise UsageError(f"--batch-size must be at least 1, not {args.batch_size}")
    settings = read_settings(args.score)
    if args.data and "inputs" in type(Score.parse(settings)).model_fields:
        settings.setdefault("inputs", "batch")  # who gives data wants them used
    score = Score.parse(settings)
    task, shape = choose_task(args.model, args.data, parse_shape(args.shape) if args.shape else None)
    if args.classes is not None and not is_built_in(args.model):
        raise UsageError(
            f"--classes is for the networks {', '.join(name_networks())}; {args.model} has its own number of classes"
        )
    classes = task.classes if args.classes is None else args.classes
    net = load_model(args.model, shape, classes, weights=args.weights, seed=args.seed).to(read_device(args))
    data = draw_examples(score, net, task, shape, batch_size=args.batch_size, seed=args.seed)
    start = Mask.load(args.start) if args.start else None
    names = ("iterations", "schedule", "scope", "sample", "reduce", "alpha", "floor", "seed")
    how = {name: getattr(args, name) for name in names}
    try:
        with track_progress(f"{score.kind()} of {args.model}") as tell:
            mask = prune(net, score, args.density, data, start=start, check=False, progress=tell, **how)
    except Error:
        raise
    except Exception as error:  # whatever the user's own code raises
        raise UsageError(
            f"{score.kind()} cannot score {args.model}: {show_line(f'{type(error).__name__}: {error}')}"
        ) from None
    summary = mask.summary(net, shape=shape or None)
    warnings = describe_collapse(net, mask, shape, skip=score.skip)
    mask.save(args.out)
    if args.json:
        print_json({"mask": str(args.out), "score": score.settings(), **summary.as_json(), "warnings": warnings})
    else:
        print(f"mask: {args.out}\n{summary}")
    for warning in warnings:
        show_warning(warning)
    return 0
