"""The cost of a forward pass: floating-point operations of each linear and convolution layer, dense and pruned."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from prunefield.modules.borrowing import borrow_network
from prunefield.modules.calls import Data, call_network, find_logits, fit_batch, read_batches, take_batches
from prunefield.modules.naming import LAYERS, walk_modules


def count_flops(net: nn.Module, data: Data, mask: Mapping[str, Tensor] | None = None) -> dict[str, int]:
    """2·(kept weights)·(output positions) of each layer's weight for the first batch, by hooks on one forward pass.

    Data are what `prune` takes, often just inputs. Layers that the mask does not name are dense. Biases, normalisations
    and activations are not counted. Hardware need not run faster by the same factor.

    >>> count_flops(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(16, 2)), torch.ones(1, 1, 4, 4))
    {'0.weight': 288, '2.weight': 64}
    """
    found: dict[str, int] = {}

    def follow(name: str, layer: nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d) -> "torch.utils.hooks.RemovableHandle":
        def add(_: nn.Module, __: object, output: object) -> None:
            weight = layer.weight
            kept = weight.numel() if mask is None or name not in mask else int(torch.count_nonzero(mask[name]))
            found[name] = found.get(name, 0) + 2 * kept * (find_logits(output).numel() // weight.shape[0])

        return layer.register_forward_hook(add)

    layers = {
        layer: name for name, layer in reversed(walk_modules(net)) if isinstance(layer, LAYERS)
    }  # under its first name
    handles = [follow(f"{name}.weight" if name else "weight", layer) for layer, name in layers.items()]
    fed = read_batches(take_batches(data, "shape", generator=torch.Generator()))[0]
    fed = fit_batch(fed, next(net.parameters(), torch.empty(0)))
    try:
        with borrow_network(net, {}, "eval", torch.Generator()) as (call, _), torch.no_grad():
            call_network(call, fed)
    finally:
        for handle in handles:
            handle.remove()
    return found
