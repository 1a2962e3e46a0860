"""The training recipe of bar2023: its steps against plain formulas, augmentation, and resuming."""

import copy
import itertools

import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torch.nn import functional

from prunefield.core.errors import RunError, UsageError
from prunefield.masks.mask import Mask
from prunefield.networks.resnet import Resnet
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.noise import Noise
from prunefield.training.examples import TrainingExamples, hold_out
from prunefield.training.recipe import Recipe, augment_images


def fresh(_, start):
    return start()


@pytest.fixture
def examples():
    stream = torch.Generator().manual_seed(0)
    return TrainingExamples(torch.randn(22, 3, 6, 6, generator=stream), torch.randint(4, (22,), generator=stream))


def build(seed=0, width=4):
    stream = torch.Generator().manual_seed(seed)
    return Resnet(width=width, stages=(1, 1)).build((3, 6, 6), 4, generator=stream)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_is_the_written_formula(nesterov):
    """v ← μv + g + λw, w ← w − η(v, or with Nesterov g + λw + μv)."""
    x, y = torch.tensor([[1.0, -2.0], [0.5, 1.0], [2.0, 0.0]]), torch.tensor([0, 1, 1])
    net = nn.Linear(2, 2, bias=False).double()
    recipe = Recipe(
        epochs=6, batch_size=3, milestones=(0.5,), factor=0.5, nesterov=nesterov, weight_decay=0.1, warmup=2
    )
    w, v = net.weight.detach().clone(), torch.zeros(2, 2, dtype=torch.float64)
    for step, (_, loss) in enumerate(
        recipe.train(net, TrainingExamples(x.double(), y), mask=Mask({}), keep=fresh, seed=0, names=("a",))
    ):
        chances = (x.double() @ w.T).softmax(1)
        assert loss == pytest.approx(float(-chances[torch.arange(3), y].log().mean()))
        g = (chances - functional.one_hot(y, 2)).T @ x.double() / 3 + 0.1 * w
        v = 0.9 * v + g
        rate = 0.1 * (0.5 if step >= 3 else 1) * min(1, (step + 1) / 2)
        w = w - rate * (g + 0.9 * v if nesterov else v)
        assert torch.allclose(net.weight.detach(), w)


def test_each_epoch_sees_every_example_once(examples):
    seen = []

    class Spy(TrainingExamples):
        def take(self, rows):
            seen.append(rows)
            return super().take(rows)

    recipe = Recipe(epochs=2, batch_size=5)
    steps = [step for step, _ in recipe.train(build(), Spy(examples.x, examples.y), mask=Mask({}), keep=fresh, seed=0)]
    assert steps == list(range(1, 11)) == list(range(1, recipe.steps(22) + 1))
    assert sorted(len(rows) for rows in seen[:5]) == [4, 4, 4, 5, 5]
    for part in (seen[:5], seen[5:]):
        assert torch.cat(part).sort().values.tolist() == list(range(22))
    assert not torch.equal(torch.cat(seen[:5]), torch.cat(seen[5:]))


def test_channels_last_changes_rounding_errors_alone(examples):
    """In double precision, where they are small enough to tell; and what is saved keeps its layout."""
    ends = []
    for last in (False, True):
        net, recipe = build(width=8).double(), Recipe(epochs=2, batch_size=6, channels_last=last)
        doubled = TrainingExamples(examples.x.double(), examples.y)
        assert len(list(recipe.train(net, doubled, mask=Mask({}), keep=fresh, seed=0))) == 8
        ends.append(net.state_dict())
    for name, value in ends[0].items():
        assert torch.allclose(value.double(), ends[1][name].double(), atol=1e-9), name
        assert ends[1][name].is_contiguous()
    assert "channels_last" not in Recipe().model_dump()  # ids of earlier runs stay as they are
    with pytest.raises(UsageError, match=r"multiple of 8 channels, but 'stem.0' has 4; set channels_last = false"):
        next(recipe.train(build(), examples, mask=Mask({}), keep=fresh, seed=0))


@pytest.mark.parametrize(("optimiser", "last"), [("sgd", False), ("adam", False), ("sgd", True)])
def test_it_resumes_with_the_same_bits_and_pruned_weights_stay_zero(optimiser, last, examples):
    recipe = Recipe(epochs=2, batch_size=6, optimizer=optimiser, lr=0.01, channels_last=last)
    mask = Mask({"head.weight": torch.rand(4, 16, generator=torch.Generator().manual_seed(3)) < 0.5})

    def train(net, buffers, start=0):
        def keep(name, new):
            buffers[name] = buffers.get(name, new())
            return buffers[name]

        return recipe.train(net, examples, mask=mask, keep=keep, seed=5, start=start)

    whole, kept = build(width=8), {}
    saved = []
    for step, _ in train(whole, kept):
        assert whole.get_parameter("head.weight")[~mask["head.weight"]].eq(0).all()
        saved.append((step, copy.deepcopy(whole.state_dict()), {key: item.clone() for key, item in kept.items()}))
    ends = list(whole.state_dict().values())
    for step, weights, buffers in saved:
        again = build(1, width=8)
        again.load_state_dict(weights)
        assert len(list(train(again, buffers, step))) == recipe.steps(22) - step
        assert all(torch.equal(a, b) for a, b in zip(ends, again.state_dict().values(), strict=True))


def test_augmentation_is_a_shift_and_perhaps_a_mirror():
    x = torch.arange(2 * 3 * 5 * 5.0).view(2, 3, 5, 5).repeat(100, 1, 1, 1)
    black = torch.tensor([-1.0, -2.0, -3.0])
    stream = torch.Generator().manual_seed(0)
    found = augment_images(x, pad=2, flip=True, black=black, generator=stream)
    ground = black.view(1, 3, 1, 1)
    padded = functional.pad(x - ground, (2,) * 4) + ground
    seen = set()
    for old, new in zip(padded, found, strict=True):
        places = []
        for dy, dx in itertools.product(range(5), range(5)):
            part = old[:, dy : dy + 5, dx : dx + 5]
            places += [
                (dy, dx, mirrored) for mirrored in (0, 1) if torch.equal(new, part.flip(2) if mirrored else part)
            ]
        assert len(places) == 1
        seen.update(places)
    assert len(seen) > 45  # of 50 equally likely ones, 200 draws


def test_black_is_what_the_task_says():
    task = Leaves(side=8)
    examples = TrainingExamples.of(task, 12, seed=0)
    assert examples.black.tolist() == pytest.approx([float(task.levels[0])] * 3)
    assert examples.x.shape == (12, 3, 8, 8)
    assert hold_out(task, 5, seed=0).x.shape == (5, 3, 8, 8)


def test_a_large_set_stays_in_its_files(monkeypatch):
    task = Noise(of=Leaves(side=4), images=30)
    small = TrainingExamples.of(task, 0, seed=0)
    monkeypatch.setattr("prunefield.training.examples.LARGEST", 10)
    large = TrainingExamples.of(task, 0, seed=0)
    rows = torch.tensor([3, 29, 0])
    assert large.x is None
    assert torch.equal(small.take(rows).x, large.take(rows).x)
    assert torch.equal(small.take(rows).y, large.take(rows).y)


def test_bad_recipes_and_diverging_runs_are_told_in_one_line(examples):
    with pytest.raises(ValidationError, match="nesterov needs"):
        Recipe(nesterov=True, momentum=0)
    net = build()
    nn.init.constant_(net.get_parameter("head.weight"), torch.inf)
    with pytest.raises(RunError, match=r"the loss is \w+ at step 1; a learning rate"):
        list(Recipe(epochs=1).train(net, examples, mask=Mask({}), keep=fresh, seed=0))
