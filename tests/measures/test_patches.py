"""Lonely inputs: random masks against the closed form, and a direct count."""

import torch

from prunefield.measures.patches import find_lonely_share


def test_random_masks_have_the_expected_share():
    """Away from the border no neighbour is kept with probability (1 − p)⁸; large masks have little border."""
    p, side = 0.2, 400
    mask = torch.rand(1, 1, side, side, generator=torch.Generator().manual_seed(0)) < p
    border = 4 * side * ((1 - p) ** 5 - (1 - p) ** 8) / side**2  # there, three neighbours are missing
    expected = (1 - p) ** 8 + border
    deviation = (expected / (p * side**2)) ** 0.5
    assert abs(find_lonely_share(mask).item() - expected) < 5 * deviation


def test_it_agrees_with_a_loop_and_does_not_mix_channels():
    masks = torch.rand(6, 3, 5, 4, generator=torch.Generator().manual_seed(1)) < 0.3
    for unit, found in zip(masks, find_lonely_share(masks), strict=True):
        places = {tuple(place) for place in unit.nonzero().tolist()}
        around = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]
        alone = [c for c, y, x in places if not any((c, y + dy, x + dx) in places for dy, dx in around)]
        assert found.item() == len(alone) / len(places)


def test_a_unit_that_keeps_nothing_has_no_share():
    assert find_lonely_share(torch.zeros(1, 3, 4, 4)).isnan().all()
