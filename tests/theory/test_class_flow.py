"""The flow with more than two classes: against Eq. 5, a large Gaussian sample, and the simulation."""

import torch

from prunefield.runs import State
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory.amplifier import amplify_gaussian, amplify_hypercube
from prunefield.theory.flow import compute_class_velocity, compute_velocity

THREE = Nlgp(g=0.01, size=12, lengthscales=(0.5, 1.0, 2.0))


def test_two_classes_are_eq_5():
    task = Ising(size=10)
    w = torch.randn(4, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sigma = [task.covariance(label) for label in range(2)]
    expected = compute_velocity(w, sigma[0], sigma[1], amplify_hypercube)
    assert torch.allclose(compute_class_velocity(w, sigma, amplify_hypercube), expected, atol=1e-14)


def test_three_classes_have_the_gradient_of_a_large_gaussian_sample():
    w = 0.3 * torch.randn(2, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    data, parts = torch.Generator().manual_seed(1), []
    for _ in range(20):
        x, y = THREE.sample(20_000, generator=data, dtype=torch.float64)
        before = x @ w.T
        parts.append(2 * ((y[:, None] - before) * (before > 0)).T @ x / len(x))
    seen = torch.stack(parts)
    expected = compute_class_velocity(w, [THREE.covariance(label) for label in range(3)], amplify_gaussian)
    assert ((seen.mean(0) - expected) / (seen.std(0) / 20**0.5)).abs().max() < 6
    assert (seen.mean(0) - expected).norm() < 0.05 * expected.norm()


def test_a_neuron_on_three_classes_follows_its_flow():
    same = {"task": THREE, "inits": 3, "init_scale": 0.1}
    neuron = Neuron(**same, symmetric=True, batch_size=100, lr=0.02, steps=200, record_every=200)
    flow = Flow(**same, time=4.0, record_every=4.0)
    (start, seen), (_, expected) = (
        [record.tensors["weights"] for record in run(State()) if record] for run in (neuron, flow)
    )
    assert (seen - expected).norm() < 0.05 * (expected - start).norm()


def test_gaussian_equivalence_is_the_flow_of_gaussian_data_with_the_same_covariances():
    task = Nlgp(g=0.01, size=12, lengthscales=(0.5, 1.5))
    flows = [Flow(task=task, inits=2, time=5.0, record_every=5.0, amplifier=name) for name in ("exact", "gaussian")]
    exact, equivalent = ([record for record in flow(State()) if record][-1].tensors["weights"] for flow in flows)
    assert torch.allclose(exact, equivalent, atol=1e-4)
