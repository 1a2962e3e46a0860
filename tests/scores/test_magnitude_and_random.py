"""The scores that need neither data nor gradients."""

import copy

import torch
from torch import nn

from prunefield.masks.mask import Mask
from prunefield.scores.magnitude import Magnitude
from prunefield.scores.random import Random


def _net() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(12, 4))


def test_magnitude_is_the_absolute_weight_of_linear_and_convolution_layers():
    net = _net()
    before = copy.deepcopy(net.state_dict())
    scores = Magnitude()(net, generator=torch.Generator())
    assert scores.keys() == {"0.weight", "3.weight"}
    assert all(torch.equal(score, before[name].abs()) and not score.requires_grad for name, score in scores.items())
    scores["3.weight"].zero_()
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items())


def test_random_scores_keep_every_weight_equally_often():
    net, generator = nn.Linear(5, 2), torch.Generator().manual_seed(0)
    kept = sum(Mask.keep(Random()(net, generator=generator), 0.3)["weight"].double() for _ in range(4000)) / 4000
    assert (kept - 0.3).abs().max() < 4.5 * (0.3 * 0.7 / 4000) ** 0.5


def test_random_scores_come_from_the_generator_alone():
    net = _net()
    state = torch.get_rng_state()
    one, same, other = (Random()(net, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["3.weight"], other["3.weight"])
