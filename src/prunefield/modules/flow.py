"""SynFlow's positive flow through any network: normalisations pass it on; a module that turns its sign is named."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from prunefield.modules.attention import attend_heads, attend_values, drop_shares, split_flow, take_shares
from prunefield.modules.naming import has_statistics, is_own_norm, is_rotary, walk_modules
from prunefield.modules.secants import SECANTS, show_overflow

NOISE = 1e-3  # of the largest slope of a layer: fast convolutions round a zero to both sides
Run = Callable[[], Tensor]


class PositiveFlow(TorchFunctionMode):
    """Inside it a network of positive weights and inputs has positive derivatives.

    A normalisation divides by its own input, so half of the derivatives through it are negative. Layer, group, RMS,
    instance and response norms, and batch norms that use the batch, are therefore the identity. A batch norm with
    running statistics is linear and stays. A softmax is its inputs divided by their sum (`attention.take_shares`); that
    sum, like the length in `normalize`, is treated as a constant. Log-softmax is the identity. Saturating functions and
    products of two parts of the network pass on the flow that leaves them (`secants`). Rotary embeddings, which have
    both signs, do not rotate.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.hooks = net, ExitStack()

    def __enter__(self) -> Self:
        for _, module in walk_modules(self.net):
            if is_own_norm(module) and (module.training or not has_statistics(module)):
                self.hooks.callback(module.register_forward_hook(_pass_on).remove)
            elif is_rotary(module):
                self.hooks.callback(module.register_forward_hook(_stand_still).remove)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.hooks.close()
        super().__exit__(*error)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        rule = RULES.get(func)
        found = NotImplemented if rule is None else rule(*args, **kwargs)
        return func(*args, **kwargs) if found is NotImplemented else found


def _pass_on(_: nn.Module, args: tuple[Any, ...], output: Any) -> Tensor | None:
    """The input of a norm instead of its output."""
    first = args[0] if args else None
    if isinstance(first, Tensor) and isinstance(output, Tensor) and first.shape == output.shape:
        return first.to(output.dtype)
    return None


def _stand_still(_: nn.Module, __: tuple[Any, ...], output: Any) -> tuple[Tensor, Tensor] | None:
    """The cosines and sines of a rotation by zero."""
    if isinstance(output, tuple) and len(output) == 2 and all(isinstance(item, Tensor) for item in output):
        return torch.ones_like(output[0]), torch.zeros_like(output[1])
    return None


def _keep_input(input: Tensor, *_: Any, **__: Any) -> Tensor:
    return input


def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    *_: Any,
    **__: Any,
) -> Tensor:
    return input if training or running_mean is None else NotImplemented


def _normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    if out is not None:  # from a spectral norm, which acts on weights
        return NotImplemented
    return input / show_overflow(input.detach().norm(p, dim, keepdim=True).clamp_min(eps))


PRODUCTS = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.einsum)
RULES: Mapping[Any, Callable[..., Any]] = {
    **SECANTS,
    **dict.fromkeys(
        (functional.layer_norm, functional.group_norm, functional.rms_norm, functional.instance_norm,
         functional.local_response_norm, torch.layer_norm, torch.group_norm, torch.rms_norm, torch.instance_norm,
         functional.log_softmax, torch.log_softmax, Tensor.log_softmax), _keep_input
    ),
    **dict.fromkeys((functional.softmax, torch.softmax, Tensor.softmax), take_shares),
    **{item: split_flow(item) for item in PRODUCTS},
    functional.dropout: drop_shares,
    functional.batch_norm: _batch_norm,
    functional.normalize: _normalize,
    functional.scaled_dot_product_attention: attend_values,
    functional.multi_head_attention_forward: attend_heads,
}  # fmt: skip


def find_signed(slopes: Mapping[str, Tensor]) -> str | None:
    """The first layer some of whose derivatives are negative."""
    for name, slope in slopes.items():
        if slope.numel() and (least := slope.min().item()) < 0 and least < -NOISE * slope.abs().max().item():
            return name
    return None


def name_fault(net: nn.Module, run: Run) -> tuple[str, nn.Module]:
    """The module that makes a flow negative, with its name: the last one that turns positive derivatives negative.

    If there is none, or if its inputs are negative already, the last one that makes such numbers; else the network.
    """
    calls: list[tuple[str, nn.Module, list[Tensor], list[Tensor]]] = []
    with ExitStack() as hooks:
        for name, module in walk_modules(net):

            def note(module: nn.Module, args: Any, output: Any, name: str = name) -> None:
                before, after = (list(filter(torch.is_floating_point, _list_tensors(side))) for side in (args, output))
                calls.append((name, module, before, after))

            hooks.callback(module.register_forward_hook(note).remove)
        value = run()
    seen = [item for *_, before, after in calls for item in (*before, *after) if item.requires_grad]
    slopes = iter(torch.autograd.grad(value, seen, allow_unused=True))
    signs = [[[_is_negative(next(slopes)) if item.requires_grad else False for item in side] for side in sides]
             for *_, before, after in calls for sides in [(before, after)]]  # fmt: skip
    turns = [index for index, (before, after) in enumerate(signs) if any(before) and not any(after)]
    end = turns[-1] if turns else len(calls)
    if not turns or any(
        map(_is_negative, calls[end][2])
    ):  # its inputs are negative already: which module made them so?
        for name, module, before, after in reversed(calls[:end]):
            if any(map(_is_negative, after)) and not any(map(_is_negative, before)):
                return name, module
    return calls[end][:2] if turns else ("", net)


def _is_negative(item: Tensor | None) -> bool:
    return item is not None and find_signed({"": item.detach()}) is not None


def _list_tensors(item: Any) -> list[Tensor]:
    if isinstance(item, Tensor):
        return [item]
    return [part for one in item for part in _list_tensors(one)] if isinstance(item, tuple | list) else []
