"""The exponential integrator against the explicit one, and both representations of covariances against each other."""

import pytest
import torch

from prunefield import Task
from prunefield.core.seeds import generator
from prunefield.measures.localisation import compute_ipr
from prunefield.modules.glorot import draw_glorot
from prunefield.theory.flow import integrate_flow
from prunefield.theory.relaxation import Dense, Torus, relax_fields


@pytest.mark.parametrize(
    "settings",
    [{"kind": "nlgp", "g": 0.5, "lengthscales": (0.3, 0.7)}, {"kind": "gaussian", "lengthscales": (1.0, 2.0)}],
)
def test_it_agrees_with_the_explicit_integrator(settings):
    task = Task.parse({**settings, "size": 20})
    short, long = task.covariance(0), task.covariance(1)
    start = draw_glorot(4, 20, 1, scale=1e-3, generator=generator(0, "init"))
    exact = integrate_flow(start, [0.0, 30.0, 100.0], short, long, task.amplifier)[1:]
    for covariances in (Torus(short[0], long[0], 1), Dense(short, long)):
        found = relax_fields(start, [30.0, 100.0], covariances, task.amplifier, tolerance=1e-4)
        assert ((found - exact).norm(dim=-1) / exact.norm(dim=-1)).max() < 0.01
        assert (compute_ipr(found) / compute_ipr(exact) - 1).abs().max() < 0.01


def test_covariances_integrated_side_by_side_do_not_interact():
    rows = torch.stack([Task.parse({"kind": "gaussian", "size": 12, "lengthscales": (0.3, xi)}).covariance(1)[0]
                        for xi in (0.5, 1.0)])  # fmt: skip
    white, start = torch.eye(12, dtype=torch.float64)[0], draw_glorot(3, 12, 1, scale=1.0, generator=generator(0, "w"))
    together = relax_fields(
        start.expand(2, 3, 12), [20.0], Torus(white.expand(2, 12), rows, 1), torch.sin, tolerance=1e-5
    )[0]
    for index, row in enumerate(rows):
        alone = relax_fields(start, [20.0], Torus(white, row, 1), torch.sin, tolerance=1e-5)[0]
        assert torch.allclose(together[index], alone, atol=1e-4)


def test_a_torus_agrees_with_its_matrix():
    task = Task.parse({"kind": "nlgp", "g": 3.0, "size": 6, "dimensions": 2, "lengthscales": (0.3, 0.8)})
    short, long = task.covariance(0), task.covariance(1)
    start = draw_glorot(2, 36, 1, scale=1e-3, generator=generator(0, "init"))
    grid = relax_fields(start.view(2, 6, 6), [50.0], Torus(short[0].view(6, 6), long[0].view(6, 6), 2), task.amplifier)[
        0
    ]
    assert torch.allclose(
        grid.flatten(1), relax_fields(start, [50.0], Dense(short, long), task.amplifier)[0], atol=1e-3
    )


def test_sites_with_other_variances_behave_as_rescaled():
    """w·x does not change if x_i is multiplied and w_i divided by s_i; by the chain rule ẇ_i gets a factor s_i²."""
    scale = torch.tensor([1.0, 2.0, 0.5, 1.0], dtype=torch.float64)
    start = torch.tensor([[0.3, 0.1, 0.2, -0.1]], dtype=torch.float64)
    plain, sized = torch.eye(4, dtype=torch.float64), torch.diag(scale.square())
    one, other = Dense(plain, plain), Dense(sized, sized)
    pulls = one.pull(one.analyse(start)), other.pull(other.analyse(start / scale))
    assert torch.allclose(*pulls)
    assert torch.allclose(other.scale[0], scale)
