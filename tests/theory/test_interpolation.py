"""The table of the amplifier is accurate to 1e-10, and the compiled velocity equals `compute_velocity`."""

import numpy as np
import pytest
import torch

from prunefield.runs.neuron import draw_initial_weights
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory import flow
from prunefield.theory.interpolation import HALF, tabulate_function
from prunefield.theory.velocity import compile_velocity, fold_matrices

TASKS = [Ising(), Nlgp(g=0.01), Nlgp(g=3.0), Nlgp(g=100.0), Kur(k=4.5), Kur(k=5.0), Kur(k=30.0)]


def _read(rows: np.ndarray, a: np.ndarray) -> np.ndarray:
    x = (a + 1) * HALF
    cell = np.minimum(x.astype(int), len(rows) - 1)
    return np.array([np.polyval(rows[c], place - c) for c, place in zip(cell, x, strict=True)])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_the_table_is_accurate_everywhere(task):
    rows = tabulate_function(task.amplifier)
    assert rows is not None
    a = torch.rand(3000, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1
    a = torch.cat([a, 1 - torch.logspace(-9, -2, 50, dtype=torch.float64), torch.tensor([-1.0, 0.0, 1.0])])
    assert np.abs(_read(rows, a.numpy()) - task.amplifier(a).numpy()).max() < 1e-10


def test_a_law_without_a_fourth_moment_has_a_flow_but_no_table():
    task = Kur(k=3.0, size=12, lengthscales=(0.5, 1.5))
    assert tabulate_function(task.amplifier) is None
    start = draw_initial_weights(0, 1, 12, 1e-3)
    end = flow.integrate_flow(start, [0.0, 1.0], task.covariance(0), task.covariance(1), task.amplifier)[-1]
    assert end.isfinite().all()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_the_compiled_velocity_equals_compute_velocity(task):
    short, long = task.covariance(0), task.covariance(1)
    w = draw_initial_weights(5, 3, 40, 1.0)
    w[1] = 0.3  # flat
    w[2, 5] = 40.0  # nearly one site, where a is nearly 1
    rows = tabulate_function(task.amplifier)
    assert rows is not None
    seen = compile_velocity()(w.flatten().numpy(), *fold_matrices(torch.cat([long, short + long], 1).numpy()), rows)
    expected = flow.compute_velocity(w, short, long, task.amplifier)
    assert torch.allclose(torch.from_numpy(seen).view(3, 40), expected, rtol=0, atol=1e-10)


def test_only_matrices_of_a_ring_with_an_even_number_of_sites_are_folded():
    torus, odd, ring = Nlgp(dimensions=2, size=6, lengthscales=(0.5, 0.8)), Ising(size=11), Ising(size=4)
    rows = torch.nn.functional.normalize(
        torch.rand(8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    )
    estimate = rows @ rows.T  # of unit variance, and of no ring
    pairs = [*((task.covariance(0), task.covariance(1)) for task in (torus, odd, ring)), (estimate, estimate)]
    folded = []
    for short, long in pairs:
        w = draw_initial_weights(1, 2, len(long), 1.0)
        even, rest = fold_matrices(torch.cat([long, short + long], 1).numpy())
        folded.append(len(rest) > 0)
        seen = compile_velocity()(w.flatten().numpy(), even, rest, tabulate_function(torch.sin))
        assert torch.allclose(
            torch.from_numpy(seen).view_as(w), flow.compute_velocity(w, short, long, torch.sin), rtol=0, atol=1e-9
        )
    assert folded == [False, False, True, False]
