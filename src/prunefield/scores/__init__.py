"""Scores: how important each weight is. One file is one rule; a larger score is kept."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar, Unpack

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Plugin
from prunefield.modules.calls import Data, Hooks, Needs
from prunefield.modules.holders import Holder
from prunefield.modules.naming import LAYERS, is_named, walk_modules

Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: (str(value),) if isinstance(value, str | int) else value)
]


class Score(Plugin):
    """A rule that rates the weights of any `nn.Module` and leaves the module as it was.

    `iterations` is the default number of score-and-prune iterations of `prune`.
    """

    family: ClassVar[str] = "scores"
    iterations: ClassVar[int] = 1
    skip: Names = Field(
        default=(), description="layers or weights to leave unpruned (wildcards allowed), as in 'head', '*.fc'"
    )
    # Not among the settings while it is empty, so that ids of runs made before it existed stay the same.
    also: Names = Field(
        default=(), exclude_if=lambda names: not names, description="further parameters to prune, as in '*.bias'"
    )

    @abstractmethod
    def __call__(
        self, net: nn.Module, batches: Data = (), *, generator: torch.Generator, **hooks: Unpack[Hooks]
    ) -> dict[str, Tensor]:
        """One tensor per prunable weight, keyed by its parameter name and of its shape.

        Batches are anything `modules.calls.take_batches` accepts. `forward(net, batch)` replaces `net(inputs)`, and
        `loss(outputs, labels)` replaces the rule's own loss; a rule that does not run the network ignores both.
        """

    @property
    def needs(self) -> Needs:
        """The part of the data that it reads: nothing, the shape of an input, one batch, or all batches."""
        return "batch"

    def weights(self, net: nn.Module) -> dict[str, Tensor]:
        """The weights to rate: `find_prunable(net)` without those that `skip` names, and with those of `also`."""
        found = find_prunable(net, self.skip, self.also)
        for name, weight in found.items():
            if weight.is_meta:
                raise UsageError(f"the weight {name!r} is on the device 'meta', without values: load the network first")
        return found


def find_prunable(net: nn.Module, skip: Sequence[str] = (), also: Sequence[str] = ()) -> dict[str, Tensor]:
    """The weights that pruning may remove: those of linear and convolution layers, and the parameters `also` names.

    Biases, transposed convolutions, recurrent layers and the `in_proj_weight` of attention are included only if they
    are named. Weights that are shared, frozen or computed from others are refused, unless `skip` names them.
    """
    names: dict[int, list[str]] = {}
    found: dict[str, Tensor | None] = {}
    for path, module in walk_modules(net):  # a single walk, because iterated scores call this every time
        prefix = f"{path}." if path else ""
        for key, parameter in module._parameters.items():
            if parameter is not None:
                names.setdefault(id(parameter), []).append(prefix + key)
                if also and is_named(prefix + key, also):
                    found[prefix + key] = parameter
        if isinstance(module, LAYERS):  # a computed weight is not read: reading a spectral norm changes it
            found[f"{prefix}weight"] = module._parameters.get("weight")
        elif isinstance(module, Holder) and (
            held := [key for key in module.keeps() if not is_named(prefix + key, skip)]
        ):
            raise UsageError(f"{prefix + held[0]!r} is the weight of a compact layer: expand the network first")
    for pattern in (*skip, *also):
        if not any(is_named(name, [pattern]) for some in (found, *names.values()) for name in some):
            raise UsageError(f"the network has no weight {pattern!r}; its weights are {', '.join(found)}")
    chosen: dict[str, Tensor] = {}
    for name, weight in found.items():
        if is_named(name, skip):
            continue
        advice = f"; leave it out with skip={name!r}"
        if weight is None:
            raise UsageError(f"the weight {name!r} is not a parameter: remove its parametrisation{advice}")
        if is_lazy(weight):
            raise UsageError(f"the weight {name!r} has no shape yet: call the network once{advice}")
        if others := [other for other in names[id(weight)] if other != name]:
            raise UsageError(f"the weight {name!r} is shared with {', '.join(others)}: untie it{advice}")
        if not weight.requires_grad:
            raise UsageError(f"the weight {name!r} is frozen: call requires_grad_() on it{advice}")
        chosen[name] = weight
    if not chosen:
        kinds = ", ".join(layer.__name__ for layer in LAYERS)
        raise UsageError(f"the network has no weights to prune; only those of {kinds} are pruned")
    return chosen
