"""Plain stochastic gradient descent of a classifier whose pruned weights stay exactly zero, as redman2025 trains.

There are two training loops. This one takes a number of steps on batches that are drawn as it goes, with a constant
learning rate and nothing to remember but the weights, so that a step of a fully connected net can be written by hand.
The other one, `Recipe.train`, goes through a fixed set of examples in epochs, as bar2023 does, with torch's optimizers,
their buffers, a schedule and augmentation. They share what they do with a mask (`Mask`) and a loss (`check_loss`).
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
from prunefield.training.compact_descent import CompactDescent, find_compact
from prunefield.training.descent import is_plain_fcn, take_step_


def train(
    net: nn.Module,
    draw: Callable[[], Batch],
    *,
    steps: int,
    lr: float,
    mask: Mapping[str, Tensor] | None = None,
    start: int = 0,
    every: int = 20,
    compact: float = 0.0,
) -> Iterator[int]:
    """Takes the steps start + 1, …, `steps` of θ ← m⊙(θ − lr·∇L) with cross-entropy L on batches from `draw`.

    The mask m is applied before the first step, too. Yields the number of steps taken, after every `every` steps and at
    the end; at that point the net and the stream behind `draw` hold the complete state. An `FcnModule` is
    differentiated by hand (`descent.take_step_`), any other module by autograd. Large layers of an `FcnModule` whose
    density is at most `compact` are trained without their pruned weights, so that a step costs less
    (`compact_descent`).

    >>> net, x = nn.Linear(1, 2), torch.tensor([[-1.0], [1.0]])
    >>> list(train(net, lambda: Batch(x, torch.tensor([0, 1])), steps=50, lr=1.0))
    [20, 40, 50]
    >>> net(x).argmax(1).tolist()
    [0, 1]
    """
    mask = Mask(mask or {})
    mask.apply_(net)
    plain = net if is_plain_fcn(net) else None
    small = CompactDescent(plain, find_compact(plain, mask, compact)) if plain is not None and compact > 0 else None
    held = {f"layers.{index}.weight" for index in small.kept} if small is not None else set()
    weights = dict(net.named_parameters())
    masked = [(name, kept) for name, kept in mask.items() if name not in held and not kept.all()]
    pairs = [(weights[name], kept.to(weights[name].device)) for name, kept in masked]
    net.train()
    for step in range(start + 1, steps + 1):
        x, y = draw()
        if plain is None:
            loss = _take_step_(net, x, y, lr)
        else:
            loss = small.take_step_(x, y, lr) if small is not None and held else take_step_(plain, x, y, lr)
        check_loss(loss, step, lr)
        set_zeros(pairs)
        is_due = step % every == 0 or step == steps
        if is_due and small is not None:
            small.write_back_()
        if step == steps and not all(parameter.isfinite().all() for parameter in net.parameters()):
            raise RunError(f"a weight is not finite after step {step}; a learning rate below {lr} may help")
        if is_due:
            yield step


def check_loss(loss: float, step: int, lr: float) -> None:
    """Refuses to continue with a loss that is not finite."""
    if not math.isfinite(loss):
        raise RunError(f"the loss is {loss} at step {step}; a learning rate below {lr} may help")


def _take_step_(net: nn.Module, x: Tensor, y: Tensor, lr: float) -> float:
    """`descent.take_step_` of any module."""
    loss = functional.cross_entropy(net(x), y)
    if loss.isfinite():
        parameters = list(net.parameters())
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=lr)
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
