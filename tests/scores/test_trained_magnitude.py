"""The score `trained-magnitude` against a training in plain torch, and IMP with rewinding as a loop of it."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from prunefield.core.errors import RunError, UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.pruning.iterations import prune
from prunefield.pruning.schedules import plan_densities
from prunefield.scores.trained_magnitude import TrainedMagnitude
from prunefield.tasks import Batch
from prunefield.training.recipe import Recipe

RECIPE = Recipe(epochs=6, lr=0.3, momentum=0.8, nesterov=True, milestones=(0.5,), weight_decay=1e-3, pad=0, flip=False)
SCORE = TrainedMagnitude(recipe=RECIPE)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 3)).double()


@pytest.fixture
def batches():
    stream = generator(0, "data")
    return [Batch(torch.randn(n, 4, generator=stream).double(), torch.arange(n) % 3) for n in (20, 12)]


def train_plainly(net, batches, mask=None):
    """The same six steps by hand: all examples in each, so that their order does not matter."""
    net, x, y = copy.deepcopy(net), *(torch.cat(parts) for parts in zip(*batches, strict=True))
    optimiser = torch.optim.SGD(net.parameters(), 0.3, momentum=0.8, nesterov=True, weight_decay=1e-3)
    for step in range(6):
        optimiser.param_groups[0]["lr"] = 0.3 if step < 3 else 0.03
        optimiser.zero_grad()
        functional.cross_entropy(net(x), y).backward()
        optimiser.step()
        for name, kept in (mask or {}).items():
            net.get_parameter(name).data *= kept
    return {name: weight.detach().abs() for name, weight in net.named_parameters() if weight.ndim > 1}


def test_it_is_the_magnitude_after_training(net, batches):
    scores, expected = SCORE(net, batches, generator=generator(0, "s")), train_plainly(net, batches)
    assert scores.keys() == expected.keys()
    assert all(torch.allclose(scores[name], expected[name], rtol=1e-10) for name in expected)
    assert not torch.allclose(scores["0.weight"], net[0].weight.abs())


def test_its_schedule_is_imp_with_rewinding(net, batches):
    mask = None
    for density in plan_densities(0.2, 3):
        student = copy.deepcopy(net)  # rewound
        for name, kept in (mask or {}).items():
            student.get_parameter(name).data *= kept
        mask = Mask.keep(train_plainly(student, batches, mask), density, start=mask)
    assert prune(net, SCORE, 0.2, batches, generator=generator(0, "s"), iterations=3) == mask


def test_dropout_draws_from_the_given_generator_alone(batches):
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3)).double()
    first, again, other = (SCORE(net, batches, generator=generator(seed, "s"))["2.weight"] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_skipped_layer_is_trained_though_it_begins_at_zero(net, batches):
    nn.init.zeros_(net[2].weight)
    scores = TrainedMagnitude(recipe=RECIPE, skip=("2.*",))(net, batches, generator=generator(0, "s"))
    assert not torch.allclose(scores["0.weight"], (net[0].weight * (1 - 0.3e-3)).abs(), rtol=1e-3)


def test_without_data_or_with_too_large_a_rate_one_line_says_so(net, batches):
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(UsageError, match="needs data, but there are no examples"):
        SCORE(net, generator=generator(0, "s"))
    with pytest.raises(RunError, match="a learning rate below 1e\\+200 may help"), torch.no_grad():
        TrainedMagnitude(recipe=Recipe(lr=1e200))(net, batches, generator=generator(0, "s"))
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())
