"""Layers that have only their kept weights, so that nobody need hold the others at zero."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from prunefield.core.errors import UsageError
from prunefield.modules.naming import check_network, layer_weights, walk_modules


class Holder(nn.Module):
    """A layer that has only kept weights, so that nobody need hold the others at zero."""

    def keeps(self) -> dict[str, Tensor]:
        """True where a weight is kept, by the name of the parameter, under which the state dict has zeros, too."""
        raise NotImplementedError


def find_kept(net: nn.Module) -> dict[str, Tensor]:
    """True where a weight is kept, for the weights of which a net has only the kept ones."""
    check_network(net)
    return {
        f"{path}.{key}" if path else key: kept
        for path, module in walk_modules(net)
        if isinstance(module, Holder)
        for key, kept in module.keeps().items()
    }


def fill_weights(net: nn.Module) -> dict[str, Tensor]:
    """The weights of `layer_weights` and, with zeros, those of which a net has only the kept ones, in its order."""
    weights, found = layer_weights(net), dict[str, Tensor]()
    for path, module in walk_modules(net):
        prefix = f"{path}." if path else ""
        if isinstance(module, Holder):
            state = module.state_dict()
            found |= {f"{prefix}{key}": state[key] for key in module.keeps()}
        elif f"{prefix}weight" in weights:
            found[f"{prefix}weight"] = weights[f"{prefix}weight"]
    return found


def find_held(net: nn.Module, mask: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    """The shapes of the weights of which a net has only the kept ones; refuses a mask that prunes more of them."""
    held = find_kept(net)
    for name, kept in held.items():
        if name in mask and mask[name].shape == kept.shape and (kept & ~mask[name]).any():
            raise UsageError(
                f"the compact layer of {name} keeps weights that this mask prunes: expand the network first"
            )
    return {name: kept.shape for name, kept in held.items()}
