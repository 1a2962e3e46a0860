"""SynFlow: how much of a positive flow goes through a weight."""

from typing import ClassVar, Literal, Unpack

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.core.errors import UsageError
from prunefield.modules.borrowing import Mode, borrow_network
from prunefield.modules.calls import (
    Data,
    Fed,
    Forward,
    Hooks,
    Needs,
    call_network,
    change_batch,
    find_logits,
    fit_batch,
    read_batches,
    take_batches,
)
from prunefield.modules.flow import PositiveFlow, find_signed, name_fault
from prunefield.scores import Score
from prunefield.scores._gradients import are_finite, check_finite, differentiate_leaves


class Synflow(Score):
    """|w|·∂R/∂|w| with R = 1ᵀf(1; |θ|): SynFlow, bar2023, Eq. 3; with the inputs of the batches, Eq. 4.

    θ is every tensor of the network, including biases and buffers. From the batches it takes the shape of an input or,
    with `inputs="batch"`, the absolute values |x| of the inputs: ones, χ or ‖X_(i)‖. Tokens and other integers are
    those of the first example. Normalisations pass the flow on (`modules.flow`). In a net of ReLU layers without
    biases the scores of each layer have the same sum R. One call is one iteration; `prune` makes 100.

    >>> net = nn.Linear(2, 1)
    >>> scores = Synflow(shape=(2,))(net, generator=torch.Generator())
    >>> torch.equal(scores["weight"], net.weight.detach().abs())
    True
    """

    iterations: ClassVar[int] = 100
    mode: Mode = Field(default="eval", description="batch norms with running statistics (eval) or as identity (train)")
    inputs: Literal["ones", "batch"] = Field(
        default="ones", description="score with one input of ones, or with the batches given"
    )
    shape: tuple[int, ...] = Field(default=(), description="shape of one input; by default that of the first batch")
    double: bool = Field(
        default=False, description="always use double precision; otherwise only where float32 overflows"
    )

    @property
    def needs(self) -> Needs:
        if self.inputs == "batch":
            return "batch"
        return "nothing" if self.shape else "shape"

    def __call__(
        self, net: nn.Module, batches: Data = (), *, generator: torch.Generator, **hooks: Unpack[Hooks]
    ) -> dict[str, Tensor]:
        inputs = self._inputs(take_batches(batches, self.needs, generator=generator))
        scores = self._rate(net, inputs, generator, hooks.get("forward"), double=self.double)
        if not (self.double or are_finite(scores)):  # the flow grows with every layer without normalisation
            scores = self._rate(net, inputs, generator, hooks.get("forward"), double=True)
        check_finite(scores, "the flow overflows even in double precision: look for infinite weights")
        return scores

    def _rate(
        self, net: nn.Module, inputs: list[Fed], generator: torch.Generator, forward: Forward | None, *, double: bool
    ) -> dict[str, Tensor]:
        weights = self.weights(net)
        inputs = [fit_batch(fed, next(iter(weights.values()))) for fed in inputs]
        if double:
            inputs = [change_batch(fed, lambda x: x.double() if x.is_floating_point() else x) for fed in inputs]
        with (
            borrow_network(net, weights, self.mode, generator, positive=True, double=double) as (twin, leaves),
            PositiveFlow(twin),
        ):
            runs = [lambda fed=fed: find_logits(call_network(twin, fed, forward)).sum() for fed in inputs]
            total: list[Tensor] = []
            for run in runs:
                found = differentiate_leaves(run(), leaves)
                total = [a.add_(b) for a, b in zip(total, found, strict=True)] if total else found
            slopes = dict(zip(leaves, total, strict=True))
            if (signed := find_signed(slopes)) is not None and are_finite(slopes):
                raise _refuse_signed(signed, *name_fault(twin, lambda: torch.stack([run() for run in runs]).sum()))
        return {name: slope.mul_(leaves[name].detach()).abs_() for name, slope in slopes.items()}

    def _inputs(self, batches: list) -> list[Fed]:
        if self.inputs == "batch" and batches:
            return [change_batch(fed, _take_sizes) for fed in read_batches(batches)]
        if self.inputs == "batch" or not (self.shape or batches):
            raise UsageError(
                "synflow needs the shape of an input: give it a batch, or set shape, as in shape=[3, 32, 32]"
            )
        if self.shape:
            return read_batches([torch.ones(1, *self.shape)])
        return [change_batch(read_batches(batches[:1])[0], _fill_ones)]


def _take_sizes(item: Tensor) -> Tensor:
    return item.abs() if item.is_floating_point() else item


def _fill_ones(item: Tensor) -> Tensor:
    """One example of ones; for integers, the first example."""
    if not item.ndim:
        return item
    return torch.ones_like(item[:1]) if item.is_floating_point() else item[:1]


def _refuse_signed(signed: str, name: str, module: nn.Module) -> UsageError:
    kind = type(module).__name__
    fault = f"{name!r} ({kind})" if name else f"the forward of {kind}"
    way = "set mode='train', which takes batch norms as the identity," if "BatchNorm" in kind else "replace it"
    return UsageError(f"the flow through {signed!r} has both signs, because of {fault}: {way} or take another score")
