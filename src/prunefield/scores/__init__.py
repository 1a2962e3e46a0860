"""Scores: how important each weight is. One file is one rule; a larger score is kept."""

from abc import abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from prunefield.errors import UsageError
from prunefield.plugin import Plugin
from prunefield.tasks import Batch

LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: (str(value),) if isinstance(value, str | int) else value)
]


class Score(Plugin):
    """A rule that rates the weights of any `nn.Module` and leaves the module as it was."""

    family: ClassVar[str] = "scores"
    skip: Names = Field(default=(), description="layers or weights that are not pruned, * allowed: 'head', '*.fc'")
    # Not among the settings while it is empty, so that ids stay what they were before it was there.
    also: Names = Field(default=(), exclude_if=lambda names: not names, description="further parameters: '*.bias'")

    @abstractmethod
    def __call__(
        self, net: nn.Module, batches: Sequence[Batch] = (), *, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """One tensor per prunable weight, keyed by its parameter name and of its shape."""

    def weights(self, net: nn.Module) -> dict[str, Tensor]:
        """The weights to rate: `prunable(net)` without those that `skip` names, and with those of `also`."""
        return prunable(net, self.skip, self.also)


def prunable(net: nn.Module, skip: Sequence[str] = (), also: Sequence[str] = ()) -> dict[str, Tensor]:
    """The weights that pruning may remove: those of linear and convolution layers, and the parameters `also` names.

    Biases, transposed convolutions, recurrent layers and the `in_proj_weight` of attention are among these only if
    they are named. Weights that are shared, frozen or computed from others are refused, unless `skip` names them.
    """
    names: dict[int, list[str]] = {}
    found: dict[str, Tensor] = {}
    for path, module in net.named_modules(remove_duplicate=False):  # one walk: iterated scores come here every time
        prefix = f"{plain(path)}." if plain(path) else ""
        for key, parameter in module._parameters.items():
            if parameter is not None:
                names.setdefault(id(parameter), []).append(prefix + key)
                if also and _named(prefix + key, also):
                    found[prefix + key] = parameter
        if isinstance(module, LAYERS):
            found[f"{prefix}weight"] = module.weight
    for pattern in (*skip, *also):
        if not any(_named(name, [pattern]) for some in (found, *names.values()) for name in some):
            raise UsageError(f"the network has no weight {pattern!r}; its weights are {', '.join(found)}")
    found = {name: weight for name, weight in found.items() if not _named(name, skip)}
    for name, weight in found.items():
        advice = f"; leave it out with skip={name!r}"
        if is_lazy(weight):
            raise UsageError(f"the weight {name!r} has no shape yet: call the network once{advice}")
        if id(weight) not in names:
            raise UsageError(f"the weight {name!r} is no parameter: remove its parametrisation{advice}")
        if others := [other for other in names[id(weight)] if other != name]:
            raise UsageError(f"the weight {name!r} is shared with {', '.join(others)}: untie it{advice}")
        if not weight.requires_grad:
            raise UsageError(f"the weight {name!r} is frozen: call requires_grad_() on it{advice}")
    if not found:
        kinds = ", ".join(layer.__name__ for layer in LAYERS)
        raise UsageError(f"the network has no weights to prune; pruned are those of {kinds}")
    return found


def layer_weights(net: nn.Module) -> dict[str, Tensor]:
    """The weights of all linear and convolution layers, whatever their state; a compiled net has its plain names."""
    layers = net.named_modules(remove_duplicate=False)
    return {
        f"{plain(name)}.weight" if plain(name) else "weight": module.weight
        for name, module in layers
        if isinstance(module, LAYERS)
    }


def plain(name: str) -> str:
    """A name inside a network, without the prefix that `torch.compile` gives it.

    >>> plain("_orig_mod.0.weight"), plain("0.weight"), plain("_orig_mod")
    ('0.weight', '0.weight', '')
    """
    return name.removeprefix("_orig_mod").removeprefix(".")


def _named(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns is the name, or that of a module around it."""
    return any(fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*") for pattern in patterns)
