"""Gradients of a network's weights that leave the network as it was, and what scores refuse."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Literal

import torch
from torch import Tensor, nn
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

    All tensors are substituted, so that nothing reaches them: parameters are detached, buffers copied. With `positive`
    all are replaced by their absolute values, with `double` by doubles. At the end the module has its own tensors and
    attributes again, its mode among them, and the global random stream, from which dropout draws, is where it was.
    """
    net = getattr(net, "_orig_mod", net)  # what torch.compile wraps

    def substitute(tensor: Tensor, *, copy: bool) -> Tensor:
        if not tensor.is_floating_point():
            return tensor.clone() if copy else tensor
        wide = tensor.detach().double() if double else tensor.detach()
        return wide.abs() if positive else wide.clone() if copy else wide

    # By identity, so that what two layers share stays shared; functional_call does all of this again on every call.
    twins: dict[int, Tensor] = {}
    state: dict[str, Tensor] = {}
    places: list[tuple[dict, str, Tensor]] = []
    attributes: list[tuple[nn.Module, dict]] = []
    for path, module in net.named_modules(remove_duplicate=False):
        attributes.append((module, dict(vars(module))))
        prefix = f"{path}." if path else ""
        for table, copy in ((module._parameters, False), (module._buffers, True)):
            for key, tensor in table.items():
                if tensor is None:
                    continue
                if id(tensor) not in twins:
                    twins[id(tensor)] = substitute(tensor, copy=copy)
                state[prefix + key] = twins[id(tensor)]
                places.append((table, key, tensor))
    leaves = {name: state[name].requires_grad_() for name in weights}
    devices = {tensor.device for tensor in state.values() if tensor.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)), torch.enable_grad():
        if mode == "train":
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator, device=generator.device)))
        try:
            for module, _ in attributes:
                module.training = mode == "train"
            for table, key, tensor in places:
                table[key] = twins[id(tensor)]
            yield net, leaves
        finally:
            for table, key, tensor in places:
                table[key] = tensor
            for module, before in attributes:  # its mode, and what it keeps of a forward pass
                vars(module).clear()
                vars(module).update(before)


def read_batches(batches: Sequence[Batch]) -> list[Batch]:
    """Batches, or pairs of inputs and labels, as batches; refuses to score without data."""
    if isinstance(batches, Batch) or not isinstance(batches, Sequence):
        got = type(batches).__name__
        raise UsageError(f"batches are a list of pairs (inputs, labels), as in [next(iter(loader))], got a {got}")
    if not batches or not all(len(x) for x, _ in batches):
        raise UsageError("this score reads data: give it a batch, none empty, such as inputs.draw_batch makes")
    return [Batch(x, y) for x, y in batches]


def losses(call: Call, batches: Sequence[Batch], loss: Loss, temperature: float = 1.0) -> Iterator[Tensor]:
    """The mean loss of outputs / `temperature` on each batch."""
    for x, y in read_batches(batches):
        outputs = call(x)
        if not isinstance(outputs, Tensor):
            raise UsageError(f"the network gives a {type(outputs).__name__}, not a tensor: wrap it to give its logits")
        outputs = outputs / temperature
        if loss == "cross-entropy":
            yield _cross_entropy(outputs, y)
        else:
            targets = functional.one_hot(y, outputs.shape[1]) if outputs.shape != y.shape else y
            error = outputs - targets.to(outputs.dtype)
            yield (error.abs() if loss == "l1" else error.square()).sum() / len(x)


def _cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    try:
        return functional.cross_entropy(outputs, labels)
    except (RuntimeError, ValueError, IndexError) as error:
        shapes = f"outputs of shape {tuple(outputs.shape)} and labels of shape {tuple(labels.shape)}"
        raise UsageError(f"{shapes} do not fit the cross-entropy: {str(error).splitlines()[0]}") from None


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
