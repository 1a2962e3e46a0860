"""Networks by name, for the verbs: the built-in ones, and what a factory of the user's makes."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.errors import UsageError, unknown

if TYPE_CHECKING:
    from torch import nn

# Of one input; `nets.architecture.NAMED` has the networks, and is not imported here, because it imports torch.
BUILT_IN = {"lenet-300-100": (1, 28, 28), "vgg19": (3, 32, 32), "resnet20": (3, 32, 32), "resnet18": (3, 64, 64)}


def check_name(model: str) -> None:
    """Refuses what is neither module:factory nor built in."""
    if Path(model).is_file():
        raise UsageError(f"a network is module:factory or a built-in name, got the file {model}; it goes to --weights")
    name, _, factory = model.partition(":")
    if name not in BUILT_IN and not factory:
        raise unknown("network", model, [*BUILT_IN, "module:factory"])


def load(args: Namespace, shape: tuple[int, ...], classes: int) -> "nn.Module":
    """The network that MODEL names, with the weights of --weights."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    name, _, rest = args.model.partition(":")
    if name in BUILT_IN:
        net = build(name, rest, shape, classes if args.classes is None else args.classes, args.seed)
    elif args.classes is not None:
        raise UsageError(f"--classes is for the networks {', '.join(BUILT_IN)}; {args.model} has its own")
    else:
        net = make(args.model, args.seed)
    if args.weights:
        try:
            net.load_state_dict(load_file(args.weights))
        except (OSError, SafetensorError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"the weights {args.weights} do not fit {args.model}: {reason}") from None
    return net


def build(name: str, width: str, shape: tuple[int, ...], classes: int, seed: int) -> "nn.Module":
    """A built-in network with the first weights that the run `pruned` has for a seed."""
    from prunefield.nets.architecture import NAMED
    from prunefield.seeds import generator

    if classes < 1 or (width and not (width.isdecimal() and int(width))):
        got = f"--classes {classes}" if classes < 1 else f"{name}:{width}"
        raise UsageError(f"width and classes are whole numbers from 1 on, as in {name}:16, got {got}")
    net = NAMED[name].model_copy(update={"width": int(width)} if width else {})
    return net.build(shape, classes, generator=generator(seed, "init"))


def make(model: str, seed: int) -> "nn.Module":
    """What module:factory gives, with first weights that the seed decides."""
    from importlib import import_module

    import torch

    from prunefield.seeds import derive

    module, _, factory = model.partition(":")
    sys.path.insert(0, "")
    try:
        with torch.random.fork_rng(devices=[]):  # factories draw first weights from the global stream
            torch.manual_seed(derive(seed, "net"))
            found = getattr(import_module(module), factory)
            net = found if isinstance(found, torch.nn.Module) or not callable(found) else found()
    except Exception as error:  # whatever the user's own code raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"cannot make {model}, which is called without arguments: {reason}") from None
    finally:
        sys.path.remove("")
    if not isinstance(net, torch.nn.Module):
        raise UsageError(f"{model} gives a {type(net).__name__}, not a torch.nn.Module")
    return net
