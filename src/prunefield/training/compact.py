"""Networks whose masked linear layers hold only their kept weights, so that training costs what is kept."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from prunefield.core.errors import PruneWarning, UsageError
from prunefield.masks.mask import Mask
from prunefield.modules.naming import check_network, walk_modules
from prunefield.training.compact_layer import NUMBERS, CompactLinear

BREAK_EVEN = 0.5  # density of a layer below which its kept weights cost less than the dense products
SMALL = 2**18  # weights of a layer whose dense products are too cheap to be worth it


def compact(
    net: nn.Module, mask: Mapping[str, Tensor], *, density: float = BREAK_EVEN, smallest: int = SMALL
) -> nn.Module:
    """A copy of a network in which masked `nn.Linear` layers are `CompactLinear`; `expand` gives the dense one back.

    Layers of more than `smallest` weights are replaced if the mask keeps at most this `density` of them. The others
    stay dense and masked: convolutions, for which there is a warning, layers that share a weight or bias, and those
    that somebody else uses (`find_layers`). `mask.hold_` holds their zeros, and works with the copy as with the
    network. Make the optimizer from the copy's parameters: its buffers then shrink, too.

    >>> net = nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 2))
    >>> small = compact(net, Mask({"0.weight": torch.rand(50, 100) < 0.1}), smallest=0)
    >>> print(small[0])  # doctest: +ELLIPSIS
    CompactLinear(in_features=100, out_features=50, density=0...)
    >>> expand(small)[0]
    Linear(in_features=100, out_features=50, bias=True)
    """
    check_network(net)
    if not (0 <= density <= 1 and smallest >= 0):
        raise UsageError(f"density must be from 0 to 1 and smallest at least 0, not {density!r} and {smallest!r}")
    kept, small = Mask(mask), _copy_net(net)
    kept.apply_(small)
    folded = [name for name, part in kept.items() if part.ndim > 2 and not part.all()]
    if folded:
        some = ", ".join(folded[:3]) + (f" and {len(folded) - 3} more" if len(folded) > 3 else "")
        warnings.warn(
            f"convolutions stay dense ({some}): mask.hold_(net, optimizer) holds their zeros",
            PruneWarning,
            stacklevel=2,
        )
    layers = find_layers(small, kept, density, smallest)
    return replace_layers(small, {id(layer): CompactLinear.of(layer, part) for layer, part in layers})


def expand(net: nn.Module) -> nn.Module:
    """A copy of a network in which every `CompactLinear` is an `nn.Linear` again, with zeros where it was pruned."""
    check_network(net)
    dense = _copy_net(net)
    layers = [module for _, module in walk_modules(dense) if isinstance(module, CompactLinear)]
    return replace_layers(dense, {id(layer): _make_dense(layer) for layer in layers})


@contextmanager
def hold_compact(net: nn.Module, mask: Mask, density: float, smallest: int | None = None) -> Iterator[None]:
    """Within the context, the layers of `net` that `compact` would replace are compact; then the net's own are back.

    The net's state dict is that of the dense net all the time.
    """
    layers = find_layers(net, mask, density, SMALL if smallest is None else smallest)
    small = {id(layer): (layer, CompactLinear.of(layer, part)) for layer, part in layers}
    replace_layers(net, {key: layer for key, (_, layer) in small.items()})
    try:
        yield
    finally:
        for layer, own in small.values():
            with torch.no_grad():
                layer.weight.copy_(own.to_dense())
                if layer.bias is not None and own.bias is not None:
                    layer.bias.copy_(own.bias)
            layer.train(own.training)
        replace_layers(net, {id(own): layer for layer, own in small.values()})


def is_worth_it(weights: int, density: float, most: float, smallest: int | None = None) -> bool:
    """Whether a layer of this size should hold only its kept weights, if `most` is the highest density for it."""
    return weights > (SMALL if smallest is None else smallest) and density <= most


def find_layers(net: nn.Module, mask: Mask, density: float, smallest: int) -> list[tuple[nn.Linear, Tensor]]:
    """The layers that are to be compact, with their masks.

    Not those that share a parameter, nor those that a module also holds in a list or dict of its own, where they cannot
    be replaced, nor those of an encoder layer that gives their weights to a kernel of torch in `eval` mode.
    """
    shares, found = mask.per_layer(), {}
    names: dict[int, set[int]] = {}
    used: set[int] = set()
    for path, module in walk_modules(net):
        used.update(_list_used(module))
        for parameter in module._parameters.values():
            names.setdefault(id(parameter), set()).add(id(module))
        name = f"{path}.weight" if path else "weight"
        if name not in shares or type(module) is not nn.Linear or not is_plain(module):
            continue
        if is_worth_it(mask[name].numel(), shares[name], density, smallest):
            found[id(module)] = (module, mask[name])
    return [
        (layer, part)
        for layer, part in found.values()
        if id(layer) not in used and all(len(names[id(own)]) == 1 for own in layer.parameters())
    ]


def _list_used(module: nn.Module) -> Iterator[int]:
    """The identities of modules that this one holds elsewhere than among its children, or whose weights it reads."""
    if isinstance(module, nn.TransformerEncoderLayer) and module.self_attn.batch_first:
        yield from map(id, module.children())
    todo, seen = [value for key, value in vars(module).items() if key != "_modules"], set[int]()
    while todo:
        value: Any = todo.pop()
        value = value.__self__ if isinstance(value, MethodType) else value
        if isinstance(value, nn.Module):
            yield id(value)
        elif isinstance(value, dict | list | tuple | set) and id(value) not in seen:
            seen.add(id(value))
            todo += value.values() if isinstance(value, dict) else value


def _copy_net(net: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(net)
    except RuntimeError as error:  # of torch.nn.utils.prune, weight_norm and the like
        reason = str(error).partition(". ")[0]
        raise UsageError(
            f"the network cannot be copied; undo prune or weight_norm, if it has them ({reason})"
        ) from None


def is_plain(layer: nn.Linear) -> bool:
    """Whether a layer computes x·Wᵀ + b on the CPU and nothing else: no hooks, no computed weights."""
    hooks = (layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks, layer._backward_pre_hooks)
    weight = layer._parameters.get("weight")
    return weight is not None and weight.dtype in NUMBERS and weight.device.type == "cpu" and not any(hooks)


def replace_layers(net: nn.Module, others: Mapping[int, nn.Module]) -> nn.Module:
    """Puts other modules in the places of those with these identities; the net, or what replaces all of it."""
    for module in list(net.modules()):
        for key, child in module._modules.items():
            if id(child) in others:
                module._modules[key] = others[id(child)]
    return others.get(id(net), net)


def _make_dense(layer: CompactLinear) -> nn.Module:
    dense = nn.utils.skip_init(nn.Linear, layer.in_features, layer.out_features, layer.bias is not None)
    dense.to(layer.weight.dtype).load_state_dict(layer.state_dict())
    for name, parameter in dense.named_parameters():
        parameter.requires_grad_(layer.get_parameter(name).requires_grad)
    return dense.train(layer.training)
