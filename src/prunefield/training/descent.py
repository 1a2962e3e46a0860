"""One step of gradient descent of an `FcnModule` by hand: autograd's numbers up to rounding, without its copies."""

import math
from typing import TypeGuard

import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.networks.fcn import FcnModule, Norm


def is_plain_fcn(net: nn.Module) -> TypeGuard[FcnModule]:
    """Whether `take_step_` does what autograd would: an `FcnModule` without hooks, other layers, frozen parameters."""
    parts = [part for part in net.modules() if not isinstance(part, nn.ModuleList)]
    return (
        {type(part) for part in parts} <= {FcnModule, Norm, nn.Linear}
        and type(net) is FcnModule
        and not any(part._forward_hooks or part._forward_pre_hooks or part._backward_hooks for part in parts)
        and all(parameter.requires_grad for parameter in net.parameters())
    )


@torch.no_grad()
def take_step_(net: FcnModule, x: Tensor, y: Tensor, rate: float) -> float:
    """Takes θ ← θ − rate·∇L in training mode and returns the cross-entropy L of (n, inputs) and labels (n,).

    A gradient of weights is never stored: W ← W − rate·gᵀh is one product, added in place. If L is not finite, no
    parameter changes.

    >>> from prunefield.networks.fcn import Fcn
    >>> net = Fcn(hidden=()).build((1,), 2, generator=torch.Generator().manual_seed(0))
    >>> x, y = torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1])
    >>> take_step_(net, x, y, 1.0) > take_step_(net, x, y, 1.0)
    True
    """
    blocks, inputs, fed = net.blocks(), [], []
    units: list[tuple[Tensor, Tensor]] = []
    h = x
    for index, (norm, layer) in enumerate(blocks):
        inputs.append(torch.relu(h) if index else h)
        h = inputs[-1]
        if norm is not None:
            unit, h = _normalise(norm, h)
            units.append(unit)
        fed.append(h)
        h = functional.linear(h, layer.weight, layer.bias)
    logs = h.log_softmax(1)
    loss = functional.nll_loss(logs, y).item()
    if not math.isfinite(loss):
        return loss
    back = logs.exp_()
    back[torch.arange(len(y), device=y.device), y] -= 1
    back /= len(y)
    for index, (norm, layer) in reversed(list(enumerate(blocks))):
        below = back @ layer.weight if index or norm is not None else back
        layer.weight.addmm_(back.T, fed[index], alpha=-rate)
        layer.bias.sub_(back.sum(0), alpha=rate)
        if norm is not None:
            _normalise_back_(norm, below, *units.pop(), rate)
        if index:
            back = below.mul_(inputs[index] > 0)
    return loss


def _normalise(norm: Norm, x: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """u = (x − μ)/√(v + ε) with 1/√(v + ε), and the output γu + β; the running averages follow."""
    mean = x.mean(0)
    unit = x - mean
    variance = unit.square().mean(0)
    norm.follow_(mean, variance)
    slope = (variance + norm.eps).rsqrt_()
    unit *= slope
    return (unit, slope), torch.addcmul(norm.bias, unit, norm.weight)


def _normalise_back_(norm: Norm, back: Tensor, unit: Tensor, slope: Tensor, rate: float) -> None:
    """Turns the gradient g of the output into γ/√(v + ε)·(g − mean g − u·mean(g⊙u)), that of x; steps γ and β."""
    shift, stretch = back.sum(0), (back * unit).sum(0)
    back.sub_(shift, alpha=1 / len(back)).addcmul_(unit, stretch, value=-1 / len(back)).mul_(slope * norm.weight)
    norm.weight.sub_(stretch, alpha=rate)
    norm.bias.sub_(shift, alpha=rate)
