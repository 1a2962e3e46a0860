"""One neuron from many initialisations, relative to drawing its Gaussian numbers alone and to a loop over neurons.

The limit is `torch.randn` in float64 for all numbers that the run needs, batch by batch. The peer is the obvious
program: one neuron after another, each with its own data, drawn by numpy with the dense square root of Σ (computed once
for each class) and squashed by scipy's erf. It is timed for one neuron and 200 steps and scaled up.
"""

import time
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks import Case
from prunefield.runs import State
from prunefield.runs.neuron import Neuron
from prunefield.tasks.nlgp import Nlgp

INITS, STEPS, BATCH, SIZE, GAIN = 30, 2000, 1000, 40, 3.0
PEER_STEPS = 200


def cases() -> Iterator[Case]:
    run = make_run(SIZE, INITS, BATCH, STEPS)
    yield Case(
        f"{INITS} neurons, {STEPS} steps of {BATCH}, N = {SIZE}",
        lambda: exhaust_run(run),
        peer=lambda: train_by_numpy(PEER_STEPS) * INITS * STEPS / PEER_STEPS,
        peer_name=f"numpy, neuron by neuron, scaled from {PEER_STEPS} steps of one",
        limit=lambda: draw_numbers(run),
        limit_name="torch.randn, float64",
        rounds=3,
        target="at most 3 × limit and 0.05 × peer",
    )
    short, long = (make_run(SIZE, INITS, 100, steps) for steps in (STEPS, 10 * STEPS))
    yield Case(
        f"memory (MB, not s) of {INITS} neurons, batch 100, {long.steps} steps",
        lambda: measure_process(long),
        limit=lambda: measure_process(short),
        limit_name=f"{short.steps} steps",
        rounds=1,
        target="1 × limit",
    )
    sizes = [(size, INITS, BATCH) for size in (40, 160, 640, 1024, 4096)]
    inits = [(SIZE, inits, BATCH) for inits in (1, 10, 100, 1000)]
    batches = [(SIZE, INITS, batch) for batch in (100, 10_000)]
    for size, count, batch in (*sizes, *inits, *batches):
        steps = max(3, 20_000_000 // (batch * (size + count)))
        small = make_run(size, count, batch, steps)
        yield Case(
            f"N = {size}, {count} neurons, batch {batch}, {steps} steps",
            lambda run=small: exhaust_run(run),
            limit=lambda run=small: draw_numbers(run),
            limit_name="torch.randn, float64",
            rounds=2,
        )


def make_run(size: int, inits: int, batch: int, steps: int) -> Neuron:
    task = Nlgp(g=GAIN, size=size)
    task.sample(2, generator=torch.Generator())  # computes the square roots, which all runs share
    return Neuron(task=task, inits=inits, batch_size=batch, steps=steps, record_every=100)


def exhaust_run(run: Neuron) -> None:
    for _ in run(State()):
        pass


def measure_process(run: Neuron) -> float:
    """The peak memory, in MB, of a separate process that keeps no records."""
    import subprocess
    import sys

    text = f"""
import torch
from benchmarks import peak_mb
from benchmarks.dynamics import exhaust_run
from prunefield.runs import Run
torch.set_num_threads(1)
exhaust_run(Run.parse({run.settings()!r}))
print(peak_mb())
"""
    return float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout)


def draw_numbers(run: Neuron) -> None:
    """Draws as many numbers as the run, which uses one more batch than it has steps, for the last loss."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(run.steps + 1):
        torch.randn(run.batch_size, run.task.sites, dtype=torch.float64, generator=generator)


def train_by_numpy(steps: int) -> float:
    """The seconds for one neuron in numpy."""
    from scipy.linalg import sqrtm
    from scipy.special import erf

    site = np.arange(SIZE)
    distance = np.minimum(site, SIZE - site)[(site[:, None] - site) % SIZE]
    roots = [np.real(sqrtm(np.exp(-((distance / xi) ** 2)))) for xi in (1.0, 3.0)]
    scale = np.sqrt(2 / np.pi * np.arcsin(2 * GAIN**2 / (1 + 2 * GAIN**2)))
    rng = np.random.default_rng(0)
    w = 1e-2 * rng.standard_normal(SIZE)
    begin = time.perf_counter()
    for _ in range(steps):
        y = rng.integers(2, size=BATCH)
        z = rng.standard_normal((BATCH, SIZE))
        z = np.where(y[:, None] == 1, z @ roots[1], z @ roots[0])
        x = erf(GAIN * z) / scale
        answer = np.maximum(x @ w, 0)
        w -= 0.05 * 2 / BATCH * (((answer - y) * (answer > 0)) @ x)
    return time.perf_counter() - begin
