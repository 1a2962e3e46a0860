"""Sketching: identities, enumerations and the counterexamples that can be checked by hand."""

import math

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.theory import sketch_bounds as bounds
from prunefield.theory import sketching


def _tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("s", [1, 2, 3])
def test_the_identity_is_the_sum_over_all_draws(s):
    x, w = _normal(7, 3, 2), _normal(7, 3, seed=1)
    even = torch.full((3,), 1 / 3, dtype=torch.float64)
    for p in (sketching.optimal_probabilities(w, x), sketching.optimal_probabilities(_normal(7, 3, seed=2)), even):
        identity = sketching.expected_error(x, w, p, s)
        assert torch.allclose(identity, sketching.enumerate_error(x, w, p, s), rtol=1e-13, atol=1e-14)


def test_enumerated_masks_are_unbiased_and_their_probabilities_sum_to_one():
    p = sketching.optimal_probabilities(_normal(5, 3))
    masks, chances = sketching.enumerate_masks(p, 3)
    assert masks.shape == (5, 27, 3)
    assert torch.allclose(chances.sum(-1), torch.ones(5, dtype=torch.float64))
    assert torch.allclose((chances.unsqueeze(-1) * masks).sum(-2), torch.ones(5, 3, dtype=torch.float64))


def test_drawn_masks_occur_as_often_as_enumerated():
    p, repeats = _tensor(0.5, 0.3, 0.2, 0.0), 40_000
    drawn = sketching.draw_mask(p, 2, generator=torch.Generator().manual_seed(0), draws=(repeats,))
    masks, chances = sketching.enumerate_masks(p, 2)
    for outcome in masks[chances > 0].unique(dim=0):
        chance = chances[(masks == outcome).all(-1) & (chances > 0)].sum().item()
        seen = torch.isclose(drawn, outcome).all(-1).double().mean().item()
        assert abs(seen - chance) < 4.5 * (chance * (1 - chance) / repeats) ** 0.5
    assert (drawn[:, 3] == 0).all()
    assert (drawn.count_nonzero(-1) <= 2).all()


def test_equation_2_beats_all_other_probabilities():
    x, w = _normal(6, 4), _normal(6, seed=1)
    best = sketching.expected_error(x, w, sketching.optimal_probabilities(w, x), 3)
    others = torch.distributions.Dirichlet(torch.ones(6, dtype=torch.float64)).sample((2000,))
    assert (sketching.expected_error(x, w, others, 3) > best).all()


def test_lemma_4_1_needs_the_square():
    x, w = torch.ones(2, 1), _tensor(2, 2)
    assert sketching.expected_error(x, w, sketching.optimal_probabilities(w, x), 1).item() == 0
    assert sketching.enumerate_error(x, w, sketching.optimal_probabilities(w, x), 1).item() == 0


def test_a_weight_that_starts_at_zero_is_lost_whatever_the_density():
    x, p = torch.eye(2), sketching.optimal_probabilities(_tensor(1, 0), torch.eye(2))
    for s in (1, 2, 3):
        assert sketching.enumerate_error(x, _tensor(1, 1), p, s).item() == 1
        assert sketching.expected_error(x, _tensor(1, 1), p, s).item() == 1
        assert bounds.gaussian_error(_tensor(1, 0), _tensor(1, 1), s, 4).item() == 1
    with pytest.raises(UsageError, match="no probabilities"):
        sketching.optimal_probabilities(_tensor(0, 0))


def test_constants():
    table = {1: 0.63662, 2: 0.785398, 3: 0.848826, 4: 0.883573, 8: 0.939563, 16: 0.969253, 64: 0.992218, 128: 0.996101}
    assert {n: round(bounds.norm_constant(n), 6) for n in table} == pytest.approx(table, abs=1e-6)
    assert bounds.norm_constant(1) == pytest.approx(2 / math.pi, rel=1e-15)
    assert bounds.norm_constant(2) == pytest.approx(math.pi / 4, rel=1e-15)
    for n in (1, 2, 5, 1000, 10**5, 10**5 + 1, 10**7):  # c_n·c_{n+1} = n/(n+1), from Γ(x + 1) = x·Γ(x)
        assert bounds.norm_constant(n) * bounds.norm_constant(n + 1) == pytest.approx(n / (n + 1), rel=1e-10)
    assert [round(bounds.fresh_constant(n), 4) for n in (2, 4, 128)] == [1.5708, 1.1781, 1.0039]


def test_the_gaussian_error_averages_the_identity():
    w0, w, n, s = _tensor(1, -0.5, 0.25), _tensor(0.5, 1, -1), 4, 2
    x, fresh = _normal(200_000, 3, n) / n**0.5, _normal(200_000, 3, n, seed=1) / n**0.5
    for source, options in ((x, {}), (fresh, {"fresh": True})):
        errors = sketching.expected_error(x, w, sketching.optimal_probabilities(w0, source), s)
        spread = (errors.std() / len(errors) ** 0.5).item()
        assert abs(errors.mean().item() - bounds.gaussian_error(w0, w, s, n, **options).item()) < 4.5 * spread


def test_at_the_start_the_error_is_that_of_the_corrected_lemma_4_2():
    ones = torch.ones(3)
    assert round(bounds.gaussian_error(ones, ones, 1, 4).item(), 4) == 5.3014  # the lemma's print says at most 3
    assert round(bounds.gaussian_error(ones, ones, 1, 1).item(), 4) == 3.8197
    assert round(bounds.gaussian_error(torch.ones(10), torch.ones(10), 5, 16).item(), 3) == 17.447


@pytest.mark.parametrize(
    ("small", "s", "n", "exact", "printed", "minimum"),
    [(0.01, 1, 1, 63.67, 4.010, 102.01), (0.01, 1, 8, 93.97, 4.010, 102.01), (0.05, 4, 4, 4.429, 1.011, 5.512)],
)
def test_counterexamples_of_theorem_4_4(small, s, n, exact, printed, minimum):
    w0, w = _tensor(1, small), _tensor(1, 1)
    assert bounds.gaussian_error(w0, w, s, n).item() == pytest.approx(exact, abs=0.005)
    assert bounds.printed_bound(w0, w, s).item() == pytest.approx(printed, abs=0.0005)
    assert bounds.minimum_bound(w0, w, s).item() == pytest.approx(minimum, abs=0.005)
    assert exact < bounds.sum_bound(w0, w, s, n).item() <= minimum + 0.005


def test_the_bounds_agree_where_all_initial_weights_are_equally_large():
    w0, w = torch.tensor([[1.0, -1, 1], [2, 2, 2]]), _normal(2, 3)
    assert torch.allclose(bounds.printed_bound(w0, w, 3), bounds.minimum_bound(w0, w, 3))
    assert torch.allclose(bounds.printed_bound(w0, w, 3) * bounds.norm_constant(5), bounds.sum_bound(w0, w, 3, 5))


def test_uniform_and_mixed_probabilities():
    w0, w, n, s, alpha = _normal(20, 6), _normal(20, 6, seed=1), 8, 3, 0.3
    even = torch.full((6,), 1 / 6, dtype=torch.float64)
    assert torch.allclose(bounds.fixed_error(w, even, s), bounds.uniform_error(w, s))
    assert (bounds.uniform_error(w, s) <= bounds.uniform_bound(w, s)).all()
    x = _normal(4000, 1, 6, n, seed=2) / n**0.5
    mixed = sketching.mix_uniform(sketching.optimal_probabilities(w0, x), alpha)
    assert torch.allclose(mixed.sum(-1), torch.ones(4000, 20, dtype=torch.float64))
    error = sketching.expected_error(x, w, mixed, s).mean(0)
    assert (error < bounds.mixture_bound(w0, w, s, n, alpha)).all()
    assert (bounds.gaussian_error(w0, w, s, n) > bounds.mixture_bound(w0, w, s, n, alpha)).any()
    with pytest.raises(UsageError, match="between 0 and 1"):
        sketching.mix_uniform(even, 1.5)


def test_the_bound_of_the_mixture_holds_where_a_weight_begins_at_zero():
    w0, w = torch.tensor([1.0, 0.0], dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    for alpha in (0.01, 0.5):
        exact = bounds.fixed_error(w, sketching.mix_uniform(sketching.optimal_probabilities(w0), alpha), 1)
        assert exact <= bounds.mixture_bound(w0, w, 1, 8, alpha)


@pytest.mark.parametrize("p", [[1.0, 3.0], [1.5, -0.5]])
def test_numbers_that_are_not_probabilities_are_refused(p):
    with pytest.raises(UsageError, match="p must be probabilities"):
        sketching.draw_mask(torch.tensor(p), 3, generator=torch.Generator())
    with pytest.raises(UsageError, match="p must be probabilities"):
        sketching.expected_error(torch.eye(2), torch.ones(2), torch.tensor(p), 3)
