"""Other people's modules: their wrappers, names, layers and normalisations."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim.swa_utils import AveragedModel

from prunefield.core.errors import UsageError

LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
PARALLEL = (nn.DataParallel, nn.parallel.DistributedDataParallel, AveragedModel)  # they hold a network as `module`
WRAPS = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}  # torch.compile, FSDP, checkpointing
# LayerNorm2d, LlamaRMSNorm, GRN, Normalize; not NormalNoise.
_NORM = re.compile(r"norm(?!al(?!i))|^GRN$", re.IGNORECASE)


def find_wrapped(module: nn.Module) -> str | None:
    """The key under which a wrapper holds the network; None for any other module."""
    if not module._modules:  # most are leaves, and iterated scores call this often
        return None
    if isinstance(module, PARALLEL):
        return "module"
    return next(iter(WRAPS.intersection(module._modules.keys())), None)  # in TorchScript, keys are a list


def unwrap_module(module: nn.Module) -> nn.Module:
    """The network inside any number of wrappers.

    >>> unwrap_module(nn.DataParallel(nn.DataParallel(nn.Linear(2, 1))))
    Linear(in_features=2, out_features=1, bias=True)
    """
    while (key := find_wrapped(module)) is not None:
        inner = module._modules[key]
        assert inner is not None
        module = inner
    return module


def walk_modules(net: nn.Module, path: str = "") -> list[tuple[str, nn.Module]]:
    """All modules with their names, ignoring wrappers; a module with two names is listed twice.

    >>> net = nn.Sequential(nn.DataParallel(nn.Linear(2, 1)), nn.ReLU())
    >>> [name for name, _ in walk_modules(nn.DataParallel(net))]
    ['', '0', '1']
    """
    net = unwrap_module(net)
    found = [(path, net)]
    for key, child in net._modules.items():
        if child is not None:
            found += walk_modules(child, f"{path}.{key}" if path else key)
    return found


def check_network(net: object) -> None:
    """Refuses what is not a module: a state dict, an optimizer, a name."""
    if not isinstance(net, nn.Module):
        raise UsageError(f"a network must be a torch.nn.Module, not {type(net).__name__}")


def name_parameters(net: nn.Module) -> dict[str, Tensor]:
    """Every parameter under each of its names, as in `walk_modules`."""
    check_network(net)
    found: dict[str, Tensor] = {
        f"{path}.{key}" if path else key: parameter
        for path, module in walk_modules(net)
        for key, parameter in module._parameters.items()
        if parameter is not None
    }
    if empty := next((name for name, parameter in found.items() if is_lazy(parameter)), None):
        raise UsageError(f"the parameter {empty!r} has no shape yet: call the network once")
    return found


def layer_weights(net: nn.Module) -> dict[str, Tensor]:
    """The weights of all linear and convolution layers, whatever their state."""
    return {
        f"{path}.weight" if path else "weight": _evaluate_weight(module)
        for path, module in walk_modules(net)
        if isinstance(module, LAYERS)
    }


@torch.no_grad()
def _evaluate_weight(layer: nn.Module) -> Tensor:
    """A layer's weight; if it is computed (`torch.nn.utils.parametrize`), in eval mode, which changes no state."""
    modes = {module: module.training for module in layer.modules()}
    try:
        for module in modes:
            module.training = False
        return layer.get_parameter("weight") if "weight" in layer._parameters else layer.weight  # type: ignore[return-value]
    finally:
        for module, mode in modes.items():
            module.training = mode


def is_own_norm(module: nn.Module) -> bool:
    """Whether a module is a hand-written normalisation: a leaf whose class has such a name.

    Normalisations of torch, and subclasses of them, call torch's functions and are recognised there.

    >>> class LayerNorm2d(nn.Module): ...
    >>> is_own_norm(LayerNorm2d()), is_own_norm(nn.LayerNorm(2))
    (True, False)
    """
    return not module._modules and _is_norm(type(module))


@lru_cache(1024)
def _is_norm(kind: type[nn.Module]) -> bool:
    if issubclass(kind, LAYERS) or kind.__module__.startswith("torch.nn."):
        return False
    return bool(_NORM.search(kind.__name__))


def is_rotary(module: nn.Module) -> bool:
    """Whether a module gives the cosines and sines of rotary embeddings, by the name of its class in transformers."""
    return "RotaryEmbedding" in type(module).__name__


def has_statistics(module: nn.Module) -> bool:
    """Whether a normalisation holds means and variances of past batches."""
    return module._buffers.get("running_var") is not None


def is_named(name: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches the name, or that of a module that contains it."""
    return any(fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*") for pattern in patterns)
