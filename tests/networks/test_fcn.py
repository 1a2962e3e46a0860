"""Fully connected nets against a plain computation and against torch's batch norm."""

import math

import pytest
import torch
from torch import nn

from prunefield.core.seeds import generator
from prunefield.networks.fcn import Fcn, Norm


def test_forward_is_what_the_formula_says():
    net = Fcn(hidden=(4, 3), batch_norm=False).build((5,), 2, generator=generator(0, "net"))
    x = torch.randn(7, 5, generator=generator(0, "x"))
    w = [layer.weight for layer in net.layers]
    expected = torch.relu(torch.relu(x @ w[0].T) @ w[1].T) @ w[2].T
    torch.testing.assert_close(net(x), expected)
    assert all(type(layer) is nn.Linear for layer in net.layers)


@pytest.mark.parametrize("init", ["glorot-normal", "glorot-uniform"])
def test_initial_weights_have_glorots_variance(init):
    net = Fcn(hidden=(300,), init=init, init_scale=0.5).build((400,), 10, generator=generator(0, "net"))
    weight = net.layers[0].weight.detach()
    deviation = 0.5 * math.sqrt(2 / 700)
    assert weight.std().item() == pytest.approx(deviation, rel=0.01)
    bounded = weight.abs().max().item() <= math.sqrt(3) * deviation * (1 + 1e-6)
    assert bounded == (init == "glorot-uniform")
    assert not net.layers[0].bias.any()


def test_norm_trains_as_torchs_batch_norm():
    x = torch.randn(40, 6, generator=generator(0, "x")) * 3 + 1
    ours, theirs = Norm(6), nn.BatchNorm1d(6, eps=1e-10)
    torch.testing.assert_close(ours(x), theirs(x))


def test_running_moments_begin_with_the_first_batch_and_then_average():
    first, second = torch.randn(2, 40, 6, generator=generator(0, "x"))
    norm = Norm(6)
    norm(first)
    torch.testing.assert_close(norm.mean, first.mean(0))
    torch.testing.assert_close(norm.variance, first.var(0, correction=0))
    norm(second)
    torch.testing.assert_close(norm.mean, 0.99 * first.mean(0) + 0.01 * second.mean(0))
    norm.forget_()
    norm(second)
    torch.testing.assert_close(norm.mean, second.mean(0))
    norm.eval()
    expected = (first - second.mean(0)) / (second.var(0, correction=0) + 1e-10).sqrt()
    torch.testing.assert_close(norm(first), expected)


def test_batch_norm_stands_before_every_linear_layer():
    net = Fcn(hidden=(4,)).build((5,), 2, generator=generator(0, "net"))
    assert [len(norm.weight) for norm in net.norms] == [5, 4]
    x = torch.randn(30, 5, generator=generator(0, "x"))
    torch.testing.assert_close(net(7 * x + 2), net(x), atol=1e-4, rtol=1e-4)  # scale and shift of the input are lost
