"""Training against torch's own optimiser."""

import copy

import pytest
import torch
from torch.nn import functional

from prunefield.core.errors import RunError
from prunefield.core.seeds import generator
from prunefield.networks.fcn import Fcn
from prunefield.tasks import Batch
from prunefield.training.steps import measure_accuracy, train


def make(batch_norm=False):
    net = Fcn(hidden=(8, 8), batch_norm=batch_norm).build((12,), 3, generator=generator(0, "net"))
    stream = generator(0, "data")
    batches = [
        Batch(torch.randn(10, 12, generator=stream), torch.randint(3, (10,), generator=stream)) for _ in range(30)
    ]
    return net, batches


@pytest.mark.parametrize("batch_norm", [False, True])
def test_it_is_plain_sgd(batch_norm):
    ours, batches = make(batch_norm)
    theirs, _ = make(batch_norm)
    optimiser = torch.optim.SGD(theirs.parameters(), lr=0.1)
    for x, y in batches:
        optimiser.zero_grad()
        functional.cross_entropy(theirs(x), y).backward()
        optimiser.step()
    feed = iter(batches)
    assert list(train(ours, lambda: next(feed), steps=30, rate=0.1, every=20)) == [20, 30]
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other)


def test_pruned_weights_are_zero_at_every_step_and_the_others_move():
    net, batches = make()
    start = net.layers[0].weight.detach().clone()
    masks = {name: torch.rand(p.shape, generator=generator(1, name)) < 0.5 for name, p in net.named_parameters()}
    feed = iter(batches)
    for _ in train(net, lambda: next(feed), steps=30, rate=0.1, mask=masks, every=1):
        assert all(not parameter[~masks[name]].any() for name, parameter in net.named_parameters())
    kept = masks["layers.0.weight"]
    assert (net.layers[0].weight != start)[kept].float().mean() > 0.9


def test_stopping_and_going_on_changes_no_bit():
    whole, batches = make(True)
    parts, _ = make(True)
    feed, other = iter(batches), iter(batches)
    list(train(whole, lambda: next(feed), steps=30, rate=0.1))
    for start, end in ((0, 7), (7, 7), (7, 30)):
        list(train(parts, lambda: next(other), steps=end, rate=0.1, start=start))
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, parts.state_dict()[name])


def test_a_loss_that_is_no_number_names_its_step():
    net, batches = make()
    batches[4].x.fill_(float("inf"))
    feed = iter(batches)
    with pytest.raises(RunError, match=r"the loss is nan at step 5; .*0\.1"):
        list(train(net, lambda: next(feed), steps=30, rate=0.1))


def test_weights_that_run_away_in_the_last_step_are_told():
    net, batches = make()
    with pytest.raises(RunError, match=r"a weight is not finite after step 1; .*3e\+38"):
        list(train(net, lambda: Batch(1e3 * batches[0].x, batches[0].y), steps=1, rate=3e38))


def test_any_module_can_be_trained_and_stays_pruned():
    _, batches = make()
    start = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    with torch.no_grad():
        for parameter in start.parameters():
            parameter.normal_(generator=generator(0, "sequential"))
    ours, theirs = copy.deepcopy(start), copy.deepcopy(start)
    optimiser = torch.optim.SGD(theirs.parameters(), lr=0.1)
    masks = {"0.weight": torch.rand(8, 12, generator=generator(0, "mask")) < 0.5}
    theirs[0].weight.data *= masks["0.weight"]
    for x, y in batches:
        optimiser.zero_grad()
        functional.cross_entropy(theirs(x), y).backward()
        theirs[0].weight.grad *= masks["0.weight"]
        optimiser.step()
    feed = iter(batches)
    list(train(ours, lambda: next(feed), steps=30, rate=0.1, mask=masks))
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other)


def test_accuracy_counts_and_leaves_the_mode_alone():
    net, _ = make(True)
    x = torch.randn(1100, 12, generator=generator(3, "x"))
    net(x)
    net.eval()
    y = net(x).argmax(1)
    net.train()
    y[:275] = (y[:275] + 1) % 3
    assert measure_accuracy(net, Batch(x, y)) == 0.75
    assert net.training
