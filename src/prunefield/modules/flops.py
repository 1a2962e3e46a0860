"""The cost of a forward pass: floating-point operations of each linear and convolution layer, dense and pruned."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from prunefield.modules.borrowing import borrow_network
from prunefield.modules.calls import Data, call_network, find_logits, fit_batch, read_batches, take_batches
from prunefield.modules.holders import Holder
from prunefield.modules.naming import LAYERS, walk_modules


def count_flops(net: nn.Module, data: Data, mask: Mapping[str, Tensor] | None = None) -> dict[str, int]:
    """2·(kept weights)·(output positions) of each layer's weight for the first batch, by hooks on one forward pass.

    Data are what `prune` takes, often just inputs. Layers that the mask does not name are dense. Projections of
    `nn.MultiheadAttention` are counted, too; biases, normalisations, activations and their products are not. Hardware
    need not run faster by the same factor.

    >>> count_flops(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(16, 2)), torch.ones(1, 1, 4, 4))
    {'0.weight': 288, '2.weight': 64}
    """
    found: dict[str, int] = {}

    def add(name: str, weight: Tensor, positions: int, rows: slice = slice(None)) -> None:
        kept = weight[rows].numel() if mask is None or name not in mask else int(mask[name][rows].count_nonzero())
        found[name] = found.get(name, 0) + 2 * kept * positions

    def follow(prefix: str, layer: nn.Module) -> RemovableHandle:
        def add_layer(layer: Any, _: object, output: object) -> None:
            weight = layer.keeps()["weight"] if isinstance(layer, Holder) else layer.weight
            add(f"{prefix}weight", weight, find_logits(output).numel() // weight.shape[0])

        def add_attention(layer: Any, given: tuple[Tensor, ...], named: dict[str, Tensor], _: object) -> None:
            inputs = dict(zip(("query", "key", "value"), given, strict=False)) | named
            positions = [inputs[key].numel() // inputs[key].shape[-1] for key in ("query", "key", "value")]
            for place, key in enumerate("qkv"):
                if layer.in_proj_weight is None:
                    add(f"{prefix}{key}_proj_weight", getattr(layer, f"{key}_proj_weight"), positions[place])
                else:
                    rows = slice(place * layer.embed_dim, (place + 1) * layer.embed_dim)
                    add(f"{prefix}in_proj_weight", layer.in_proj_weight, positions[place], rows)
            add(f"{prefix}out_proj.weight", layer.out_proj.weight, positions[0])  # which is used but not called

        if isinstance(layer, nn.MultiheadAttention):
            return layer.register_forward_hook(add_attention, with_kwargs=True)
        return layer.register_forward_hook(add_layer)

    layers = {
        layer: name
        for name, layer in reversed(walk_modules(net))
        if isinstance(layer, (*LAYERS, Holder, nn.MultiheadAttention))
    }  # under its first name
    handles = [follow(f"{name}." if name else "", layer) for layer, name in layers.items()]
    fed = read_batches(take_batches(data, "shape", generator=torch.Generator()))[0]
    fed = fit_batch(fed, next(net.parameters(), torch.empty(0)))
    try:
        with borrow_network(net, {}, "eval", torch.Generator()) as (call, _), torch.no_grad():
            call_network(call, fed)
    finally:
        for handle in handles:
            handle.remove()
    return found
