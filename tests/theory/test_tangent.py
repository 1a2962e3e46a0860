"""The tangent of a network: finite differences, Euler's theorem, and the bound of Theorem 7.2."""

import math

import pytest
import torch
from torch import nn

from prunefield.theory import tangent
from prunefield.theory.sketching import enumerate_error, expected_error


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval()


def test_the_jacobian_agrees_with_finite_differences(net):
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    parameters, outputs = tangent.parameters_of(net), tangent.bind_inputs(net, x)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    jacobian, theta = tangent.compute_jacobian(outputs, parameters), tangent.flatten_parameters(parameters)
    assert jacobian.shape == (10, len(theta))
    step = 1e-6
    for k in range(len(theta)):
        shift = torch.zeros_like(theta)
        shift[k] = step
        up, down = (outputs(tangent.unflatten_parameters(theta + sign * shift, parameters)) for sign in (1, -1))
        assert torch.allclose(jacobian[:, k], (up - down) / (2 * step), atol=1e-8)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_a_relu_net_without_biases_is_its_own_tangent():
    """f is homogeneous of degree L in θ, so J(θ)θ = L·f."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 6, bias=False), nn.ReLU(), nn.Linear(6, 1, bias=False))
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    parameters, outputs = tangent.parameters_of(net), tangent.bind_inputs(net, x)
    features = tangent.compute_jacobian(outputs, parameters) @ tangent.flatten_parameters(parameters)
    assert torch.allclose(features, 2 * outputs(parameters))


def test_scores_are_the_probabilities_up_to_a_constant(net):
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    scores = tangent.tangent_scores(net, x)
    parameters = tangent.parameters_of(net)
    assert {name: score.shape for name, score in scores.items()} == {n: p.shape for n, p in parameters.items()}
    jacobian = tangent.compute_jacobian(tangent.bind_inputs(net, x), parameters)
    p = tangent.tangent_probabilities(jacobian, tangent.flatten_parameters(parameters))
    flat = tangent.flatten_parameters(scores)
    assert torch.allclose(flat / flat.sum(), p)
    w = tangent.flatten_parameters(parameters)
    assert torch.allclose(enumerate_error(jacobian.T, w, p, 2), expected_error(jacobian.T, w, p, 2))


def test_the_bound_is_the_printed_one():
    jacobian, theta = torch.rand(3, 5, dtype=torch.float64) + 0.1, torch.rand(5, dtype=torch.float64) + 0.1
    s, k, residual, lowest, d = 2, 1.7, 0.6, 0.4, 5
    total = theta.sum().item()
    inverse, columns = (1 / theta).sum().item(), (1 / jacobian.norm(dim=0)).sum().item()
    first = inverse * 9 * k**4 * residual**2 / lowest**2
    printed = k**3 * total * columns * (total + first + 6 * math.sqrt(d) * k**3 * residual / lowest) / s
    ours = tangent.tangent_bound(jacobian, theta, s, k=k, distance=3 * k * residual / lowest)
    assert ours == pytest.approx(printed)


def test_the_bound_is_never_better_than_that_of_an_empty_mask():
    """For d ≥ 4 and s ≤ d it is at least K²(‖θ0‖ + D)², which no ‖J(θt)θt‖² within distance D exceeds."""
    stream = torch.Generator().manual_seed(0)
    for _ in range(200):
        d, k = int(torch.randint(4, 40, (), generator=stream)), 1 + 3 * torch.rand((), generator=stream).item()
        theta = torch.randn(d, dtype=torch.float64, generator=stream)
        jacobian = torch.randn(3, d, dtype=torch.float64, generator=stream)
        jacobian *= k / jacobian.norm()
        distance = 2 * torch.rand((), generator=stream).item()
        bound = tangent.tangent_bound(jacobian, theta, d, k=k, distance=distance)
        assert bound >= k**2 * (theta.norm().item() + distance) ** 2
