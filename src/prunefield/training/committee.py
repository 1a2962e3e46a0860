"""Two-layer networks with one output, many at once, and the gradient of their squared error (lufkin2024, model M1)."""

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Activation = Literal["relu", "sigmoid", "erf"]


class CommitteeNets(NamedTuple):
    """Networks ŷ = (v·σ(Wx + b) + c)/K: W of shape (nets, K, N), b and v (nets, K), c (nets,).

    With v = 1 and c = 0 this is the soft committee machine, whose second layer is 1/K.
    """

    weights: Tensor
    bias: Tensor
    outer: Tensor
    offset: Tensor


def apply_activation(before: Tensor, activation: Activation) -> tuple[Tensor, Tensor]:
    """σ and its derivative σ′, element by element: max(0, a), 1/(1+e⁻ᵃ) or erf(a/√2).

    >>> [part.item() for part in apply_activation(torch.tensor(0.0), "sigmoid")]
    [0.5, 0.25]
    """
    if activation == "relu":
        return before.clamp(min=0), (before > 0).to(before.dtype)
    if activation == "sigmoid":
        after = before.sigmoid()
        return after, after * (1 - after)
    return torch.erf(before / math.sqrt(2)), math.sqrt(2 / math.pi) * torch.exp(-before.square() / 2)


def compute_gradient(net: CommitteeNets, x: Tensor, y: Tensor, activation: Activation) -> tuple[Tensor, CommitteeNets]:
    """The loss mean (ŷ−y)² of each net on the examples x (n, N), y (n,), shape (nets,), and its gradient.

    >>> one = torch.ones(1, 1, 1)
    >>> net = CommitteeNets(one, 0 * one[0], one[0], 0 * one[0, 0])
    >>> loss, slope = compute_gradient(net, torch.tensor([[2.0]]), torch.tensor([1.0]), "relu")  # (w·2 − 1)² at w = 1
    >>> loss.item(), slope.weights.item()
    (1.0, 4.0)
    """
    nets, hidden, _ = net.weights.shape
    before = torch.addmm(net.bias.flatten(), x, net.weights.flatten(0, 1).T).view(len(x), nets, hidden)
    after, slope = apply_activation(before, activation)
    error = ((after * net.outer).sum(-1) + net.offset) / hidden - y[:, None]
    back = error * (2 / (hidden * len(x)))
    inner = back[..., None] * slope * net.outer
    gradient = CommitteeNets(
        (inner.flatten(1).T @ x).view_as(net.weights),
        inner.sum(0),
        (back[..., None] * after).sum(0),
        back.sum(0),
    )
    return error.square().mean(0), gradient
