"""GraSP: how much a weight supports the flow of the gradient."""

from collections.abc import Iterator
from typing import Any, Unpack

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from prunefield.core.errors import UsageError
from prunefield.modules.borrowing import Mode, borrow_network
from prunefield.modules.calls import Data, Fed, Hooks, LossName, fit_batch, read_batches, take_batches
from prunefield.scores import Score
from prunefield.scores._gradients import check_finite, compute_losses, differentiate_leaves
from prunefield.tasks import Batch


class Grasp(Score):
    """w⊙Hg with the gradient g and the Hessian H of the loss of outputs/T: GraSP, bar2023, Table 2. Scores are signed.

    The largest are kept: removing w changes ‖g‖² by −2·w⊙Hg to first order. g and H are taken over the prunable
    weights, for the sum of the batches' mean losses. The graph of g takes as much memory as the activations, so a batch
    is cut into `parts`, unless its loss is not the mean over those of its examples: in train mode, with a batch norm
    without running statistics, with a loss or a forward of the caller, or with labels that are ignored (below 0).

    >>> net = nn.Linear(1, 1, bias=False)
    >>> batch = Batch(torch.ones(1, 1), torch.zeros(1, 1))  # L = w², so w·Hg = w·2·2w
    >>> scores = Grasp(loss="squared", temperature=1)(net, [batch], generator=torch.Generator())
    >>> torch.allclose(scores["weight"], 4 * net.weight.detach().square())
    True
    """

    mode: Mode = Field(
        default="eval",
        description="batch normalisation with running statistics (eval) or with those of the batch (train)",
    )
    loss: LossName = Field(default="cross-entropy", description="the loss L")
    temperature: float = Field(default=200.0, gt=0, description="T, by which the outputs are divided")
    parts: int = Field(
        default=2,
        ge=1,
        description="number of parts into which a batch is split in eval mode: more need less memory and more time",
    )

    def __call__(
        self, net: nn.Module, batches: Data = (), *, generator: torch.Generator, **hooks: Unpack[Hooks]
    ) -> dict[str, Tensor]:
        forward, loss = hooks.get("forward"), hooks.get("loss")
        weights = self.weights(net)
        taken = read_batches(take_batches(batches, self.needs, generator=generator))
        fed = [fit_batch(batch, next(iter(weights.values()))) for batch in taken]
        whole = self.mode == "train" or forward is not None or loss is not None
        whole = whole or any(map(_mixes_examples, net.modules())) or any(map(_ignores_labels, fed))
        pieces = [piece for batch in fed for piece in _cut_batch(batch, 1 if whole else self.parts)]
        shares, cut = [share for share, _ in pieces], [piece for _, piece in pieces]
        how = (loss or self.loss, forward, self.temperature)
        with (
            _Smooth(),
            sdpa_kernel(SDPBackend.MATH),
            borrow_network(net, weights, self.mode, generator) as (twin, leaves),
        ):
            fixed: list[Tensor] = []
            if len(cut) > 1:  # otherwise one graph serves both derivatives
                for share, value in zip(shares, compute_losses(twin, cut, *how), strict=True):
                    (share * value).backward(inputs=list(leaves.values()))
                fixed = _take_gradients(leaves)
            for share, value in zip(shares, compute_losses(twin, cut, *how), strict=True):
                slopes = differentiate_leaves(share * value, leaves, graph=True)
                alive = [index for index, slope in enumerate(slopes) if slope.requires_grad]
                vectors = [(fixed or slopes)[index].detach() for index in alive]
                edges = [get_gradient_edge(slopes[index]) for index in alive]
                del value, slopes  # only the graph of the gradient is needed
                _differentiate_again(edges, vectors, leaves)
            curved = _take_gradients(leaves)
        pairs = zip(leaves.items(), curved, strict=True)
        scores = {name: part.mul_(leaf.detach()) for (name, leaf), part in pairs}
        check_finite(scores, "look for an overflow in the network or its data, or score in float32")
        return scores


class _Smooth(TorchFunctionMode):
    """Replaces functions that torch can differentiate only once by others with the same values."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is functional.hardsigmoid:
            return functional.relu6(args[0] + 3) / 6
        return func(*args, **(kwargs or {}))


def _differentiate_again(edges: list[Any], vectors: list[Tensor], leaves: dict[str, Tensor]) -> None:
    """Adds the derivatives of Σ edge·vector to those accumulated in the leaves."""
    if not edges:
        return  # the loss is linear in every weight
    try:
        torch.autograd.backward(edges, vectors, inputs=list(leaves.values()))
    except RuntimeError as error:
        if "derivative for" not in str(error):
            raise
        what = str(error).partition("derivative for ")[2].partition(" ")[0]
        raise UsageError(f"grasp differentiates twice, which torch cannot do with {what}: use snip") from None


def _mixes_examples(module: nn.Module) -> bool:
    """Whether examples of a batch depend on each other even in eval mode."""
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None


def _ignores_labels(fed: Fed) -> bool:
    """Whether the cross-entropy of a batch is a mean over some of its labels only: −100 stands for none."""
    labels = fed.labels
    return isinstance(labels, Tensor) and not labels.is_floating_point() and bool((labels < 0).any())


def _cut_batch(fed: Fed, parts: int) -> Iterator[tuple[float, Fed]]:
    """At most `parts` parts of a batch, each with its share of the examples; only a pair of tensors can be cut."""
    x, y = fed.inputs, fed.labels
    if parts == 1 or not isinstance(x, Tensor) or not isinstance(y, Tensor) or not y.ndim or len(x) != len(y):
        yield 1.0, fed
        return
    for part, labels in zip(x.chunk(parts), y.chunk(parts), strict=True):
        yield len(part) / len(x), Fed(Batch(part, labels), part, labels)


def _take_gradients(leaves: dict[str, Tensor]) -> list[Tensor]:
    """The derivatives accumulated in the leaves, which are then reset."""
    found = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves.values()]
    for leaf in leaves.values():
        leaf.grad = None
    return found
