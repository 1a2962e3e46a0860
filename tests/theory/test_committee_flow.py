"""The flow of committees: against one neuron, a Gaussian sample, and the simulation."""

import math

import torch

from prunefield.runs import State
from prunefield.runs.committee import Committee
from prunefield.runs.committee_flow import CommitteeFlow
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory.amplifier import amplify_gaussian, amplify_hypercube
from prunefield.theory.committee_flow import compute_committee_velocity, project_orthants
from prunefield.theory.flow import compute_velocity
from prunefield.training.committee import CommitteeNets as Nets
from prunefield.training.committee import compute_gradient


def _draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_one_unit_is_the_neuron_of_eq_5_and_alone_all_units_are():
    task, w = Ising(size=12), _draw(3, 2, 12)
    sigma = task.covariance(0), task.covariance(1)
    alone = compute_velocity(w, *sigma, amplify_hypercube)
    assert torch.allclose(compute_committee_velocity(w, *sigma, amplify_hypercube, together=False), alone, atol=1e-14)
    one = compute_committee_velocity(w[:, :1], *sigma, amplify_hypercube)
    assert torch.allclose(one, alone[:, :1], atol=1e-7)


def test_orthant_terms_are_the_gradient_of_the_arc_cosine_kernel():
    """E[max(0, u) max(0, v)] = |u||v| (sin θ + (π − θ) cos θ)/2π (Cho and Saul, 2009), each pair once."""
    w, sigma = _draw(1, 3, 6).requires_grad_(), Nlgp(size=6, lengthscales=(0.3, 0.9)).covariance(1)
    products = w[0] @ sigma @ w[0].T
    norms = products.diagonal().sqrt()
    total = torch.zeros((), dtype=torch.float64)
    for k in range(3):
        total = total + norms[k].square() / 4
        for other in range(k):
            angle = torch.acos(products[k, other] / norms[k] / norms[other])
            total = total + norms[k] * norms[other] * (angle.sin() + (math.pi - angle) * angle.cos()) / (2 * math.pi)
    (expected,) = torch.autograd.grad(total, w)
    assert torch.allclose(project_orthants(w.detach(), sigma), expected, atol=1e-7)


def test_on_gaussian_data_it_is_the_gradient_of_a_large_sample():
    task, w = Nlgp(g=0.01, size=10, lengthscales=(0.5, 1.5)), 0.3 * _draw(2, 3, 10)
    nets = Nets(w, torch.zeros(2, 3).double(), torch.ones(2, 3).double(), torch.zeros(2).double())
    data = torch.Generator().manual_seed(1)
    parts = [
        -compute_gradient(nets, *task.sample(20_000, generator=data, dtype=torch.float64), "relu")[1].weights
        for _ in range(20)
    ]
    seen = torch.stack(parts)
    expected = compute_committee_velocity(w, task.covariance(0), task.covariance(1), amplify_gaussian)
    z = (seen.mean(0) - expected) / (seen.std(0) / len(parts) ** 0.5)
    assert z.abs().max() < 6  # of 60 values with 19 degrees of freedom
    assert (seen.mean(0) - expected).norm() < 0.02 * expected.norm()


def test_a_simulated_committee_follows_it():
    """On Gaussian data, for which it is exact: only the noise of the batches is left."""
    same = {"task": Nlgp(g=0.01, size=16, lengthscales=(0.5, 1.5)), "hidden": 3, "inits": 2, "init_scale": 0.3}
    flow = [record for record in CommitteeFlow(time=6.0, **same)(State()) if record]
    learning = {"activation": "relu", "bias": False, "symmetric": True, "batch_size": 60}
    net = Committee(**same, **learning, lr=0.03, steps=200, record_every=200)
    seen = [record for record in net(State()) if record]
    start, end, expected = (one[place].tensors["weights"] for one, place in ((seen, 0), (seen, -1), (flow, -1)))
    assert torch.equal(start, flow[0].tensors["weights"])
    assert (end - expected).norm() < 0.05 * (expected - start).norm()
