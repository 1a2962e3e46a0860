"""A borrowed network is returned unchanged, whatever its forward pass does; wrappers do not appear in names."""

import copy
import random
from collections import Counter, deque

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.measures.collapse import find_collapse
from prunefield.modules.flops import count_flops
from prunefield.pruning.iterations import prune
from prunefield.scores import Score
from prunefield.tasks import Batch

KINDS = ["snip", "grasp", "synflow", "trained-magnitude"]


class Statistics:
    def __init__(self):
        self.calls, self.history = 0, []


class Busy(nn.Module):
    """Changes in place everything that a module can contain."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(8, 10), nn.Linear(10, 3)
        self.seen, self.table, self.names, self.queue = [1], {"a": [0]}, {"x"}, deque([1])
        self.counter, self.plain, self.array = Counter("ab"), torch.zeros(3), np.zeros(3)
        self.statistics, self.cycle = Statistics(), []
        self.cycle.append(self.cycle)
        self.stream, self.numbers = torch.Generator().manual_seed(3), random.Random(3)

    def forward(self, x):
        self.seen.append(x)
        self.table["a"].append(1)
        self.table["b"] = x
        self.names.add("y")
        self.queue.append(2)
        self.counter["a"] += 1
        self.plain += 1
        self.array += 1
        self.statistics.calls += 1
        self.statistics.history.append(x)
        torch.rand(2, generator=self.stream)
        self.numbers.random()
        random.random()
        np.random.rand()  # noqa: NPY002
        self.register_buffer("cache", x.detach())
        self.head.extra = nn.ReLU()
        return self.head(self.first(x).relu())


@pytest.fixture
def batch():
    return Batch(torch.randn(6, 8, generator=generator(0, "x")), torch.arange(6) % 3)


def look(net):
    return {
        "seen": list(net.seen), "table": copy.deepcopy(net.table), "names": set(net.names), "queue": list(net.queue),
        "counter": dict(net.counter), "plain": net.plain.tolist(), "array": net.array.tolist(),
        "calls": net.statistics.calls, "history": list(net.statistics.history), "keys": list(net.state_dict()),
        "modules": [name for name, _ in net.named_modules()], "attributes": sorted(vars(net)),
        "stream": net.stream.get_state().tolist(), "numbers": net.numbers.getstate(), "global": random.getstate(),
        "numpy": np.random.get_state()[1].tolist(),  # noqa: NPY002
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_changes_in_place_are_undone(kind, mode, batch):
    net = Busy()
    before, seen = look(net), net.seen
    settings = {"kind": kind} | ({"mode": mode} if kind != "trained-magnitude" else {"recipe": {"epochs": 1}})
    mask = prune(net, settings, 0.5, [batch], generator=generator(0, "m"), iterations=2)
    find_collapse(net, mask, (8,))
    count_flops(net, batch.x)
    assert look(net) == before
    assert net.seen is seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", [parametrizations.spectral_norm, torch.nn.utils.spectral_norm])
def test_a_spectral_norm_is_not_changed(kind, norm, batch):
    torch.manual_seed(0)
    net = nn.Sequential(norm(nn.Linear(8, 6)), nn.ReLU(), nn.Linear(6, 3)).train()
    before = copy.deepcopy(net.state_dict())
    settings = {"kind": kind, "skip": "0"} | ({"mode": "train"} if kind != "trained-magnitude" else {})
    prune(net, settings, 0.5, [batch], generator=generator(0, "m"), iterations=2)
    Mask.from_module(net)
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())
    assert net.training
    assert net[0].training


def test_a_failure_leaves_the_network_unchanged(batch):
    class Broken(Busy):
        def forward(self, x):
            super().forward(x)
            raise RuntimeError("no")

    net = Broken()
    before, weight = look(net), net.first.weight
    with pytest.raises(RuntimeError, match="no"):
        prune(net, "snip", 0.5, [batch], generator=generator(0, "m"), start=Mask.from_module(Busy()))
    assert look(net) == before
    assert net.first.weight is weight


def test_an_lstm_runs_with_the_substituted_weights():
    torch.manual_seed(0)

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 3)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    net, x, y = Last(), torch.randn(6, 7, 4), torch.arange(6) % 3
    nn.functional.cross_entropy(net(x), y).backward()
    score = Score.parse({"kind": "snip", "also": "lstm.weight*"})
    found = score(net, (x, y), generator=generator(0, "s"))
    for name, part in found.items():
        weight = net.get_parameter(name)
        assert torch.allclose(part, (weight * weight.grad).abs(), atol=1e-8)
    mask = prune(net, score, 0.3, (x, y), generator=generator(0, "m"), iterations=3)
    assert list(mask) == ["lstm.weight_ih_l0", "lstm.weight_hh_l0", "head.weight"]


class Named(nn.Module):
    """A child that happens to be called `module` keeps its name."""

    def __init__(self):
        super().__init__()
        self.module = nn.Linear(3, 3)

    def forward(self, x):
        return self.module(x)


def wrapped():
    body = nn.Sequential(nn.Linear(8, 6), nn.ReLU())
    return nn.Sequential(torch.compile(body, backend="eager"), nn.DataParallel(nn.Linear(6, 3)), Named())


@pytest.mark.parametrize("outside", [lambda net: net, nn.DataParallel, lambda net: torch.compile(net, backend="eager")])
def test_wrappers_do_not_appear_in_names(outside, batch):
    torch.manual_seed(0)
    net = outside(wrapped())
    names = ["0.0.weight", "1.weight", "2.module.weight"]
    for kind in [*KINDS, "magnitude", "random"]:
        mask = prune(net, kind, 0.5, [batch], generator=generator(0, "m"), floor=1)
        assert list(mask) == names
    assert list(count_flops(net, batch.x)) == names
    assert not find_collapse(net, mask, (8,)).dead
    mask.hold_(net, torch.optim.SGD(net.parameters(), lr=0.1))
    assert Mask.from_module(net) == mask
    mask.to_torch_prune(net)
    assert Mask.from_module(net) == mask
