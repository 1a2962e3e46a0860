"""One update of a fully connected net, relative to a loop with torch's own pruning and to its matrix products.

The peer is what a user would write: `nn.BatchNorm1d` and `nn.Linear` in a `nn.Sequential`, the hidden layers' weights
and biases pruned by `torch.nn.utils.prune` with masks of ones, `torch.optim.SGD`. The limit is the update's matrix
products alone, with the same shapes: forward, gradients of weights, gradients of inputs (of the first layer only if
batch norm needs them). Both are given the batch; each timing is the mean of ten updates.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import prune

from benchmarks import Case
from prunefield.core.seeds import generator
from prunefield.networks.fcn import Fcn, FcnModule
from prunefield.tasks import Batch
from prunefield.training.steps import train

BATCH, RATE, UPDATES = 40, 0.01, 10


def cases() -> Iterator[Case]:
    paper, laptop = (3072, 1024, 1024, 1000), (3072, 256, 256, 10)
    yield make_update_case(paper, batch_norm=True, target="at most 0.8 × peer and 1.5 × limit")
    yield make_update_case(paper, batch_norm=True, density=0.3)
    yield make_update_case(laptop, batch_norm=True)
    yield make_update_case(laptop, batch_norm=False)
    yield make_update_case(laptop, batch_norm=False, density=0.3)


def make_update_case(widths: tuple[int, ...], *, batch_norm: bool, density: float = 1.0, target: str = "") -> Case:
    stream = generator(0, "imp-step")
    batch = Batch(
        torch.randn(BATCH, widths[0], generator=stream), torch.randint(widths[-1], (BATCH,), generator=stream)
    )
    net = Fcn(hidden=widths[1:-1], batch_norm=batch_norm).build(widths[:1], widths[-1], generator=stream)
    hidden = [f"layers.{index}.{part}" for index in range(len(widths) - 2) for part in ("weight", "bias")]
    masks = {name: torch.rand(net.get_parameter(name).shape, generator=stream) <= density for name in hidden}
    words = f"{':'.join(map(str, widths))}, batch {BATCH}, {'' if batch_norm else 'no '}batch norm, density {density}"
    return Case(
        words,
        time_updates(build_ours(net, batch, masks)),
        peer=time_updates(build_peer(widths, batch, masks, batch_norm)),
        peer_name="PyTorch with torch.nn.utils.prune",
        limit=time_updates(build_products(widths, batch_norm)),
        limit_name="its matrix products",
        rounds=8,
        target=target,
    )


def time_updates(update: Callable[[], object]) -> Callable[[], float]:
    """The mean seconds of an update, after one untimed update."""
    from time import perf_counter

    def timed() -> float:
        update()
        begin = perf_counter()
        for _ in range(UPDATES):
            update()
        return (perf_counter() - begin) / UPDATES

    return timed


def build_ours(net: FcnModule, batch: Batch, masks: dict[str, torch.Tensor]) -> Callable[[], object]:
    endless = train(net, lambda: batch, steps=10**9, lr=RATE, mask=masks, every=1)
    return lambda: next(endless)


def build_peer(
    widths: tuple[int, ...], batch: Batch, masks: dict[str, torch.Tensor], batch_norm: bool
) -> Callable[[], object]:
    modules: list[nn.Module] = []
    for index, (fan_in, fan_out) in enumerate(pairwise(widths)):
        layer = nn.Linear(fan_in, fan_out)
        for part in ("weight", "bias"):
            if f"layers.{index}.{part}" in masks:
                prune.custom_from_mask(layer, part, masks[f"layers.{index}.{part}"])
        modules += [nn.ReLU()] if index else []
        modules += [nn.BatchNorm1d(fan_in), layer] if batch_norm else [layer]
    net = nn.Sequential(*modules)
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE)

    def update() -> float:
        optimiser.zero_grad()
        loss = functional.cross_entropy(net(batch.x), batch.y)
        loss.backward()
        optimiser.step()
        return loss.item()

    return update


def build_products(widths: tuple[int, ...], batch_norm: bool) -> Callable[[], object]:
    stream = generator(0, "products")
    weights = [torch.randn(fan_out, fan_in, generator=stream) for fan_in, fan_out in pairwise(widths)]
    rows = [torch.randn(BATCH, width, generator=stream) for width in widths]

    def multiply() -> None:
        for index, weight in enumerate(weights):
            torch.mm(rows[index], weight.T)
            torch.mm(rows[index + 1].T, rows[index])
            if index or batch_norm:
                torch.mm(rows[index + 1], weight)

    return multiply
