"""Fully connected networks with ReLU, as redman2025 prunes them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from prunefield.networks import Network

Init = Literal["glorot-normal", "glorot-uniform"]


class Fcn(Network):
    """ReLU layers of the widths `hidden` and a linear one to the classes; the defaults are the net of redman2025.

    With `batch_norm` the input of every linear layer is normalised, the pixels and the last layer's included. Weights
    have the variance 2·`init_scale`²/(fan in + fan out), biases are zero.

    >>> net = Fcn(hidden=(8,), batch_norm=False).build((12,), 3, generator=torch.Generator().manual_seed(0))
    >>> net(torch.zeros(5, 12)).shape, [name for name, _ in net.named_parameters()][:2]
    (torch.Size([5, 3]), ['layers.0.weight', 'layers.0.bias'])
    """

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(1024, 1024), description="widths of the hidden layers"
    )
    batch_norm: bool = Field(default=True, description="normalise the input of every linear layer")
    init: Init = Field(default="glorot-normal", description="distribution of the initial weights; biases start at zero")
    init_scale: float = Field(default=1.0, gt=0, description="factor applied to the initial weights")

    def module(self, shape: tuple[int, ...], classes: int) -> "FcnModule":
        return FcnModule((math.prod(shape), *self.hidden, classes), batch_norm=self.batch_norm)

    def build(self, shape: Sequence[int], classes: int, *, generator: torch.Generator) -> "FcnModule":
        net = super().build(shape, classes, generator=generator)
        assert isinstance(net, FcnModule)
        return net

    def initialise_(self, layer: nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d, generator: torch.Generator) -> None:
        deviation = self.init_scale * math.sqrt(2 / sum(layer.weight.shape))
        if self.init == "glorot-normal":
            layer.weight.normal_(0, deviation, generator=generator)
        else:
            layer.weight.uniform_(-math.sqrt(3) * deviation, math.sqrt(3) * deviation, generator=generator)
        nn.init.zeros_(layer.bias)  # type: ignore[arg-type]


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
        self.weight = nn.Parameter(torch.empty(features))
        self.bias = nn.Parameter(torch.empty(features))
        self.register_buffer("mean", torch.empty(features))
        self.register_buffer("variance", torch.empty(features))
        self.register_buffer("seen", torch.tensor(False))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Resets to the identity: scale 1, shift 0, and running averages that have seen no batch."""
        for tensor, value in ((self.weight, 1), (self.bias, 0), (self.mean, 0), (self.variance, 1), (self.seen, 0)):
            tensor.fill_(value)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return functional.batch_norm(x, self.mean, self.variance, self.weight, self.bias, False, eps=self.eps)
        with torch.no_grad():
            variance, mean = torch.var_mean(x, 0, correction=0)
            self.follow_(mean, variance)
        return functional.batch_norm(x, None, None, self.weight, self.bias, True, eps=self.eps)

    def follow_(self, mean: Tensor, variance: Tensor) -> None:
        """Updates the running averages with the moments of a batch."""
        share = 1 - self.decay if self.seen else 1.0
        self.mean.lerp_(mean, share)
        self.variance.lerp_(variance, share)
        self.seen.fill_(True)

    def forget_(self) -> None:
        """Resets the running averages."""
        self.seen.fill_(False)


class FcnModule(nn.Module):
    """`widths[0]` inputs, ReLU layers of the widths between, and `widths[-1]` outputs: h ← ReLU(W·norm(h) + b).

    Shapes: (n, …) to (n, widths[-1]).
    """

    def __init__(self, widths: Sequence[int], *, batch_norm: bool) -> None:
        super().__init__()
        pairs = list(pairwise(widths))
        self.norms = nn.ModuleList(Norm(fan_in) for fan_in, _ in pairs) if batch_norm else None
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairs)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
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
