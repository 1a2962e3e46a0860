"""Training: plain stochastic gradient descent of a classifier whose pruned weights stay exactly zero."""

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.core.errors import RunError
from prunefield.masks.mask import Mask
from prunefield.tasks import Batch
from prunefield.training.descent import descend_, fits


def train(
    net: nn.Module,
    draw: Callable[[], Batch],
    *,
    steps: int,
    rate: float,
    masks: Mapping[str, Tensor] | None = None,
    start: int = 0,
    every: int = 20,
) -> Iterator[int]:
    """Takes the steps start + 1, …, `steps` of θ ← θ − rate·m⊙∇L with cross-entropy L on batches from `draw`.

    `masks` maps names of parameters to booleans of their shape. The mask acts twice: θ ← m⊙θ before the first step, and
    on the gradient in the update, so that a pruned weight is always exactly zero. Yields the number of steps taken,
    after every `every` steps and at the end; at that point the net and the stream behind `draw` hold the complete
    state. An `FcnModule` is differentiated by hand (`descent.descend_`), any other module by autograd.

    >>> net, x = nn.Linear(1, 2), torch.tensor([[-1.0], [1.0]])
    >>> list(train(net, lambda: Batch(x, torch.tensor([0, 1])), steps=50, rate=1.0))
    [20, 40, 50]
    >>> net(x).argmax(1).tolist()
    [0, 1]
    """
    Mask(masks or {}).apply_(net)
    parameters = dict(net.named_parameters())
    factors = {name: mask.to(parameters[name]) for name, mask in (masks or {}).items() if not mask.all()}
    net.train()
    plain = net if fits(net) else None
    for step in range(start + 1, steps + 1):
        x, y = draw()
        loss = _descend_(net, x, y, rate, factors) if plain is None else descend_(plain, x, y, rate, factors)
        if not math.isfinite(loss):
            raise RunError(f"the loss is {loss} at step {step}; a learning rate below {rate} may help")
        if step == steps and not all(parameter.isfinite().all() for parameter in parameters.values()):
            raise RunError(f"a weight is not finite after step {step}; a learning rate below {rate} may help")
        if step % every == 0 or step == steps:
            yield step


def _descend_(net: nn.Module, x: Tensor, y: Tensor, rate: float, factors: Mapping[str, Tensor]) -> float:
    """`descent.descend_` of any module."""
    loss = functional.cross_entropy(net(x), y)
    if loss.isfinite():
        parameters = dict(net.named_parameters())
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        with torch.no_grad():
            for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
                if name in factors:
                    parameter.addcmul_(gradient, factors[name], value=-rate)
                else:
                    parameter.sub_(gradient, alpha=rate)
    return loss.item()


@torch.no_grad()
def accuracy(net: nn.Module, batch: Batch, *, chunk: int = 500) -> float:
    """The fraction of a batch that the net, in evaluation mode, classifies correctly.

    >>> accuracy(nn.Identity(), Batch(torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.tensor([1, 0])))
    0.5
    """
    was_training = net.training
    net.eval()
    right = [(net(x).argmax(1) == y).sum() for x, y in zip(batch.x.split(chunk), batch.y.split(chunk), strict=True)]
    net.train(was_training)
    return int(sum(right)) / len(batch.y)
