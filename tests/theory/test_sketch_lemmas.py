"""Lemmas 4.1 to 4.5, B.1, B.2: closed forms against the sum over all outcomes, and hand-made counterexamples."""

import pytest
import torch

from prunefield.theory import linear_scores, sketch_bounds
from prunefield.theory import sketch_lemmas as lemmas
from prunefield.theory.sketching import draw_mask, enumerate_error, expected_error, optimal_probabilities


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("s", [1, 2, 4])
def test_moments_agree_with_the_enumeration(s):
    x, w, p = _normal(5, 4, 3), _normal(5, 4, seed=1), optimal_probabilities(_normal(5, 4, seed=2))
    found = lemmas.enumerate_moments(x, w, p, s)
    mean, variance = lemmas.feature_moments(x, w, p, s)
    assert torch.allclose(found["mean"], mean)
    assert torch.allclose(found["variance"], variance)
    assert torch.allclose(found["covariance"], lemmas.mask_covariance(p, s))
    assert torch.allclose(found["kept"].sum(-1), lemmas.mean_kept(p, s))
    assert torch.allclose(variance.sum(-1), expected_error(x, w, p, s))
    assert torch.allclose(lemmas.cross_bound(x, w, p, s) - mean.square().sum(-1) / s, expected_error(x, w, p, s))
    assert found["most"].tolist() == [min(s, 4)] * 5


def test_moments_of_a_weight_that_is_never_kept():
    x, w, p = torch.eye(2), torch.ones(2), torch.tensor([1.0, 0.0])
    mean, variance = lemmas.feature_moments(x, w, p, 3)
    assert mean.tolist() == [1, 0]
    assert variance.tolist() == [0, 0]
    assert lemmas.cross_bound(x, w, p, 3).item() == float("inf")
    assert lemmas.cross_bound(x, torch.tensor([1.0, 0.0]), p, 3).item() == pytest.approx(1 / 3)


def test_lemma_4_1_with_and_without_its_square():
    x, w = _normal(9, 6, 4), _normal(9, 6, seed=1)
    assert torch.allclose(lemmas.optimal_error(x, w, 3), enumerate_error(x, w, optimal_probabilities(w, x), 3))
    ones = torch.ones(2, 1)
    for weight, printed in ((2.0, 12.0), (0.1, -0.16)):
        pair = torch.full((2,), weight, dtype=torch.float64)
        assert lemmas.optimal_error(ones, pair, 1).item() == pytest.approx(0, abs=1e-15)
        assert lemmas.unsquared_error(ones, pair, 1).item() == pytest.approx(printed)


def test_lemma_4_2_as_printed_and_corrected():
    w = _normal(500, 3)
    for n in (1, 4, 128):
        exact = sketch_bounds.gaussian_error(w, w, 2, n)
        assert (exact <= lemmas.start_bound_corrected(w, 2)).all()
        ratio = w.abs().sum(-1).square() / w.square().sum(-1)
        holds = ratio <= 1 + 1 / sketch_bounds.norm_constant(n)
        assert torch.equal(exact <= lemmas.start_bound(w, 2), holds)
        assert 0 < holds.sum() < 500
    pair = w[:, :2]
    assert (sketch_bounds.gaussian_error(pair, pair, 2, 128) <= lemmas.start_bound(pair, 2)).all()


@pytest.mark.parametrize("rescaled", [True, False])
@pytest.mark.parametrize("s", [1, 3, 5])
def test_uniform_subsets_are_enumerated(s, rescaled):
    w = _normal(4, 5)
    closed = lemmas.subset_error(w, s, rescaled=rescaled)
    assert torch.allclose(lemmas.enumerate_subsets(w, s, rescaled=rescaled), closed, atol=1e-14)
    assert (closed <= sketch_bounds.uniform_bound(w, s)).all()


def test_drawn_masks_keep_the_expected_number():
    p, repeats = torch.tensor([0.4, 0.3, 0.2, 0.1]), 20_000
    kept = draw_mask(p, 3, generator=torch.Generator().manual_seed(0), draws=(repeats,)).count_nonzero(-1).double()
    assert abs(kept.mean() - lemmas.mean_kept(p, 3)) < 4.5 * kept.std() / repeats**0.5


def test_snip_is_the_slope_of_the_corrected_loss():
    w, x, y = _normal(6), _normal(6, 9, seed=1), _normal(9, seed=2)
    mask = torch.ones(6, dtype=torch.float64, requires_grad=True)
    ((w * mask) @ x - y).abs().mean().backward()
    assert mask.grad is not None
    assert torch.allclose(linear_scores.score_sensitivity(w, x, y), mask.grad.abs())
    literal = torch.ones(6, dtype=torch.float64, requires_grad=True)  # the loss as printed: x_iᵀ(w⊙m − y_i)
    ((w * literal) @ x - y * x.sum(0)).abs().mean().backward()
    assert literal.grad is not None
    assert not torch.allclose(literal.grad.abs(), mask.grad.abs())


def test_no_binary_mask_beats_the_largest_weights():
    w = _normal(8)
    best = torch.zeros(8).index_fill_(0, w.abs().topk(3).indices, 1)
    chances = torch.rand(200, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    chances = (chances / chances.sum(-1, keepdim=True) * 3).clamp(max=1)  # at most 3 kept on average
    assert (linear_scores.binary_error(w, chances) >= linear_scores.binary_error(w, best)).all()
    x = _normal(20_000, 8, 2, seed=3) / 2**0.5
    sampled = torch.matmul((w * (1 - best)).double(), x).square().sum(-1)
    assert abs(sampled.mean() - linear_scores.binary_error(w, best)) < 4.5 * sampled.std() / 20_000**0.5
