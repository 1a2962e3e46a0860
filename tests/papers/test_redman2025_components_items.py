"""Figs 2 and S2: the similarity of masks and components, and their pictures."""

from itertools import product

import pytest
import torch

from prunefield.papers.redman2025._pictures import scale_fields
from prunefield.papers.redman2025.figS2 import compare_filters, cut


def test_a_mask_is_compared_with_every_component_whatever_its_sign():
    masks = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 0]], dtype=torch.bool)
    filters = torch.tensor([[-2.0, -2.0, 0, 0], [0, 0, 3.0, 4.0]])
    cosines, best = compare_filters(masks, filters)
    assert cosines.tolist() == pytest.approx([1.0, 0.6])
    assert best.tolist() == [0, 1]


def test_the_cut_is_the_best_mask_of_its_size_for_a_component():
    stream = torch.Generator().manual_seed(0)
    filters = torch.rand(1, 8, generator=stream)
    sizes = torch.zeros(1, 8, dtype=torch.bool)
    sizes[0, :3] = True
    found, _ = compare_filters(cut(filters, sizes), filters)
    every = torch.tensor(list(product((False, True), repeat=8)))
    every = every[every.sum(1) == 3]
    assert found.item() == pytest.approx(compare_filters(every, filters)[0].max().item())


def test_pictures_lie_between_black_and_white():
    scaled = scale_fields(torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(1)))
    assert scaled.amin((1, 2, 3)).tolist() == [0] * 4
    assert scaled.amax((1, 2, 3)).tolist() == [1] * 4
