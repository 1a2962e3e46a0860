"""Recipes train pruned linear layers without their pruned weights: the same results, the same bits after resuming."""

import copy

import pytest
import torch
from torch import nn

from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.training import compact
from prunefield.training.compact_layer import CompactLinear
from prunefield.training.examples import TrainingExamples
from prunefield.training.recipe import Recipe

EXAMPLES = TrainingExamples(torch.randn(50, 60, generator=generator(0, "x")), torch.arange(50) % 3)


@pytest.fixture(autouse=True)
def _compact_even_if_small(monkeypatch):
    monkeypatch.setattr(compact, "SMALL", 0)


def make():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(60, 20), nn.ReLU(), nn.Linear(20, 3))
    return net, Mask({"0.weight": torch.rand(20, 60) < 0.2})


def finish(net, mask, recipe, kept=None, start=0, stop=10**9):
    kept = {} if kept is None else kept

    def keep(name, begin):
        kept[name] = kept.pop(f"saved:{name}", None) if f"saved:{name}" in kept else begin()
        return kept[name]

    for step, _ in recipe.train(net, EXAMPLES, mask=mask, keep=keep, seed=0, start=start):
        if step == stop:
            saved = {f"saved:{name}": item.clone() for name, item in kept.items()}
            return copy.deepcopy(net.state_dict()), saved
    return net.state_dict(), {}


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_same_net_up_to_rounding_and_the_same_bits_after_resuming(optimizer):
    recipe = Recipe(epochs=10, batch_size=32, lr=0.01, optimizer=optimizer, pad=0, flip=False)
    net, mask = make()
    first = net[0]
    whole, _ = finish(net, mask, recipe)
    assert net[0] is first
    dense, _ = finish(make()[0], mask, recipe.model_copy(update={"compact": 0.0}))
    half, buffers = finish(make()[0], mask, recipe, stop=7)
    assert buffers["saved:momentum_buffer:0.weight" if optimizer == "sgd" else "saved:exp_avg:0.weight"].ndim == 1
    again = make()[0]
    again.load_state_dict(half)
    resumed, _ = finish(again, mask, recipe, kept=buffers, start=7)
    for name, item in whole.items():
        assert torch.equal(item, resumed[name])
        torch.testing.assert_close(item, dense[name], rtol=0, atol=1e-5)
    assert not whole["0.weight"][~mask["0.weight"]].any()


def test_buffers_of_a_denser_mask_are_begun_anew():
    net, mask = make()
    recipe = Recipe(epochs=1, batch_size=25, pad=0, flip=False)
    _, buffers = finish(net, mask, recipe, stop=1)
    fewer = Mask({"0.weight": mask["0.weight"] & (torch.arange(60) < 30)})
    found, _ = finish(make()[0], fewer, recipe, kept=buffers)
    assert not found["0.weight"][~fewer["0.weight"]].any()


def test_layers_are_compact_while_they_are_trained_only():
    net, mask = make()
    steps = Recipe(epochs=1, batch_size=25, pad=0, flip=False).train(
        net, EXAMPLES, mask=mask, keep=lambda _, new: new(), seed=0
    )
    next(steps)
    assert isinstance(net[0], CompactLinear)
    steps.close()
    assert isinstance(net[0], nn.Linear)


def test_the_setting_changes_an_id_only_where_it_is_set():
    assert "compact" not in Recipe().model_dump(mode="json")
    assert Recipe(compact=0.2).model_dump(mode="json")["compact"] == 0.2
