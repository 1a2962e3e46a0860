"""Training of pruned networks without their pruned weights, relative to PyTorch with masks and to the dense layer.

The net is that of redman2025 with 1000 classes; its output layer is not pruned. The peer is that of `imp-step`. Rows
for one layer are about 3072 → 1024. SparseProp's row is left out where it is not installed (`pip install sparseprop`
compiles it). Processor time of one thread, as all of these use one; `python -m benchmarks._compact_picture FILE.svg`
draws the cost against density.
"""

from collections.abc import Callable, Iterator

import torch

from benchmarks import Case
from benchmarks._compact import (
    bound_seconds,
    build_compact,
    build_dense,
    build_kernels,
    build_linear,
    build_scipy,
    build_sparseprop,
    build_torch_csr,
    time_update,
)
from benchmarks.imp_step import BATCH, build_peer
from prunefield.core.seeds import generator
from prunefield.networks.fcn import Fcn
from prunefield.tasks import Batch
from prunefield.training.steps import train

WIDTHS, RATE = (3072, 1024, 1024, 1000), 0.01
TARGETS = {0.24: 0.6, 0.082: 0.36, 0.028: 0.27}
Timed = Callable[[], float]


def cases() -> Iterator[Case]:
    name = "PyTorch with torch.nn.utils.prune"
    steps = {density: build_steps(density) for density in TARGETS}
    for density, (ours, peer) in steps.items():
        words = f"one update of {':'.join(map(str, WIDTHS))}, batch {BATCH}, batch norm, density {density}"
        yield Case(words, ours, peer, name, target=f"at most {TARGETS[density]} × peer")
    rounds = [build_steps(0.7**n) for n in range(10)]
    yield Case(
        "the same, sum over ten rounds of 30%",
        lambda: sum(ours() for ours, _ in rounds),
        lambda: sum(peer() for _, peer in rounds),
        name,
        rounds=3,
        target="at most 0.5 × peer",
    )
    for density in TARGETS:
        target = "at most 0.15 × peer" if density == 0.028 else ""
        yield make_layer_case(density, build_kernels, build_dense, "its dense products", target)
    yield make_layer_case(0.028, build_compact, build_linear, "nn.Linear", "", "autograd and SGD, ")
    if build_sparseprop(0.028) is not None:
        for density in (0.24, 0.082, 0.028):
            target = "at most 0.75 × peer" if density == 0.028 else ""
            yield make_layer_case(density, build_compact, build_sparseprop, "SparseProp", target, "autograd and SGD, ")
    yield make_layer_case(0.028, build_kernels, build_torch_csr, "torch.sparse, CSR")
    yield make_layer_case(0.028, build_kernels, build_scipy, "scipy.sparse, without the gradient of the weights")


def make_layer_case(density: float, ours: Callable, peer: Callable, name: str, target: str = "", how: str = "") -> Case:
    update, other = ours(density), peer(density)
    words = f"3072 → 1024, forward and update, {how}density {density}"
    limit, words_of_limit = (lambda: bound_seconds(density)), "inputs from the second cache"
    return Case(
        words, lambda: time_update(update), lambda: time_update(other), name, limit, words_of_limit, target=target
    )


def build_steps(density: float) -> tuple[Timed, Timed]:
    """The seconds of one update, ours and the peer's."""
    stream = generator(0, "compact")
    x, y = torch.randn(BATCH, WIDTHS[0], generator=stream), torch.randint(WIDTHS[-1], (BATCH,), generator=stream)
    net = Fcn(hidden=WIDTHS[1:-1]).build(WIDTHS[:1], WIDTHS[-1], generator=stream)
    names = [f"layers.{index}.{part}" for index in (0, 1) for part in ("weight", "bias")]
    masks = {name: torch.rand(net.get_parameter(name).shape, generator=stream) <= density for name in names}
    endless = train(net, lambda: Batch(x, y), steps=10**9, lr=RATE, mask=masks, every=20, compact=0.75)
    peer = build_peer(WIDTHS, Batch(x, y), masks, True)
    return lambda: time_update(lambda: next(endless), 2) / 20, lambda: time_update(peer, 10)
