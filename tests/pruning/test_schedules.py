"""Iterated pruning: densities, counts, nesting, an independent loop, and what it refuses."""

import copy
import itertools

import pytest
import torch
from torch import nn

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.masks.selection import count_kept
from prunefield.pruning.iterations import prune
from prunefield.pruning.schedules import plan_densities
from prunefield.scores import Score
from prunefield.scores.synflow import Synflow
from prunefield.tasks import Task
from prunefield.tasks.chi import Chi


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 4)
    )


def batch(seed=0, source="normal"):
    task = Task.parse({"kind": source, "shape": (1, 8, 8), "classes": 4})
    return [task.sample(8, generator=generator(seed, "x")).fold(task.shape)]


def test_plans():
    assert plan_densities(0.1, 1) == plan_densities(0.1, 1, "linear") == [0.1]
    assert plan_densities(0.01, 4) == pytest.approx([10 ** (-t / 2) for t in (1, 2, 3, 4)])
    assert plan_densities(0.01, 100)[-1] == 0.01
    assert plan_densities(0.2, 4, "linear", initial=0.6) == pytest.approx([0.5, 0.4, 0.3, 0.2])
    assert plan_densities(0.2, 2, initial=0.8) == pytest.approx([0.4, 0.2])
    with pytest.raises(UsageError, match="iterations must be at least 1, not 0"):
        plan_densities(0.1, 0)
    with pytest.raises(UsageError, match="unknown schedule 'exp'"):
        plan_densities(0.1, 2, "exp")  # type: ignore[arg-type]


def test_synflow_is_the_plain_loop_of_its_definition(net):
    twin, alive = copy.deepcopy(net).eval(), None
    for parameter in twin.parameters():
        parameter.data.abs_()
    weights = {name: weight for name, weight in twin.named_parameters() if weight.ndim > 1}
    total = sum(weight.numel() for weight in weights.values())
    for t in range(1, 31):
        twin.zero_grad()
        twin(torch.ones(1, 1, 8, 8)).sum().backward()
        scores = {name: (weight * weight.grad).detach() for name, weight in weights.items()}
        order = torch.cat([score.flatten() for score in scores.values()]).sort(descending=True, stable=True).values
        threshold = order[count_kept(total, 0.1 ** (t / 30) if t < 30 else 0.1) - 1]
        alive = {name: score >= threshold for name, score in scores.items()}
        for name, weight in weights.items():
            weight.data *= alive[name]
    before = copy.deepcopy(net.state_dict())
    mask = prune(net, Synflow(shape=(1, 8, 8)), 0.1, generator=generator(0, "s"), iterations=30)
    assert mask == Mask(alive)
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())


@pytest.mark.parametrize("kind", ["random", "magnitude", "snip", "grasp", "synflow"])
@pytest.mark.parametrize("sample", ["never", "last", "every"])
def test_counts_are_exact_and_masks_nest(kind, sample, net):
    total = 6 * 9 + 8 * 54 + 512
    reduce = "rank" if kind == "grasp" and sample != "never" else None
    how = {"sample": sample, "reduce": reduce, "iterations": 4, "floor": 5}
    first = prune(net, kind, 0.4, batch(), generator=generator(0, kind), **how)
    assert sum(first.counts().values()) == count_kept(total, 0.4)
    assert min(first.counts().values()) >= 5
    second = prune(net, kind, 0.1, batch(), generator=generator(1, kind), start=first, **how)
    assert second & first == second
    assert sum(second.counts().values()) == count_kept(total, 0.1)
    assert second == prune(net, kind, 0.1, batch(), generator=generator(1, kind), start=first, **how)


def test_a_function_gives_new_data_in_every_iteration(net):
    stream, seen = generator(0, "chi"), []

    def fresh():
        seen.append(Chi(shape=(1, 8, 8)).sample(1, generator=stream).fold((1, 8, 8)))
        return [seen[-1]]

    prune(net, Synflow(inputs="batch"), 0.2, fresh, generator=generator(0, "s"), iterations=5)
    assert len(seen) == 5
    assert not torch.equal(seen[0].x, seen[1].x)


def test_a_skipped_layer_is_left_out_of_mask_and_count(net):
    mask = prune(net, Synflow(skip=("6.*",), shape=(1, 8, 8)), 0.5, generator=generator(0, "s"), iterations=3)
    assert list(mask) == ["0.weight", "3.weight"]
    assert sum(mask.counts().values()) == count_kept(54 + 432, 0.5)


def test_a_layer_without_scores_is_named_and_nothing_changes(net):
    nn.init.zeros_(net[3].weight)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(UsageError, match=r"all scores of '3\.weight' are zero"):
        prune(net, "magnitude", 0.5, generator=generator(0, "s"))
    with pytest.raises(UsageError, match="unknown sampling 'no'"):
        prune(net, "magnitude", 0.5, generator=generator(0, "s"), sample="no")  # type: ignore[arg-type]
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())


def test_a_mask_of_some_layers_leaves_the_iterations_as_they_are(net):
    torch.manual_seed(0)
    sizes = (64, 64, 64, 64, 10)
    layers = [nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in itertools.pairwise(sizes)]
    deep, score = nn.Sequential(*layers), Synflow(shape=(64,))
    part = Mask({"3.0.weight": torch.rand(10, 64) < 0.5})
    rest = {name: torch.ones(weight.shape) > 0 for name, weight in score.weights(deep).items() if name not in part}
    found, whole = (
        prune(deep, score, 0.005, generator=generator(0, "mask"), iterations=100, start=given)
        for given in (part, Mask({**rest, **part}))
    )
    assert found == whole
    assert all(found.counts().values())


def test_what_a_mask_says_of_skipped_layers_stays(net):
    first = Mask.keep({name: weight.abs() for name, weight in Synflow().weights(net).items()}, 0.2)
    skipped, *_ = first
    score = Score.parse({"kind": "magnitude", "skip": skipped})
    second = prune(net, score, 0.1, generator=generator(0, "mask"), start=first, floor=1)
    assert second.keys() == first.keys()
    assert torch.equal(second[skipped], first[skipped])
    assert second & first == second


def test_a_density_may_be_a_fraction(net):
    half, third = (prune(net, "magnitude", density, generator=generator(0, "m")) for density in ("1/2", "1/3"))
    assert sum(half.counts().values()) == count_kept(half.total, 0.5)
    assert sum(third.counts().values()) == -(-third.total // 3)
    with pytest.raises(UsageError, match="density is the kept fraction"):
        plan_densities("1/0", 1)
