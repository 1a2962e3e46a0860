"""The gradient of two-layer networks against autograd, and against the single neuron."""

from typing import get_args

import pytest
import torch

from prunefield.training.committee import Activation, CommitteeNets, apply_activation, compute_gradient

GENERATOR = torch.Generator().manual_seed(5)


def _draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR)


@pytest.mark.parametrize("activation", get_args(Activation))
def test_loss_and_gradient_are_those_of_autograd(activation):
    net = CommitteeNets(_draw(3, 4, 6), _draw(3, 4), _draw(3, 4), _draw(3))
    x, y = _draw(20, 6), (_draw(20) > 0).to(torch.int64)
    loss, gradient = compute_gradient(net, x, y, activation)
    leaves = [part.clone().requires_grad_() for part in net]
    rule = {"relu": torch.relu, "sigmoid": torch.sigmoid, "erf": lambda a: torch.erf(a / 2**0.5)}[activation]
    losses = []
    for weights, bias, outer, offset in zip(*leaves, strict=True):
        answer = (torch.stack([rule(weights @ row + bias) @ outer for row in x]) + offset) / 4
        losses.append((answer - y).square().mean())
    torch.stack(losses).sum().backward()
    assert torch.allclose(loss, torch.stack(losses).detach(), atol=1e-14)
    for ours, leaf in zip(gradient, leaves, strict=True):
        assert leaf.grad is not None
        assert torch.allclose(ours, leaf.grad, atol=1e-14)


@pytest.mark.parametrize("activation", get_args(Activation))
def test_slopes_are_derivatives(activation):
    a = _draw(50).requires_grad_()
    after, slope = apply_activation(a, activation)
    (expected,) = torch.autograd.grad(after.sum(), a)
    assert torch.allclose(slope.detach(), expected, atol=1e-14)
