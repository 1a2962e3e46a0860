"""Exact counts, ties, nesting and the identity of the first round."""

from itertools import pairwise

import pytest
import torch

from prunefield.core.seeds import generator
from prunefield.masks.mask import keep_largest
from prunefield.pruning.rounds import (
    compute_removed,
    count_lifetimes,
    draw_random_masks,
    group_parameters,
    keep_magnitudes,
    make_oneshot_masks,
    select_round,
)

# The fact sheet's table for 3072:1024:1024: groups of 3,146,752 and 1,049,600 entries.
KEPT_1 = (3146752, 2202727, 1541909, 1079336, 755536, 528875, 370213, 259149, 181404, 126983, 88888)
KEPT_2 = (1049600, 734720, 514304, 360013, 252009, 176407, 123485, 86440, 60508, 42356, 29649)
GROUPS = group_parameters(["layers.0", "layers.1"], "layer")
SHAPES = {"layers.0.weight": (20, 30), "layers.0.bias": (20,), "layers.1.weight": (10, 20), "layers.1.bias": (10,)}


def values(seed, dtype=torch.float32):
    return {name: torch.randn(shape, generator=generator(seed, name)).to(dtype) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("kept", [KEPT_1, KEPT_2])
def test_counts_of_the_papers_net(kept):
    scores = {"w": torch.rand(kept[0], generator=generator(0, "scores"))}
    mask = None
    for n, expected in enumerate(kept):
        mask = keep_magnitudes(scores, [["w"]], compute_removed(n, 0.3), mask)
        assert mask.counts()["w"] == expected


def test_it_is_the_reference_rule_where_no_two_magnitudes_are_equal():
    # Keep what is at least the sorted value at index int(r·len), weights and biases of a layer together.
    table = values(0)
    mask = keep_magnitudes(table, GROUPS, 0.51)
    for names in GROUPS:
        group = torch.cat([table[name].abs().flatten() for name in names])
        threshold = group.sort().values[int(0.51 * len(group))]
        for name in names:
            assert torch.equal(mask[name], table[name].abs() >= threshold)


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 9])
def test_ties_go_by_index(count):
    group = torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 0.0, 1.0, 2.0])
    order = sorted(range(len(group)), key=lambda i: (-group[i].item(), i))
    kept = keep_largest(group, count).nonzero().flatten().tolist()
    assert kept == sorted(order[:count])


def test_what_is_pruned_stays_pruned_even_if_kept_weights_are_zero():
    table = {"w": torch.zeros(10)}
    first = keep_magnitudes(table, [["w"]], 0.5)
    old = {"w": ~first["w"]}
    again = keep_magnitudes(table, [["w"]], 0.7, old)
    assert again.counts()["w"] == 3
    assert not (again["w"] & ~old["w"]).any()


def test_oneshot_and_random_masks_are_nested_with_the_same_counts():
    one = make_oneshot_masks(values(1), GROUPS, 6, 0.3)
    chance = draw_random_masks(SHAPES, GROUPS, 6, 0.3, generator=generator(0, "masks"))
    for masks in (one, chance):
        for before, after in pairwise(masks):
            assert all(not (after[name] & ~before[name]).any() for name in SHAPES)
    for a, b in zip(one, chance, strict=True):
        for names in GROUPS:
            assert sum(a.counts()[name] for name in names) == sum(b.counts()[name] for name in names)


def test_the_first_round_of_imp_is_oneshot_pruning():
    table = values(2)
    everything = {name: torch.ones(shape, dtype=torch.bool) for name, shape in SHAPES.items()}
    assert (
        keep_magnitudes(table, GROUPS, compute_removed(1, 0.3), everything)
        == make_oneshot_masks(table, GROUPS, 1, 0.3)[1]
    )


def test_random_masks_are_uniform():
    chance = [
        draw_random_masks({"w": (10,)}, [["w"]], 1, 0.3, generator=generator(s, "m"))[1]["w"] for s in range(2000)
    ]
    share = torch.stack(chance).double().mean(0)
    assert (share - 0.7).abs().max() < 5 * (0.7 * 0.3 / 2000) ** 0.5


def test_lifetimes_hold_all_nested_masks():
    masks = make_oneshot_masks(values(3), GROUPS, 5, 0.4)
    lifetimes = count_lifetimes(masks)
    assert all(item.dtype == torch.uint8 for item in lifetimes.values())
    assert [select_round(lifetimes, n) for n in range(6)] == masks


def test_a_global_scope_has_one_threshold():
    table = values(4)
    mask = keep_magnitudes(table, group_parameters(["layers.0", "layers.1"], "global"), 0.9)
    kept = torch.cat([table[name].abs()[mask[name]] for name in SHAPES])
    lost = torch.cat([table[name].abs()[~mask[name]] for name in SHAPES])
    assert kept.min() > lost.max()
    assert len(kept) == 830 - int(0.9 * 830)
