"""Gradients of a network's weights that leave the network as it was, and what scores refuse."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from prunefield.errors import UsageError
from prunefield.tasks import Batch

Mode = Literal["eval", "train"]
Loss = Literal["cross-entropy", "l1", "squared"]
Call = Callable[[Tensor], Tensor]


@contextmanager
def borrow(
    net: nn.Module,
    weights: Mapping[str, Tensor],
    mode: Mode,
    generator: torch.Generator,
    *,
    positive: bool = False,
    double: bool = False,
) -> Iterator[tuple[Call, dict[str, Tensor]]]:
    """Lends a network: a function of its input, and the weights that the function depends on as leaves.

    All tensors are substituted, so that nothing reaches the module: parameters are detached, buffers copied. With
    `positive` all are replaced by their absolute values, with `double` by doubles. Module modes and the global random
    stream, from which dropout draws, are put back at the end.
    """
    net = getattr(net, "_orig_mod", net)  # what torch.compile wraps

    def substitute(tensor: Tensor) -> Tensor:
        wide = tensor.double() if double and tensor.is_floating_point() else tensor
        return wide.abs() if positive and tensor.is_floating_point() else wide.detach()

    # By identity, so that what two layers share stays shared; functional_call would look for that on every call.
    twins: dict[int, Tensor] = {}
    state: dict[str, Tensor] = {}
    for name, parameter in net.named_parameters(remove_duplicate=False):
        if id(parameter) not in twins:
            twins[id(parameter)] = substitute(parameter.detach())
        state[name] = twins[id(parameter)]
    for name, buffer in net.named_buffers(remove_duplicate=False):
        if mode == "eval" and not buffer.is_floating_point():
            continue  # counters, which only training moves
        if id(buffer) not in twins:
            twins[id(buffer)] = substitute(buffer.clone())
        state[name] = twins[id(buffer)]
    leaves = {name: state[name].requires_grad_() for name in weights}
    changed = [module for module in net.modules() if module.training != (mode == "train")]
    devices = {tensor.device for tensor in state.values() if tensor.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)), torch.enable_grad():
        if mode == "train":
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator, device=generator.device)))
        try:
            for module in changed:
                module.training = mode == "train"
            yield lambda x: functional_call(net, state, (x,), tie_weights=False), leaves
        finally:
            for module in changed:
                module.training = mode != "train"


def losses(call: Call, batches: Sequence[Batch], loss: Loss, temperature: float = 1.0) -> Iterator[Tensor]:
    """The mean loss of outputs / `temperature` on each batch."""
    if not batches:
        raise UsageError("this score reads data: give it at least one batch, such as inputs.draw_batch makes")
    for x, y in batches:
        outputs = call(x) / temperature
        if loss == "cross-entropy":
            yield functional.cross_entropy(outputs, y)
        else:
            targets = functional.one_hot(y, outputs.shape[1]) if outputs.shape != y.shape else y
            error = outputs - targets.to(outputs.dtype)
            yield (error.abs() if loss == "l1" else error.square()).sum() / len(x)


def differentiate(value: Tensor, leaves: Mapping[str, Tensor], *, graph: bool = False) -> list[Tensor]:
    """∂value/∂leaf for each leaf; zeros for a leaf that the value does not depend on."""
    found = torch.autograd.grad(value, list(leaves.values()), create_graph=graph, allow_unused=True)
    return [torch.zeros_like(leaf) if part is None else part for part, leaf in zip(found, leaves.values(), strict=True)]


def check_finite(scores: Mapping[str, Tensor], advice: str) -> None:
    """Refuses scores that overflowed, with the name of the first layer."""
    for name, score in scores.items():
        # The sum of finite numbers may overflow too, but then the slower look says so.
        if not isfinite(score.sum().item()) and not score.isfinite().all():
            raise UsageError(f"the scores of {name!r} are not all finite; {advice}")
