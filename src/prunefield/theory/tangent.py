"""Pruning in the tangent of a network (bar2023, Section 7): J(θ)θ instead of Xᵀw.

The Jacobian J of all outputs by all d parameters has shape (examples × outputs, d); its transpose replaces the inputs X
of `sketching`, whose functions give masks and exact errors. All computations are in double precision.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from prunefield.theory.sketching import optimal_probabilities

Parameters = Mapping[str, Tensor]


def parameters_of(net: nn.Module) -> dict[str, Tensor]:
    """A copy of the parameters of a net in double precision, by name.

    >>> list(parameters_of(nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    return {name: parameter.detach().double() for name, parameter in net.named_parameters()}


def flatten_parameters(parameters: Parameters) -> Tensor:
    """All parameters as one vector θ of shape (d,).

    >>> flatten_parameters({"a": torch.zeros(2, 3), "b": torch.ones(1)}).shape
    torch.Size([7])
    """
    return torch.cat([parameter.flatten() for parameter in parameters.values()])


def unflatten_parameters(theta: Tensor, like: Parameters) -> dict[str, Tensor]:
    """The parameters in θ; the inverse of `flatten_parameters`.

    >>> unflatten_parameters(torch.arange(3), {"a": torch.zeros(2, 1), "b": torch.ones(1)})["a"].tolist()
    [[0], [1]]
    """
    parts = theta.split([parameter.numel() for parameter in like.values()])
    return {name: part.view(old.shape) for (name, old), part in zip(like.items(), parts, strict=True)}


def bind_inputs(net: nn.Module, x: Tensor) -> Callable[[Parameters], Tensor]:
    """The outputs of a net on the inputs `x` as a function of its parameters alone, flattened.

    >>> bind_inputs(nn.Linear(2, 3), torch.ones(4, 2))(parameters_of(nn.Linear(2, 3))).shape
    torch.Size([12])
    """
    buffers = {name: buffer.double() if buffer.is_floating_point() else buffer for name, buffer in net.named_buffers()}
    return lambda parameters: functional_call(net, {**parameters, **buffers}, (x.double(),)).flatten()


def compute_jacobian(outputs: Callable[[Parameters], Tensor], parameters: Parameters) -> Tensor:
    """The Jacobian J = ∂f/∂θ of shape (outputs, d).

    >>> net, x = nn.Linear(2, 1), torch.tensor([[3.0, 4.0]])
    >>> compute_jacobian(bind_inputs(net, x), parameters_of(net)).tolist()
    [[3.0, 4.0, 1.0]]
    """
    jacobian: dict[str, Tensor] = jacrev(outputs)(dict(parameters))  # pyright: ignore[reportAssignmentType]
    return torch.cat([part.flatten(1) for part in jacobian.values()], 1)


def tangent_scores(net: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """‖J_(k)‖·|θ_k| for every parameter of a net, by name: Eq. 2 for its tangent, up to a constant.

    >>> net = nn.Linear(2, 1, bias=False)
    >>> scores = tangent_scores(net, torch.tensor([[3.0, 4.0]]))["weight"]
    >>> torch.allclose(scores, net.weight.detach().abs().double() * torch.tensor([[3.0, 4.0]]))
    True
    """
    parameters = parameters_of(net)
    scores = flatten_parameters(parameters).abs() * compute_jacobian(bind_inputs(net, x), parameters).norm(dim=0)
    return unflatten_parameters(scores, parameters)


def tangent_probabilities(jacobian: Tensor, theta: Tensor) -> Tensor:
    """p of Eq. 2 for the tangent: p_k ∝ ‖J_(k)‖·|θ_k|, of shape (d,).

    >>> tangent_probabilities(torch.tensor([[1.0, 3.0]]), torch.tensor([1.0, -1.0])).tolist()
    [0.25, 0.75]
    """
    return optimal_probabilities(theta, jacobian.mT)


def sum_inverses(values: Tensor) -> float:
    """F = Σ_k 1/|a_k| of Theorem 7.2; infinite if any a_k is zero.

    >>> sum_inverses(torch.tensor([1.0, -2.0])), sum_inverses(torch.tensor([1.0, 0.0]))
    (1.5, inf)
    """
    return (1 / values.double().abs()).sum().item()


def tangent_bound(jacobian: Tensor, theta: Tensor, s: int, *, k: float, distance: float) -> float:
    """Theorem 7.2 as printed, (1/s)K³‖θ0‖₁F(J0)·(‖θ0‖₁ + F(θ0)·9K⁴R0²/λ² + 6√d·K³R0/λ), with D = 3KR0/λ_min:
    (1/s)K³‖θ0‖₁F(J0)·(‖θ0‖₁ + F(θ0)·K²D² + 2√d·K²D); J and θ are taken at initialisation.

    >>> tangent_bound(torch.ones(1, 4), torch.ones(4), 2, k=1.0, distance=0.0)
    32.0
    """
    theta, d = theta.double(), theta.numel()
    total = theta.abs().sum().item()
    inner = total + sum_inverses(theta) * (k * distance) ** 2 + 2 * d**0.5 * k**2 * distance
    return k**3 * total * sum_inverses(jacobian.double().norm(dim=0)) * inner / s
