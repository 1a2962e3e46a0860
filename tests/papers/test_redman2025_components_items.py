"""Figs 2 and S2: their claims with and without the effect, and the similarity of masks and components."""

from itertools import product

import pandas
import pytest
import torch

from prunefield.papers.redman2025._nets import DATA
from prunefield.papers.redman2025.fig2 import Fig2, scale_fields
from prunefield.papers.redman2025.figS2 import FigS2, compare, cut


def fig2_table():
    rows = []
    for data, part, index in product(DATA, ("pca", "ica", "mixed"), range(20)):
        local = {"pca": 2.0, "ica": 2.0 + index, "mixed": 3.0 + 0.01 * index}[part]
        periodic = {"pca": 100.0, "ica": 30.0, "mixed": 40.0 + index}[part]
        rows.append({"data": data, "part": part, "component": index, "local": local, "periodic": periodic})
    return pandas.DataFrame(rows)


def figs2_table():
    rows = []
    for data, seed, method, mask in product(DATA, range(3), ("imp", "random", "ica"), range(20)):
        cosine = {"imp": 0.2, "random": 0.1, "ica": 0.7}[method] + 0.005 * mask
        rows.append({"data": data, "seed": seed, "method": method, "mask": mask, "cosine": cosine, "component": 0})
    return pandas.DataFrame(rows)


TABLES = {Fig2: fig2_table(), FigS2: figs2_table()}
CLAIMS = [(item, claim) for item in TABLES for claim in item.claims]


@pytest.mark.parametrize(("item", "claim"), CLAIMS, ids=[claim.text for _, claim in CLAIMS])
def test_a_claim_holds_on_the_papers_picture_and_fails_on_its_null(item, claim):
    assert claim.check(TABLES[item]).status == "reproduced"
    assert claim.null is not None
    assert claim.check(claim.null(TABLES[item])).status == "not reproduced"


def test_a_mask_is_compared_with_every_component_whatever_its_sign():
    masks = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 0]], dtype=torch.bool)
    filters = torch.tensor([[-2.0, -2.0, 0, 0], [0, 0, 3.0, 4.0]])
    cosines, best = compare(masks, filters)
    assert cosines.tolist() == pytest.approx([1.0, 0.6])
    assert best.tolist() == [0, 1]


def test_the_cut_is_the_best_mask_of_its_size_for_a_component():
    stream = torch.Generator().manual_seed(0)
    filters = torch.rand(1, 8, generator=stream)
    sizes = torch.zeros(1, 8, dtype=torch.bool)
    sizes[0, :3] = True
    found, _ = compare(cut(filters, sizes), filters)
    every = torch.tensor(list(product((False, True), repeat=8)))
    every = every[every.sum(1) == 3]
    assert found.item() == pytest.approx(compare(every, filters)[0].max().item())


def test_pictures_lie_between_black_and_white():
    scaled = scale_fields(torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(1)))
    assert scaled.amin((1, 2, 3)).tolist() == [0] * 4
    assert scaled.amax((1, 2, 3)).tolist() == [1] * 4
