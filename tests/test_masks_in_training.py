"""Pruned weights stay zero under every optimiser; masks survive copies, state dicts and compilation."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from prunefield.masks import Mask
from prunefield.scores.magnitude import Magnitude

OPTIMISERS = {
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-2),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=1e-2),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
}


def make():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    return net, Mask.keep(Magnitude()(net, generator=torch.Generator()), 0.3)


def step(net, optimiser):
    x = torch.randn(32, 6, generator=torch.Generator().manual_seed(1))
    optimiser.zero_grad()
    functional.cross_entropy(net(x), x.argmax(1) % 3).backward()
    optimiser.step()


@pytest.mark.parametrize("name", OPTIMISERS)
def test_pruned_weights_stay_zero(name):
    net, mask = make()
    optimiser = OPTIMISERS[name](net.parameters())
    for _ in range(3):  # momentum from the dense net would move them
        step(net, optimiser)
    handle = mask.hold_(net, optimiser)
    before = copy.deepcopy(net.state_dict())
    for _ in range(5):
        step(net, optimiser)
        for key, kept in mask.items():
            weight = net.get_parameter(key)
            assert weight[~kept].eq(0).all()
            assert not torch.equal(weight[kept], before[key][kept])
    handle.remove()
    step(net, optimiser)
    assert any(net.get_parameter(key)[~kept].ne(0).any() for key, kept in mask.items())


def test_without_holding_momentum_revives_them():
    net, mask = make()
    optimiser = OPTIMISERS["momentum"](net.parameters())
    step(net, optimiser)
    mask.apply_(net)
    step(net, optimiser)
    assert any(net.get_parameter(key)[~kept].ne(0).any() for key, kept in mask.items())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_masks_survive_copies_state_dicts_and_compilation(backend):
    net, mask = make()
    compiled = torch.compile(net, backend=backend)
    optimiser = OPTIMISERS["momentum"](compiled.parameters())
    copy.deepcopy(mask).hold_(compiled, optimiser)
    for _ in range(3):
        step(compiled, optimiser)
    assert Mask.from_module(compiled) == Mask.from_module(net) == mask
    twin = make()[0]
    twin.load_state_dict(net.state_dict())
    assert Mask.from_module(twin) == Mask.from_module(copy.deepcopy(net)) == mask
    x = torch.randn(4, 6)
    assert torch.allclose(twin(x), compiled(x), atol=1e-6)
