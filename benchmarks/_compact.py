"""One pruned linear layer of 3072 → 1024, batch 40, computed in different ways: its output, the gradient of its inputs
and a step of its weights. Seconds are those of the processor, of one thread, the least of several.
"""

import time
from collections.abc import Callable
from functools import cache

import numpy as np
import scipy.sparse
import torch
from torch import Tensor, nn

from prunefield.core.compilation import compile_loop
from prunefield.training.compact_kernels import differentiate_kept, multiply_kept
from prunefield.training.compact_layer import CompactLinear
from prunefield.training.kept import Kept

ROWS, COLUMNS, BATCH, RATE = 1024, 3072, 40, 1e-6
STEPS = 10_000_000  # of the chain that measures the clock
CYCLES = 5 + 8  # of a kept weight, forward and update, whose inputs come from the second cache at 32 bytes a cycle
Update = Callable[[], object]


def draw_layer(density: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weights, mask, inputs (batch, columns) and what comes back (batch, rows)."""
    stream = torch.Generator().manual_seed(0)
    mask = torch.rand(ROWS, COLUMNS, generator=stream) < density
    weight = torch.randn(ROWS, COLUMNS, generator=stream) * mask
    return weight, mask, torch.randn(BATCH, COLUMNS, generator=stream), torch.randn(BATCH, ROWS, generator=stream)


def build_kernels(density: float) -> Update:
    """What `imp` does."""
    weight, mask, x, back = draw_layer(density)
    kept, parts = Kept.of(mask), (0.0,) * (BATCH // 8)
    values, xt, bt = kept.gather(weight).numpy(), x.T.contiguous().numpy(), back.T.contiguous().numpy()
    columns, ends = kept.columns.numpy(), kept.ends.numpy()
    bias, out, below = np.zeros(ROWS, "f4"), np.empty((ROWS, BATCH), "f4"), np.empty((COLUMNS, BATCH), "f4")

    def update() -> None:
        multiply_kept(values, columns, ends, bias, xt, out, parts)
        below[:] = 0
        differentiate_kept(values, columns, ends, xt, bt, below, values, np.float32(-RATE), parts)

    return update


def build_dense(density: float) -> Update:
    """The dense products, without the mask."""
    weight, _, x, back = draw_layer(density)

    def update() -> None:
        torch.mm(x, weight.T)
        torch.mm(back, weight)
        weight.addmm_(back.T, x, alpha=-RATE)

    return update


def build_module(layer: nn.Module, x: Tensor, back: Tensor) -> Update:
    """A layer with autograd and `torch.optim.SGD`."""
    optimizer, x = torch.optim.SGD(layer.parameters(), lr=RATE), x.clone().requires_grad_()

    def update() -> None:
        optimizer.zero_grad()
        x.grad = None
        layer(x).backward(back)
        optimizer.step()

    return update


def build_compact(density: float) -> Update:
    """`CompactLinear`."""
    weight, mask, x, back = draw_layer(density)
    return build_module(CompactLinear(weight, mask, torch.zeros(ROWS)).train(), x, back)


def build_linear(density: float) -> Update:
    """`nn.Linear` without a mask."""
    _, _, x, back = draw_layer(density)
    return build_module(nn.Linear(COLUMNS, ROWS), x, back)


def build_sparseprop(density: float) -> Update | None:
    """SparseProp's layer; None where it is not installed."""
    try:
        from sparseprop.modules import SparseLinear  # type: ignore[import-not-found]
    except ImportError:
        return None
    weight, _, x, back = draw_layer(density)
    return build_module(SparseLinear(weight, nn.Parameter(torch.zeros(ROWS))), x, back)


def build_torch_csr(density: float) -> Update:
    """`torch.sparse`: two products with CSR matrices and a sampled one."""
    weight, _, x, back = draw_layer(density)
    csr, turned = weight.to_sparse_csr(), weight.T.contiguous().to_sparse_csr()
    xt, bt = x.T.contiguous(), back.T.contiguous()

    def update() -> None:
        torch.mm(csr, xt)
        torch.mm(turned, bt)
        torch.sparse.sampled_addmm(csr, bt, x, beta=1.0, alpha=-RATE)

    return update


def build_scipy(density: float) -> Update:
    """`scipy.sparse`: two products; it has no sampled one, so the gradient of the weights is not computed."""
    weight, _, x, back = draw_layer(density)
    csr = scipy.sparse.csr_array(weight.numpy())
    turned, xt, bt = csr.T.tocsr(), x.T.contiguous().numpy(), back.T.contiguous().numpy()

    def update() -> None:
        csr.dot(xt)
        turned.dot(bt)

    return update


def time_update(update: Update, repeats: int = 15) -> float:
    """The least seconds of one update."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.thread_time()
        update()
        best = min(best, time.thread_time() - begin)
    return best


def bound_seconds(density: float) -> float:
    """Seconds in which the second cache delivers what the kept weights of the layer need, forward and update."""
    return CYCLES * density * ROWS * COLUMNS / measure_clock()


@cache
def measure_clock() -> float:
    """Cycles in a second, by dependent operations: a chain of shifts and exclusive ors takes four cycles a turn."""
    chain = compile_loop(_turn)
    chain(1)
    seconds = min(_time(chain) for _ in range(5))
    return 4 * STEPS / seconds


def _time(chain) -> float:
    begin = time.thread_time()
    chain(STEPS)
    return time.thread_time() - begin


def _turn(steps):
    value = 88172645463325252
    for _ in range(steps):
        value ^= value << 13  # two cycles: a shift, then an exclusive or
        value ^= value >> 7
    return value
