"""Saturating functions and products conserve a positive flow."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.core.seeds import generator
from prunefield.modules.flow import PositiveFlow
from prunefield.scores.synflow import Synflow

FUNCTIONS = [
    torch.tanh, Tensor.tanh, Tensor.tanh_, nn.Tanh(), functional.tanh, torch.sigmoid, Tensor.sigmoid, Tensor.sigmoid_,
    nn.Sigmoid(), functional.sigmoid, nn.Hardsigmoid(), nn.Hardsigmoid(inplace=True), nn.Hardtanh(), nn.Softsign(),
    nn.ReLU6(), nn.ReLU6(inplace=True), torch.erf, torch.atan, torch.square, lambda x: x**3,
    lambda x: torch.pow(x, exponent=2), lambda x: torch.clamp(input=x, max=3.0),
    lambda x: torch.add(torch.tanh(x), 1, alpha=2),
    lambda x: x.clamp(0, 6), lambda x: x.clamp(max=1), lambda x: 1 + torch.tanh(x), lambda x: x.clamp_(0, 1),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_slope_is_that_of_the_secant(function):
    x = torch.tensor([0.3, 2.0, 50.0], dtype=torch.float64, requires_grad=True)
    expected = function(x.detach().clone())
    with PositiveFlow(nn.Identity()):
        found = function(x * 1)
    (slope,) = torch.autograd.grad(found.sum(), x)
    assert torch.equal(found, expected)
    assert torch.allclose(x * slope, expected, rtol=1e-12)


def test_the_slope_is_zero_at_zero_and_never_negative():
    x = torch.tensor([0.0, -3.0], requires_grad=True)
    with PositiveFlow(nn.Identity()):
        (slope,) = torch.autograd.grad((x.tanh() + x.sigmoid()).sum(), x)
    assert slope[0] == 0
    assert slope[1] > 0


def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))


WRITTEN = {
    "swish": lambda x: x * torch.sigmoid(x),
    "swish in place": lambda x: x.mul_(x.sigmoid()),
    "gelu of GPT-2": gelu,
    "gelu of BERT": lambda x: x * 0.5 * (1.0 + torch.erf(x / 2**0.5)),
    "squared relu": lambda x: x.relu().square(),
    "product": lambda x: x * x.flip(1),
    "glu": lambda x: functional.glu(torch.cat((x, x), 1)),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_all_layers_have_the_same_flow(name):
    """As with ReLU, in a network without biases; the true slopes of products and saturated functions break this."""

    class Written(nn.Module):
        def forward(self, x):
            return WRITTEN[name](x)

    torch.manual_seed(0)
    layers = [part for _ in range(3) for part in (nn.Linear(9, 9, bias=False), Written())]
    scores = Synflow(shape=(9,))(nn.Sequential(*layers).double(), generator=generator(0, "s"))
    sums = [part.sum().item() for part in scores.values()]
    assert sums == pytest.approx([sums[0]] * 3, rel=1e-9)


def test_a_scored_scale_takes_no_flow_from_the_layer_it_scales():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.scale = nn.Linear(4, 3, bias=False), nn.Parameter(torch.rand(3))

        def forward(self, x):
            return self.scale * self.inner(x)

    scores = Synflow(shape=(4,), also=("scale",))(Scaled(), generator=generator(0, "s"))
    assert scores["scale"].sum().item() == pytest.approx(scores["inner.weight"].sum().item(), rel=1e-5)


@pytest.mark.parametrize("share", [lambda x: x.softmax(1), functional.normalize])
def test_an_overflowing_sum_does_not_look_like_no_flow(share):
    """The numbers are finite but their sum is not, and x/inf is zero."""

    class Shared(nn.Module):
        def forward(self, x):
            return share(x)

    net = nn.Sequential(nn.Linear(4, 6, bias=False), Shared(), nn.Linear(6, 2))
    nn.init.constant_(net[0].weight, 7e37)
    scores = Synflow(shape=(4,))(net, generator=generator(0, "s"))
    assert all(part.gt(0).all() and part.isfinite().all() for part in scores.values())
