"""Networks by name, for the verbs: built-in ones, those made by a user's factory, and weights in a file."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.core.errors import UsageError, unknown

if TYPE_CHECKING:
    from torch import nn

# Of one input; `networks.architecture.NAMED` has the networks, and is not imported here, because it imports torch.
BUILT_IN = {"lenet-300-100": (1, 28, 28), "vgg19": (3, 32, 32), "resnet20": (3, 32, 32), "resnet18": (3, 64, 64)}


def check_name(model: str) -> None:
    """Refuses what is neither module:factory nor built in nor a file."""
    name, _, factory = model.partition(":")
    if name not in BUILT_IN and not factory and not is_saved(model):
        raise unknown("network", model, [*BUILT_IN, "module:factory", "a file of weights"])


def is_saved(model: str) -> bool:
    """Whether MODEL is a file of weights."""
    return model not in BUILT_IN and Path(model).is_file()


def load(args: Namespace, shape: tuple[int, ...], classes: int) -> "nn.Module":
    """The network that MODEL names, with the weights of --weights."""
    from prunefield.measures.checkpoints import read_state

    name, _, rest = args.model.partition(":")
    if args.classes is not None and name not in BUILT_IN:
        raise UsageError(
            f"--classes is for the networks {', '.join(BUILT_IN)}; {args.model} has its own number of classes"
        )
    if is_saved(args.model):
        if args.weights:
            raise UsageError(f"{args.model} already contains weights; use --weights with a network that has code")
        return assemble(Path(args.model))
    if name in BUILT_IN:
        net = build(name, rest, shape, classes if args.classes is None else args.classes, args.seed)
    else:
        net = make(args.model, args.seed)
    if args.weights:
        try:
            net.load_state_dict(read_state(args.weights))
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"the weights {args.weights} do not fit {args.model}: {reason}") from None
    return net


def assemble(path: Path) -> "nn.Module":
    """The weights of a file under their names, as layers that can be ranked but not run; nothing in it is executed."""
    from torch import nn

    from prunefield.measures.checkpoints import check_plain, find_mask, read_state

    class Saved(nn.Module):
        def forward(self, _: object) -> None:
            message = f"{path} contains weights but no code, which this score has to run; give the code as MODEL"
            raise UsageError(f"{message}, as in my_nets:resnet, and the file as --weights")

    kinds = {3: nn.Conv1d, 4: nn.Conv2d, 5: nn.Conv3d}
    net, state = Saved(), read_state(path)
    for name, tensor in state.items():
        layer, _, last = name.removesuffix("_orig").rpartition(".")
        if tensor.is_floating_point():
            check_plain(path, name, tensor)
        if last == "weight" and 2 <= tensor.ndim <= 5 and tensor.is_floating_point():
            left = find_mask(path, state, name)
            made = kinds[tensor.ndim](1, 1, 1, bias=False) if tensor.ndim > 2 else nn.Linear(1, 1, bias=False)
            made.weight = nn.Parameter(tensor if left is None else tensor * left)
            net._modules[layer] = made  # not `add_module`, which takes no names with dots
        elif tensor.is_floating_point() and not last.startswith("running_") and not last.endswith("_mask"):
            net._parameters[name] = nn.Parameter(tensor)
    return net


def build(name: str, width: str, shape: tuple[int, ...], classes: int, seed: int) -> "nn.Module":
    """A built-in network with the initial weights that the run `pruned` has for a seed."""
    from prunefield.core.seeds import generator
    from prunefield.networks.architecture import NAMED

    if classes < 1 or (width and not (width.isdecimal() and int(width))):
        got = f"--classes {classes}" if classes < 1 else f"{name}:{width}"
        raise UsageError(f"width and classes must be positive whole numbers, as in {name}:16 (got {got})")
    net = NAMED[name].model_copy(update={"width": int(width)} if width else {})
    return net.build(shape, classes, generator=generator(seed, "init"))


def make(model: str, seed: int) -> "nn.Module":
    """The network that module:factory returns, with initial weights determined by the seed."""
    from importlib import import_module

    import torch

    from prunefield.core.seeds import derive

    module, _, factory = model.partition(":")
    sys.path.insert(0, "")
    try:
        with torch.random.fork_rng(devices=[]):  # factories draw initial weights from the global stream
            torch.manual_seed(derive(seed, "net"))
            found = getattr(import_module(module), factory)
            net = found if isinstance(found, torch.nn.Module) or not callable(found) else found()
    except Exception as error:  # whatever the user's own code raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"cannot build {model}, which is called without arguments: {reason}") from None
    finally:
        sys.path.remove("")
    if not isinstance(net, torch.nn.Module):
        raise UsageError(f"{model} returns a {type(net).__name__}, not a torch.nn.Module")
    return net
