"""What every score must do, present and future."""

import copy

import pytest
import torch
from torch import nn

from prunefield.core.errors import UsageError
from prunefield.core.names import modules
from prunefield.core.plugin import find_class
from prunefield.masks.mask import Mask
from prunefield.scores import Score, find_prunable
from prunefield.tasks import Batch

KINDS = list(modules("scores"))


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Unflatten(1, (1, 6, 6)), nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)
    )


@pytest.fixture
def batches():
    stream = torch.Generator().manual_seed(1)
    return [Batch(torch.randn(8, 36, generator=stream), torch.randint(5, (8,), generator=stream)) for _ in range(2)]


def rate(kind, net, batches, seed=0):
    return Score.parse(kind)(net, batches, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kind", KINDS)
class TestScore:
    def test_rates_every_prunable_weight(self, kind, net, batches):
        scores = rate(kind, net, batches)
        assert {name: score.shape for name, score in scores.items()} == {
            name: weight.shape for name, weight in find_prunable(net).items()
        }
        assert all(score.isfinite().all() and not score.requires_grad for score in scores.values())

    def test_is_determined_by_its_generator(self, kind, net, batches):
        first, second = rate(kind, net, batches), rate(kind, net, batches)
        assert all(torch.equal(first[name], second[name]) for name in first)

    def test_seeds_nothing_globally(self, kind, net, batches):
        before = torch.random.get_rng_state()
        rate(kind, net, batches)
        assert torch.equal(before, torch.random.get_rng_state())

    def test_leaves_the_net_as_it_was(self, kind, net, batches):
        net.train()
        net[5].weight.grad = torch.ones_like(net[5].weight)
        net[2].eval()
        net[1].bias.requires_grad_(False)
        before = copy.deepcopy(net)
        rate(kind, net, batches)
        assert all(
            torch.equal(a, b) for a, b in zip(net.state_dict().values(), before.state_dict().values(), strict=True)
        )
        assert [module.training for module in net.modules()] == [module.training for module in before.modules()]
        assert net[5].weight.grad.eq(1).all()
        assert net[1].weight.grad is None
        assert [name for name, parameter in net.named_parameters() if not parameter.requires_grad] == ["1.bias"]

    def test_a_skipped_layer_is_not_rated(self, kind, net, batches):
        net[1].weight.requires_grad_(False)
        assert list(rate({"kind": kind, "skip": ["1.*"]}, net, batches)) == ["5.weight"]

    def test_frozen_shared_and_missing_weights_are_refused_in_one_line(self, kind, net, batches):
        net[1].weight.requires_grad_(False)
        with pytest.raises(UsageError, match=r"'1\.weight' is frozen"):
            rate(kind, net, batches)
        twins = nn.Sequential(nn.Linear(36, 36), nn.ReLU(), nn.Linear(36, 36), nn.Linear(36, 5))
        twins[2].weight = twins[0].weight
        with pytest.raises(UsageError, match=r"'0\.weight' is shared with 2\.weight"):
            rate(kind, twins, batches)
        with pytest.raises(UsageError, match="no weights to prune"):
            rate(kind, nn.ReLU(), batches)

    def test_a_compiled_net_has_the_same_scores(self, kind, net, batches):
        plain, compiled = rate(kind, net, batches), rate(kind, torch.compile(net, backend="eager"), batches)
        assert plain.keys() == compiled.keys()
        assert all(torch.equal(plain[name], compiled[name]) for name in plain)

    @pytest.mark.parametrize("density", [0.013, 0.5, 1.0])
    def test_gives_masks_of_the_exact_size(self, kind, net, batches, density):
        total = sum(weight.numel() for weight in find_prunable(net).values())
        mask = Mask.keep(rate(kind, net, batches), density)
        assert sum(int(kept.sum()) for kept in mask.values()) == total - int(round((1 - density) * total, 9))

    def test_says_where_it_comes_from(self, kind):
        cls = find_class(Score, kind)
        assert cls.__doc__
        assert any(item.partition("/")[0] in cls.__doc__ for item in modules("papers"))
