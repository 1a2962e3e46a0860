"""Outlines that are given memory: as torch's own `to_empty`, and what is shared stays shared."""

import torch
from torch import nn

from prunefield.modules.outlines import allocate_


def test_names_shapes_and_kinds_are_those_of_to_empty():
    def outline() -> nn.Module:
        norm = nn.BatchNorm1d(4, device="meta")
        norm.weight.requires_grad_(False)
        return nn.Sequential(nn.Linear(3, 4, dtype=torch.float64, device="meta"), norm)

    ours, theirs = allocate_(outline()), outline().to_empty(device="cpu")
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for mine, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        assert (mine.device, mine.shape, mine.dtype) == (other.device, other.shape, other.dtype)
    assert [weight.requires_grad for weight in ours.parameters()] == [True, True, False, True]


def test_a_shared_weight_stays_shared():
    first, second = nn.Linear(3, 3, device="meta"), nn.Linear(3, 3, device="meta")
    second.weight = first.weight
    net = allocate_(nn.Sequential(first, second))
    assert net[0].weight is net[1].weight
    assert net[0].bias is not net[1].bias
