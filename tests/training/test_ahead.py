"""Batches drawn several at a time: the same as one by one, and resumed in the midst of them."""

import pytest
import torch

from prunefield.runs import State
from prunefield.runs.imp import Imp
from prunefield.tasks.clone import Clone
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.tiny_imagenet import TinyImagenet
from prunefield.training.ahead import Ahead


class Blocks(Gaussian):
    """A task whose batches are drawn seven at a time."""

    @property
    def ahead(self):
        return 7


def test_batches_are_parts_of_one_draw_and_can_be_resumed_anywhere():
    stream = torch.Generator().manual_seed(0)
    whole = Blocks().sample(7 * 3, generator=torch.Generator().manual_seed(0))
    ahead = Ahead(Blocks(), 3, stream)
    states, found = [], []
    for _ in range(20):
        states.append(stream.get_state())
        found.append(ahead.draw().x)
    assert torch.equal(torch.cat(found[:7]), whole.x)
    for taken in range(20):
        saved = torch.Generator()
        saved.set_state(states[taken])
        resumed = Ahead(Blocks(), 3, saved, taken=taken)
        assert all(torch.equal(resumed.draw().x, x) for x in found[taken:])


def test_a_restart_begins_a_new_draw():
    stream = torch.Generator().manual_seed(0)
    ahead = Ahead(Blocks(), 3, stream)
    ahead.draw()
    ahead.restart()
    ahead.restart()
    state = stream.get_state()
    first = ahead.draw().x
    fresh = torch.Generator()
    fresh.set_state(state)
    assert torch.equal(Ahead(Blocks(), 3, fresh).draw().x, first)


@pytest.mark.parametrize("stop", [1, 2, 4, 5])
def test_pruning_resumed_within_a_draw_ends_with_the_same_bits(stop):
    run = Imp(task=Blocks(), hidden=(6, 5), steps=50, rewind=7, rounds=2, held_out=30, batch_size=10)
    records = [record for record in run(State()) if record is not None]
    state, kept = State(), []
    iterator = run(state)
    for _ in range(stop):
        record = next(iterator)
        kept += [record] if record is not None else []
    saved = State(dict(state.values), {key: tensor.clone() for key, tensor in state.snapshot().items()})
    kept += [record for record in run(saved) if record is not None]
    for a, b in zip(records, kept, strict=True):
        assert a.values == b.values
        assert all(torch.equal(a.tensors[name], b.tensors[name]) for name in a.tensors)


def test_only_large_clones_draw_ahead():
    assert Clone(of=TinyImagenet(side=32, crops=True), per_class=2_000).ahead > 1
    assert Clone(of=TinyImagenet(side=32, crops=True)).ahead == 1
    assert Clone().ahead == 1
