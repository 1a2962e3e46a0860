"""Layer collapse: layers that a mask has emptied, and whether the output still depends on the input."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.core.errors import show_line
from prunefield.masks.mask import Mask
from prunefield.modules.borrowing import borrow_network
from prunefield.modules.calls import (
    Data,
    Fed,
    Forward,
    call_network,
    change_batch,
    find_logits,
    fit_batch,
    list_tensors,
    read_batches,
)
from prunefield.modules.flow import PositiveFlow
from prunefield.modules.naming import LAYERS, is_named, name_parameters

NEUTRAL = {"running_mean": 0, "running_var": 1, "weight": 1, "bias": 0}  # values of a normalisation that does nothing
NOTABLE = 0.1  # share of parameters not covered by a mask above which there is a warning


class Collapse(NamedTuple):
    """`emptied`: names of layers without weights. `cut`: those that alone cut the network in two.

    A skip connection bypasses an emptied layer that is not in `cut`, for instance a shortcut convolution. `dead`:
    nothing flows through the masked network at all.
    """

    emptied: tuple[str, ...]
    cut: tuple[str, ...]
    dead: bool


def find_collapse(
    net: nn.Module, mask: Mask, inputs: Sequence[int] | Data, *, forward: Forward | None = None
) -> Collapse:
    """Checks whether the output depends on positive inputs when all weights are positive and masked.

    `inputs` is the shape of one input, or a list of batches as for `prune`; tokens count by their
    embeddings. Layers become weighted means of their inputs and normalisations the identity, so that no activation
    saturates.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> mask = Mask({"0.weight": torch.zeros(3, 2) > 0, "2.weight": torch.ones(1, 3) > 0})
    >>> find_collapse(net, mask, (2,))
    Collapse(emptied=('0.weight',), cut=('0.weight',), dead=True)
    """
    if all(isinstance(side, int) for side in inputs):
        inputs = [torch.ones(1, *inputs)]
    fed = read_batches(inputs)[0]
    emptied = tuple(name for name, number in mask.counts().items() if not number)
    dead = not _carries_flow(net, mask, fed, forward)
    alone = {name: Mask({name: mask[name]}) for name in emptied} if dead else {}
    return Collapse(
        emptied, tuple(name for name, part in alone.items() if not _carries_flow(net, part, fed, forward)), dead
    )


def describe_collapse(
    net: nn.Module, mask: Mask, inputs: Data = (), *, forward: Forward | None = None, skip: Sequence[str] = ()
) -> list[str]:
    """One line for each way in which a mask does not do what its density suggests; without inputs fewer are checked.

    Emptied layers, an output that no longer depends on the input, and a notable share of parameters that the mask does
    not cover, other than those that `skip` names; biases and the parameters of norms do not count.
    """
    emptied, collapse = [name for name, number in mask.counts().items() if not number], None
    unknown = ""
    if len(inputs):
        try:
            collapse = find_collapse(net, mask, inputs, forward=forward)
        except Exception as error:  # the user's code may raise anything; the mask is useful without this check
            reason = show_line(f"{type(error).__name__}: {error}", 200)
            unknown = f"whether the output still depends on the input could not be checked ({reason})"
    cut = [] if collapse is None else list(collapse.cut)
    rest = [name for name in emptied if name not in cut]
    lines = []
    if cut:
        lines.append(
            f"{_list_names(cut, 'keeps', 'keep')} no weight and {'cuts' if len(cut) == 1 else 'cut'} the network"
        )
    if rest:
        around = "; a skip connection bypasses " + ("it" if len(rest) == 1 else "them")
        alive = collapse is not None and not collapse.dead
        lines.append(f"{_list_names(rest, 'keeps', 'keep')} no weight{around if alive else ''}")
    if collapse is not None and collapse.dead:
        lines.append("nothing flows from input to output, so the output is constant; raise the density or set a floor")
    if unknown:
        lines.append(unknown)
    parameters = name_parameters(net)
    total = sum(item.numel() for item in {id(item): item for item in parameters.values()}.values())
    bare = {name: item for name, item in parameters.items()
            if item.ndim > 1 and name not in mask and not is_named(name, skip)}  # fmt: skip
    share = sum(item.numel() for item in {id(item): item for item in bare.values()}.values()) / max(total, 1)
    if share > NOTABLE:
        largest = sorted(bare, key=lambda name: -bare[name].numel())
        kept = 1 - (mask.total - sum(mask.counts().values())) / total
        what = (
            f"{share:.0%} of the parameters are not covered by the mask: {_list_names(largest, 'stays', 'stay')} dense"
        )
        lines.append(f"{what}, so {kept:.2g} of all are kept; prune them with `also`, or exclude them with `skip`")
    return lines


def _list_names(names: Sequence[str], one: str, many: str) -> str:
    """At most three names and a verb."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more} {one if len(names) == 1 else many}"


class _Traced(PositiveFlow):
    """A positive flow that also starts at embeddings."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__(net)
        self.sources: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = super().__torch_function__(func, types, args, kwargs)
        if func is functional.embedding:
            found = found.detach().requires_grad_()
            self.sources.append(found)
        return found


def _carries_flow(net: nn.Module, mask: Mask, fed: Fed, forward: Forward | None) -> bool:
    generator = torch.Generator().manual_seed(0)

    def draw(item: Tensor) -> Tensor:
        if not item.is_floating_point() or not item.ndim:
            return item[:1] if item.ndim else item
        return (torch.rand(1, *item.shape[1:], generator=generator) / 4 + 0.25).to(item.device)

    with (
        borrow_network(net, mask, "eval", generator, positive=True) as (twin, leaves),
        _Traced(twin) as flow,
    ):
        with torch.no_grad():  # an absolute value is a copy, so the network is not changed
            for name, leaf in leaves.items():
                leaf.masked_fill_(~mask[name].to(leaf.device), 0)
            for module in twin.modules():
                _calm_layer(module)
        known = fit_batch(change_batch(fed, draw), next(iter(leaves.values())))
        known = change_batch(known, lambda item: item.requires_grad_() if item.is_floating_point() else item)
        outputs = find_logits(call_network(twin, known, forward))
        weights = torch.rand(outputs.shape, generator=generator).to(outputs)  # a plain sum may be constant
        sources = [item for item in list_tensors(known.inputs) if item.requires_grad] + flow.sources
        if not sources or not outputs.requires_grad:
            return not sources
        slopes = torch.autograd.grad((outputs * weights).sum(), sources, allow_unused=True)
        return any(slope is not None and bool(slope.count_nonzero()) for slope in slopes)


def _calm_layer(module: nn.Module) -> None:
    """Turns a layer into a weighted mean and a normalisation into the identity, to avoid saturation and underflow."""
    tensors = {**module._parameters, **module._buffers}
    weight, bias = tensors.get("weight"), tensors.get("bias")
    if isinstance(module, nn.modules.batchnorm._NormBase):
        for name, value in NEUTRAL.items():
            if (tensor := tensors.get(name)) is not None:
                tensor.fill_(value)
    elif isinstance(module, LAYERS):
        if weight is not None:
            sums = weight.flatten(1).sum(1).clamp(min=torch.finfo(weight.dtype).tiny)
            weight.div_(sums.view(-1, *[1] * (weight.ndim - 1)))
        if bias is not None:
            bias.zero_()
