"""Exact Ising samples, relative to a Markov chain that approximates the same law."""

from collections.abc import Iterator

import torch

from benchmarks import Case
from prunefield.tasks.ising import Ising

NUMBER = 20_000


def cases() -> Iterator[Case]:
    """Both draw in float64 in the same process; the authors use 50 sweeps in training."""
    labels = torch.ones(NUMBER, dtype=torch.int64)  # J = 0.7
    exact, chain = Ising(), Ising(sampler="gibbs", sweeps=50)
    stream = torch.Generator().manual_seed(0)
    yield Case(
        f"{NUMBER} samples, N = 40, J = 0.7",
        lambda: exact.draw(labels, generator=stream),
        peer=lambda: chain.draw(labels, generator=stream),
        peer_name="checkerboard Gibbs, 50 sweeps",
        limit=lambda: torch.empty(NUMBER, 6, dtype=torch.int64).random_(generator=stream),
        limit_name="its random numbers alone",
        target="at most 1/25 × peer",
    )
