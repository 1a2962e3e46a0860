"""The score `grasp`: how much a weight holds up the flow of the gradient."""

from collections.abc import Iterator, Sequence

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.nn.attention import SDPBackend, sdpa_kernel

from prunefield.scores import Score
from prunefield.scores._gradients import Loss, Mode, borrow, check_finite, differentiate, losses, read_batches
from prunefield.tasks import Batch


class Grasp(Score):
    """w⊙Hg with the gradient g and the Hessian H of the loss of outputs/T: GraSP, bar2023, Table 2. It has signs.

    The largest are kept: to remove w changes ‖g‖² by −2·w⊙Hg to first order. g and H are of the prunable weights, and
    of the sum of the batches' mean losses. The graph of g takes as much memory as the activations, so a batch is cut
    into `parts`, except where its examples depend on each other: in train mode, or by a batch norm without statistics.

    >>> net = nn.Linear(1, 1, bias=False)
    >>> batch = Batch(torch.ones(1, 1), torch.zeros(1, 1))  # L = w², so w·Hg = w·2·2w
    >>> scores = Grasp(loss="squared", temperature=1)(net, [batch], generator=torch.Generator())
    >>> torch.allclose(scores["weight"], 4 * net.weight.detach().square())
    True
    """

    mode: Mode = Field(default="eval", description="batch normalisation as it stands (eval) or by the batch (train)")
    loss: Loss = Field(default="cross-entropy", description="the loss L")
    temperature: float = Field(default=200.0, gt=0, description="T, by which outputs are divided")
    parts: int = Field(default=2, ge=1, description="of a batch in eval mode: more take less memory and longer")

    def __call__(
        self, net: nn.Module, batches: Sequence[Batch] = (), *, generator: torch.Generator
    ) -> dict[str, Tensor]:
        parts = self.parts if self.mode == "eval" and not any(map(_mixes, net.modules())) else 1
        pieces = [piece for batch in read_batches(batches) for piece in _cut(batch, parts)]
        shares, cut = [share for share, _ in pieces], [piece for _, piece in pieces]
        # Attention has second derivatives only in its plain form.
        with sdpa_kernel(SDPBackend.MATH), borrow(net, self.weights(net), self.mode, generator) as (call, leaves):
            fixed: list[Tensor] = []
            if len(cut) > 1:  # otherwise one graph serves both derivatives
                for share, loss in zip(shares, losses(call, cut, self.loss, self.temperature), strict=True):
                    (share * loss).backward(inputs=list(leaves.values()))
                fixed = _take(leaves)
            for share, loss in zip(shares, losses(call, cut, self.loss, self.temperature), strict=True):
                slopes = differentiate(share * loss, leaves, graph=True)
                alive = [index for index, slope in enumerate(slopes) if slope.requires_grad]
                vectors = [(fixed or slopes)[index].detach() for index in alive]
                edges = [get_gradient_edge(slopes[index]) for index in alive]
                del loss, slopes  # of the gradient only its graph is needed
                torch.autograd.backward(edges, vectors, inputs=list(leaves.values()))
            curved = _take(leaves)
        pairs = zip(leaves.items(), curved, strict=True)
        scores = {name: part.mul_(leaf.detach()) for (name, leaf), part in pairs}
        check_finite(scores, "look for an overflow in the network or its data, or score in float32")
        return scores


def _mixes(module: nn.Module) -> bool:
    """Whether examples of a batch depend on each other in eval mode, too."""
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None


def _cut(batch: Batch, parts: int) -> Iterator[tuple[float, Batch]]:
    """At most so many parts of a batch, each with its share of the examples."""
    for x, y in zip(batch.x.chunk(parts), batch.y.chunk(parts), strict=True):
        yield len(x) / len(batch.x), Batch(x, y)


def _take(leaves: dict[str, Tensor]) -> list[Tensor]:
    """The sums of derivatives that the leaves have gathered, which begin anew."""
    found = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves.values()]
    for leaf in leaves.values():
        leaf.grad = None
    return found
