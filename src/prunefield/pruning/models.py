"""Models by name: a network of the family, one that a user's factory makes, or the weights in a file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.core.errors import UsageError, show_line, unknown
from prunefield.core.names import list_presets, modules

if TYPE_CHECKING:
    from torch import nn

    from prunefield.networks import Network


def name_networks() -> list[str]:
    """The names of the built-in networks, without importing any."""
    return [*list_presets("networks"), *modules("networks")]


def is_built_in(model: str) -> bool:
    """Whether a name is that of a built-in network, with or without a width, as in resnet20:32."""
    name, colon, width = model.partition(":")
    return name in list_presets("networks") or (name in modules("networks") and (not colon or width.isdecimal()))


def is_saved(model: str) -> bool:
    """Whether a name is that of a file of weights."""
    return not is_built_in(model) and Path(model).is_file()


def check_name(model: str) -> None:
    """Refuses what is neither module:factory nor a built-in network nor a file."""
    if not is_built_in(model) and not model.partition(":")[2] and not is_saved(model):
        raise unknown("network", model, [*name_networks(), "module:factory", "a file of weights"])


def parse_network(model: str) -> "Network":
    """The settings of a built-in network: its name, and after a colon another width than usual."""
    from prunefield.networks import Network

    name, colon, width = model.partition(":")
    if not colon:
        return Network.parse(name)
    if not (width.isdecimal() and int(width)):
        raise UsageError(f"the width must be a positive whole number, as in {name}:16 (got {model})")
    return Network.parse({"kind": name, "width": int(width)})


def usual_shape(model: str) -> tuple[int, ...]:
    """The usual shape of one input of a built-in network; empty for any other name."""
    return parse_network(model).shape if is_built_in(model) else ()


def load_model(
    model: str, shape: tuple[int, ...], classes: int, *, weights: Path | None = None, seed: int = 0
) -> "nn.Module":
    """The network of this name, with the weights of a file or with the initial weights of a seed.

    `shape` and `classes` are for a built-in network; the others have their own.
    """
    from prunefield.core.seeds import generator
    from prunefield.measures.checkpoints import read_state

    if is_saved(model):
        if weights:
            raise UsageError(f"{model} already contains weights; use --weights with a network that has code")
        return assemble_saved(Path(model))
    if is_built_in(model):
        if classes < 1:
            raise UsageError(f"the number of classes must be at least 1 (got --classes {classes})")
        net = parse_network(model).build(shape, classes, generator=generator(seed, "init"))
    else:
        net = call_factory(model, seed)
    if weights:
        try:
            net.load_state_dict(read_state(weights))
        except RuntimeError as error:
            raise UsageError(f"the weights {weights} do not fit {model}: {show_line(str(error), 400)}") from None
    return net


def assemble_saved(path: Path) -> "nn.Module":
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


def call_factory(model: str, seed: int) -> "nn.Module":
    """The network that module:factory returns, with initial weights determined by the seed."""
    from importlib import import_module

    import torch

    from prunefield.core.seeds import derive_seed

    module, _, factory = model.partition(":")
    sys.path.insert(0, "")
    try:
        with torch.random.fork_rng(devices=[]):  # factories draw initial weights from the global stream
            torch.manual_seed(derive_seed(seed, "net"))
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
