"""Fully connected networks with ReLU, as redman2025 prunes them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.core.errors import unknown

Init = Literal["glorot-normal", "glorot-uniform"]


class Norm(nn.Module):
    """Batch normalisation γ(x − μ)/√(v + ε) + β of inputs (n, features), with the biased variance v.

    For evaluation μ and v are running averages that begin with the first batch's moments, so that they are usable
    from the first step on (`nn.BatchNorm1d` begins with 0 and 1 and averages the unbiased variance).
    """

    mean: Tensor
    variance: Tensor
    seen: Tensor

    def __init__(self, features: int, *, decay: float = 0.99, eps: float = 1e-10) -> None:
        super().__init__()
        self.decay, self.eps = decay, eps
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("variance", torch.ones(features))
        self.register_buffer("seen", torch.tensor(False))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return functional.batch_norm(x, self.mean, self.variance, self.weight, self.bias, False, eps=self.eps)
        with torch.no_grad():
            variance, mean = torch.var_mean(x, 0, correction=0)
            self.follow_(mean, variance)
        return functional.batch_norm(x, None, None, self.weight, self.bias, True, eps=self.eps)

    def follow_(self, mean: Tensor, variance: Tensor) -> None:
        """Takes a batch's moments into the running averages."""
        share = 1 - self.decay if self.seen else 1.0
        self.mean.lerp_(mean, share)
        self.variance.lerp_(variance, share)
        self.seen.fill_(True)

    def forget_(self) -> None:
        """Resets the running averages."""
        self.seen.fill_(False)


class Fcn(nn.Module):
    """`widths[0]` inputs, ReLU layers of the widths between, and `widths[-1]` outputs: h ← ReLU(W·norm(h) + b).

    With `batch_norm` the input of every linear layer is normalised, the pixels and the last layer's included. Weights
    have the variance 2·`init_scale`²/(fan in + fan out), biases are zero. Shapes: (n, widths[0]) to (n, widths[-1]).

    >>> net = Fcn((12, 8, 3), generator=torch.Generator().manual_seed(0))
    >>> net(torch.zeros(5, 12)).shape, [name for name, _ in net.named_parameters()][:2]
    (torch.Size([5, 3]), ['layers.0.weight', 'layers.0.bias'])
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        generator: torch.Generator,
        batch_norm: bool = False,
        init: Init = "glorot-normal",
        init_scale: float = 1.0,
    ) -> None:
        super().__init__()
        if init not in get_args(Init):
            raise unknown("init", init, get_args(Init))
        pairs = list(pairwise(widths))
        self.norms = nn.ModuleList(Norm(fan_in) for fan_in, _ in pairs) if batch_norm else None
        self.layers = nn.ModuleList(_linear(*pair, init, init_scale, generator) for pair in pairs)

    def forward(self, x: Tensor) -> Tensor:
        for index, (norm, layer) in enumerate(self.blocks()):
            x = torch.relu(x) if index else x
            x = layer(x if norm is None else norm(x))
        return x

    def blocks(self) -> "list[tuple[Norm | None, nn.Linear]]":
        """Every linear layer with the normalisation before it."""
        return list(zip(self.norms or [None] * len(self.layers), self.layers, strict=True))  # type: ignore[arg-type]

    def forget_(self) -> None:
        """Resets the running averages of all normalisations."""
        for norm, _ in self.blocks():
            if norm is not None:
                norm.forget_()


def _linear(fan_in: int, fan_out: int, init: Init, scale: float, generator: torch.Generator) -> nn.Linear:
    layer = nn.Linear(fan_in, fan_out, device="meta").to_empty(
        device="cpu"
    )  # its own init draws from the global stream
    with torch.no_grad():
        deviation = scale * math.sqrt(2 / (fan_in + fan_out))
        if init == "glorot-normal":
            layer.weight.normal_(0, deviation, generator=generator)
        else:
            layer.weight.uniform_(-math.sqrt(3) * deviation, math.sqrt(3) * deviation, generator=generator)
        layer.bias.zero_()
    return layer
