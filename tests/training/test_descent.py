"""The step by hand against autograd of an independent formulation, and against differences, in float64."""

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from prunefield.core.seeds import generator
from prunefield.networks.fcn import Fcn
from prunefield.training.descent import is_plain_fcn, take_step_

WIDTHS = (6, 5, 4, 3)


def make(batch_norm):
    built = Fcn(hidden=WIDTHS[1:-1], batch_norm=batch_norm).build(WIDTHS[:1], WIDTHS[-1], generator=generator(0, "net"))
    net = built.double()
    stream = generator(0, "numbers")
    with torch.no_grad():
        for parameter in net.parameters():  # biases, γ and β are not where they begin
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=stream, dtype=torch.float64))
    x = 2 * torch.randn(9, 6, generator=stream, dtype=torch.float64) + 1
    return net, x, torch.randint(3, (9,), generator=stream)


def loss_of(table, x, y, batch_norm):
    """The loss from nothing but sums and products."""
    h = x
    for index in range(len(WIDTHS) - 1):
        h = h.clamp(min=0) if index else h
        if batch_norm:
            mean = h.sum(0) / len(h)
            h = (h - mean) / (((h - mean) ** 2).sum(0) / len(h) + 1e-10) ** 0.5
            h = h * table[f"norms.{index}.weight"] + table[f"norms.{index}.bias"]
        h = h @ table[f"layers.{index}.weight"].T + table[f"layers.{index}.bias"]
    return (h.exp().sum(1).log() - h[torch.arange(len(y)), y]).sum() / len(y)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_every_parameter_moves_along_the_gradient(batch_norm):
    net, x, y = make(batch_norm)
    table = {name: parameter.detach().clone().requires_grad_() for name, parameter in net.named_parameters()}
    loss = loss_of(table, x, y, batch_norm)
    assert torch.autograd.gradcheck(
        lambda *values: loss_of(dict(zip(table, values, strict=True)), x, y, batch_norm), tuple(table.values())
    )
    gradients = dict(zip(table, torch.autograd.grad(loss, list(table.values())), strict=True))
    assert take_step_(net, x, y, 0.5) == pytest.approx(loss.item(), rel=1e-12)
    for name, parameter in net.named_parameters():
        torch.testing.assert_close((table[name] - parameter) / 0.5, gradients[name], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_running_moments_are_those_of_the_module(rate):
    ours, x, y = make(True)
    theirs, _, _ = make(True)
    for shift in (0, 1, 2):
        theirs.load_state_dict({**theirs.state_dict(), **dict(ours.named_parameters())})
        theirs(x + shift)
        take_step_(ours, x + shift, y, rate)
        for name, buffer in ours.named_buffers():
            torch.testing.assert_close(buffer, theirs.get_buffer(name))


def test_nothing_moves_when_the_loss_is_no_number():
    net, x, y = make(True)
    before = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
    x[3, 2] = float("inf")
    assert not torch.tensor(take_step_(net, x, y, 0.5)).isfinite()
    assert all(torch.equal(parameter, before[name]) for name, parameter in net.named_parameters())


def test_it_is_left_to_autograd_what_is_not_a_plain_net():
    plain, hooked, frozen, pruned, other = (make(True)[0] for _ in range(5))
    hooked.layers[0].register_forward_hook(lambda *_: None)
    frozen.layers[0].requires_grad_(False)
    prune.identity(pruned.layers[0], "weight")
    other.layers[1] = nn.Sequential(other.layers[1])
    nets = (plain, hooked, frozen, pruned, other, nn.Linear(2, 2))
    assert [is_plain_fcn(net) for net in nets] == [True, False, False, False, False, False]


def test_the_module_still_works_with_function_transforms():
    net, x, y = make(False)
    table = {name: parameter.detach() for name, parameter in net.named_parameters()}

    def loss(values):
        return nn.functional.cross_entropy(torch.func.functional_call(net, values, (x,)), y)

    before = net.layers[0].weight.detach().clone()
    slope = torch.func.grad(loss)(table)["layers.0.weight"]
    take_step_(net, x, y, 1.0)
    torch.testing.assert_close(before - net.layers[0].weight, slope)
