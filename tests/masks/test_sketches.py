"""Real-valued masks of networks against identities of Algorithm 1 and its enumeration."""

import pytest
import torch
from torch import nn

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.masks.selection import count_kept
from prunefield.masks.sketches import apply_sketch_, sketch
from prunefield.theory.sketching import expected_error


def scores(seed=0):
    stream = generator(seed, "scores")
    return {"0.weight": torch.rand(5, 4, generator=stream), "2.weight": torch.rand(3, 5, generator=stream)}


@pytest.mark.parametrize("density", [0.1, 0.5, 1])
def test_every_draw_adds_its_share(density):
    rated = scores()
    total = sum(score.sum().double() for score in rated.values())
    found = sketch(rated, density, generator=generator(1, "mask"))
    assert sum(int(torch.count_nonzero(part)) for part in found.values()) <= count_kept(35, density)
    assert sum((part * rated[name] / total).sum().item() for name, part in found.items()) == pytest.approx(1, rel=1e-6)


def test_the_error_of_a_linear_layer_is_that_of_the_theory():
    x, w = torch.randn(6, 9, generator=generator(0, "x")).double(), torch.rand(6, generator=generator(0, "w")).double()
    p = torch.rand(6, generator=generator(0, "p")).double() + 0.2
    stream, errors = generator(2, "mask"), []
    for _ in range(4000):
        masked = w * sketch({"weight": p}, 0.5, generator=stream)["weight"]
        errors.append((x.T @ (w - masked)).square().sum())
    found = torch.stack(errors)
    expected = expected_error(x, w, p / p.sum(), 3)
    assert abs(found.mean() - expected) < 5 * found.std() / len(errors) ** 0.5


def test_a_network_is_multiplied_and_another_one_refused():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    before = {name: weight.detach().clone() for name, weight in net.named_parameters()}
    found = sketch(scores(), 0.3, generator=generator(0, "mask"))
    kept = apply_sketch_(found, net)
    assert kept == Mask({name: part != 0 for name, part in found.items()})
    for name, weight in net.named_parameters():
        assert torch.equal(weight, before[name] * found[name].float() if name in found else before[name])
    other = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    state = {name: weight.clone() for name, weight in other.state_dict().items()}
    with pytest.raises(UsageError, match="the mask is for another architecture"):
        apply_sketch_(found, other)
    assert all(torch.equal(state[name], weight) for name, weight in other.state_dict().items())
    with pytest.raises(UsageError, match="sampling needs scores ≥ 0"):
        sketch({"weight": torch.tensor([-1.0, 1.0])}, 0.5, generator=torch.Generator())
