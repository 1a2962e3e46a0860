"""Layer collapse: layers that a mask has emptied, and whether anything still flows from input to output."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from prunefield.masks import Mask
from prunefield.scores import LAYERS
from prunefield.scores._gradients import borrow

NEUTRAL = {"running_mean": 0, "running_var": 1, "weight": 1, "bias": 0}  # of a normalisation


class Collapse(NamedTuple):
    """`emptied`: names of layers without a weight. `cut`: those that alone cut the network in two.

    An emptied layer that is not cut has a way around it, as a shortcut convolution beside its block. `dead`: nothing
    flows through the masked network at all.
    """

    emptied: tuple[str, ...]
    cut: tuple[str, ...]
    dead: bool


def find_collapse(net: nn.Module, mask: Mask, shape: Sequence[int]) -> Collapse:
    """Looks whether the output depends on a positive input of a shape when all weights are positive and masked.

    Layers become weighted means of their inputs and normalisations nothing, so that no activation saturates.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> mask = Mask({"0.weight": torch.zeros(3, 2) > 0, "2.weight": torch.ones(1, 3) > 0})
    >>> find_collapse(net, mask, (2,))
    Collapse(emptied=('0.weight',), cut=('0.weight',), dead=True)
    """
    emptied = tuple(name for name, number in mask.counts().items() if not number)
    dead = not _flows(net, mask, shape)
    alone = {name: Mask({name: mask[name]}) for name in emptied} if dead else {}
    return Collapse(emptied, tuple(name for name, part in alone.items() if not _flows(net, part, shape)), dead)


def _flows(net: nn.Module, mask: Mask, shape: Sequence[int]) -> bool:
    generator = torch.Generator().manual_seed(0)
    with borrow(net, mask, "eval", generator, positive=True) as (call, leaves):
        with torch.no_grad():  # an absolute value is a copy, so the network does not feel this
            for name, leaf in leaves.items():
                leaf.masked_fill_(~mask[name].to(leaf.device), 0)
            for module in net.modules():
                _calm(module)
        device = next(iter(leaves.values()))
        x = (torch.rand(1, *shape, generator=generator) / 4 + 0.25).to(device).requires_grad_()
        outputs = call(x)
        weights = torch.rand(outputs.shape, generator=generator).to(outputs)  # a plain sum may be constant
        slope = torch.autograd.grad((outputs * weights).sum(), x, allow_unused=True)[0]
        return slope is not None and bool(slope.count_nonzero())


def _calm(module: nn.Module) -> None:
    """Makes a layer a weighted mean and a normalisation nothing, so that nothing saturates or underflows."""
    tensors = {**module._parameters, **module._buffers}
    weight, bias = tensors.get("weight"), tensors.get("bias")
    if isinstance(module, nn.modules.batchnorm._NormBase):
        for name, value in NEUTRAL.items():
            if (tensor := tensors.get(name)) is not None:
                tensor.fill_(value)
    elif isinstance(module, LAYERS):
        if weight is not None:
            sums = weight.flatten(1).sum(1).clamp(min=torch.finfo(weight.dtype).tiny)
            weight.div_(sums.view(-1, *[1] * (weight.ndim - 1)))
        if bias is not None:
            bias.zero_()
