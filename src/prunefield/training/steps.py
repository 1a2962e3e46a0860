"""Plain stochastic gradient descent of a classifier whose pruned weights stay exactly zero, as redman2025 trains.

There are two training loops. This one takes a number of steps on batches that are drawn as it goes, with a constant
rate and nothing to remember but the weights, so that a step of a fully connected net can be written by hand. The other
one, `Recipe.train`, goes through a fixed set of examples in epochs, as bar2023 does, with torch's optimizers, their
buffers, a schedule and augmentation. They share what they do with a mask (`Mask`) and with a loss (`check_loss`).
"""

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.core.errors import RunError
from prunefield.masks.mask import Mask
from prunefield.modules.holding import set_zeros
from prunefield.tasks import Batch
from prunefield.training.descent import is_plain_fcn, take_step_


def train(
    net: nn.Module,
    draw: Callable[[], Batch],
    *,
    steps: int,
    rate: float,
    mask: Mapping[str, Tensor] | None = None,
    start: int = 0,
    every: int = 20,
) -> Iterator[int]:
    """Takes the steps start + 1, …, `steps` of θ ← m⊙(θ − rate·∇L) with cross-entropy L on batches from `draw`.

    The mask m is applied before the first step, too. Yields the number of steps taken, after every `every` steps and at
    the end; at that point the net and the stream behind `draw` hold the complete state. An `FcnModule` is
    differentiated by hand (`descent.take_step_`), any other module by autograd.

    >>> net, x = nn.Linear(1, 2), torch.tensor([[-1.0], [1.0]])
    >>> list(train(net, lambda: Batch(x, torch.tensor([0, 1])), steps=50, rate=1.0))
    [20, 40, 50]
    >>> net(x).argmax(1).tolist()
    [0, 1]
    """
    mask = Mask(mask or {})
    mask.apply_(net)
    weights = dict(net.named_parameters())
    pairs = [(weights[name], kept.to(weights[name].device)) for name, kept in mask.items() if not kept.all()]
    net.train()
    plain = net if is_plain_fcn(net) else None
    for step in range(start + 1, steps + 1):
        x, y = draw()
        check_loss(_take_step_(net, x, y, rate) if plain is None else take_step_(plain, x, y, rate), step, rate)
        set_zeros(pairs)
        if step == steps and not all(parameter.isfinite().all() for parameter in net.parameters()):
            raise RunError(f"a weight is not finite after step {step}; a learning rate below {rate} may help")
        if step % every == 0 or step == steps:
            yield step


def check_loss(loss: float, step: int, rate: float) -> None:
    """Refuses to continue with a loss that is not finite."""
    if not math.isfinite(loss):
        raise RunError(f"the loss is {loss} at step {step}; a learning rate below {rate} may help")


def _take_step_(net: nn.Module, x: Tensor, y: Tensor, rate: float) -> float:
    """`descent.take_step_` of any module."""
    loss = functional.cross_entropy(net(x), y)
    if loss.isfinite():
        parameters = list(net.parameters())
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=rate)
    return loss.item()


@torch.no_grad()
def measure_accuracy(net: nn.Module, batch: Batch, *, chunk: int = 500) -> float:
    """The fraction of a batch that the net, in evaluation mode, classifies correctly.

    >>> measure_accuracy(nn.Identity(), Batch(torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.tensor([1, 0])))
    0.5
    """
    was_training = net.training
    net.eval()
    right = [(net(x).argmax(1) == y).sum() for x, y in zip(batch.x.split(chunk), batch.y.split(chunk), strict=True)]
    net.train(was_training)
    return int(sum(right)) / len(batch.y)
