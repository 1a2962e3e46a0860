"""Pruned weights stay zero under every optimiser; masks survive copies, state dicts and compilation."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from prunefield.core.errors import UsageError
from prunefield.masks.mask import Mask
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


def test_two_optimizers_hold_one_mask():
    net, mask = make()
    first, second = (OPTIMISERS["momentum"](net[index].parameters()) for index in (0, 2))
    with pytest.raises(
        UsageError, match=r"none of these optimizers updates 2\.weight, and another one could revive .*hold_.net, f"
    ):
        mask.hold_(net, first)
    assert net[0].weight.ne(0).all()
    x = torch.randn(32, 6, generator=torch.Generator().manual_seed(1))
    for _ in range(3):  # momentum that would revive what is pruned
        functional.cross_entropy(net(x), x.argmax(1) % 3).backward()
        first.step(), second.step()
    handle = mask.hold_(net, first, second)
    for _ in range(3):
        functional.cross_entropy(net(x), x.argmax(1) % 3).backward()
        first.step(), second.step()
        assert all(net.get_parameter(key)[~kept].eq(0).all() for key, kept in mask.items())
    handle.remove()
    first.step(), second.step()
    assert all(net.get_parameter(key)[~kept].ne(0).any() for key, kept in mask.items())


def test_a_frozen_weight_needs_no_optimizer():
    net, mask = make()
    net[2].weight.requires_grad_(False)
    optimizer = OPTIMISERS["adamw"](net[0].parameters())
    mask.hold_(net, optimizer)
    step(net, optimizer)
    assert Mask.from_module(net) == mask
    with pytest.raises(UsageError, match="hold_ takes torch optimizers, not float"):
        mask.hold_(net, 0.1)  # type: ignore[arg-type]


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
