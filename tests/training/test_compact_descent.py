"""Steps without pruned weights against steps that set them to zero."""

import copy

import pytest
import torch

from prunefield.core.seeds import generator
from prunefield.networks.fcn import Fcn
from prunefield.tasks import Batch
from prunefield.training import compact, compact_descent
from prunefield.training.steps import train


@pytest.fixture(autouse=True)
def _compact_even_if_small(monkeypatch):
    monkeypatch.setattr(compact, "SMALL", 0)


def make(density, batch_norm=True, batch=10, dtype=torch.float32):
    net = Fcn(hidden=(24, 17), batch_norm=batch_norm).build((150,), 3, generator=generator(0, "net")).to(dtype)
    stream = generator(0, "data")
    draw = lambda: Batch(  # noqa: E731
        torch.randn(batch, 150, generator=stream, dtype=dtype), torch.randint(3, (batch,), generator=stream)
    )
    batches = [draw() for _ in range(100)]
    mask = {
        name: torch.rand(parameter.shape, generator=stream) < density
        for name, parameter in net.named_parameters()
        if name.startswith(("layers.0", "layers.1"))
    }
    mask["layers.0.weight"][:, :3] = False  # an empty column
    mask["layers.1.weight"][2] = False  # an empty row
    return net, batches, mask


def finish(net, batches, mask, compact):
    feed = iter(batches)
    for _ in train(net, lambda: next(feed), steps=len(batches), lr=0.05, mask=mask, compact=compact):
        pass
    return net


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("batch", [2, 10, 40, 90])
def test_it_is_the_masked_step_in_float64(batch, batch_norm):
    start, batches, mask = make(0.3, batch_norm, batch, torch.float64)
    ours, theirs = (finish(copy.deepcopy(start), batches, mask, compact) for compact in (1.0, 0.0))
    for name, item in ours.state_dict().items():
        torch.testing.assert_close(item, theirs.state_dict()[name], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("density", [1.0, 0.5, 0.1, 0.01, 0.001, 0.0])
def test_a_hundred_steps_agree_up_to_rounding(density):
    start, batches, mask = make(density)
    ours, theirs = (finish(copy.deepcopy(start), batches, mask, compact) for compact in (1.0, 0.0))
    assert all(not ours.get_parameter(name)[~kept].any() for name, kept in mask.items())
    for name, item in ours.state_dict().items():
        torch.testing.assert_close(item, theirs.state_dict()[name], rtol=1e-3, atol=1e-4)


def test_stopping_and_going_on_changes_no_bit():
    whole, batches, mask = make(0.2)
    parts, again = copy.deepcopy(whole), copy.deepcopy(whole)
    finish(whole, batches, mask, 0.75)
    finish(again, batches, mask, 0.75)
    feed = iter(batches)
    for start, end in ((0, 7), (7, 7), (7, 100)):
        list(train(parts, lambda: next(feed), steps=end, lr=0.05, mask=mask, start=start, compact=0.75))
    for name, item in whole.state_dict().items():
        assert torch.equal(item, parts.state_dict()[name])
        assert torch.equal(item, again.state_dict()[name])


def test_layers_above_the_density_and_small_ones_stay_dense(monkeypatch):
    net, _, mask = make(0.3)
    mask["layers.1.weight"][:] = True
    assert list(compact_descent.find_compact(net, mask, 0.5)) == [0]
    assert not compact_descent.find_compact(net, mask, 0.1)
    monkeypatch.setattr(compact, "SMALL", 2**18)
    assert not compact_descent.find_compact(net, mask, 0.5)


def test_nothing_moves_when_the_loss_is_not_finite():
    net, batches, mask = make(0.3)
    small = compact_descent.CompactDescent(net, compact_descent.find_compact(net, mask, 1.0))
    before = copy.deepcopy(net.state_dict()), {index: item.clone() for index, item in small.values.items()}
    batches[0].x[3, 5] = float("inf")
    assert not torch.tensor(small.take_step_(*batches[0], 0.5)).isfinite()
    assert all(torch.equal(item, before[0][name]) for name, item in net.named_parameters())
    assert all(torch.equal(item, before[1][index]) for index, item in small.values.items())
