"""The Ising model: the sampler against the enumeration of all states."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import binom

from prunefield.core.errors import UsageError
from prunefield.tasks import Task
from prunefield.tasks.ising import Ising


def _enumerate(size: int, coupling: float) -> tuple[torch.Tensor, torch.Tensor]:
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=size)), dtype=torch.float64)
    weight = torch.exp(coupling * (states * states.roll(-1, 1)).sum(1))
    return states, weight / weight.sum()


@pytest.mark.parametrize(("size", "couplings"), [(4, (0.3, 0.7)), (5, (0.0, 2.0)), (7, (0.1, 1.2))])
def test_every_state_occurs_with_its_probability(size, couplings):
    n = 100_000
    task = Ising(size=size, couplings=couplings)
    for label, coupling in enumerate(couplings):
        _, expected = _enumerate(size, coupling)
        x = task.draw(torch.full((n,), label), generator=torch.Generator().manual_seed(5))
        index = ((x > 0) * 2 ** torch.arange(size - 1, -1, -1)).sum(1)
        counts = torch.bincount(index, minlength=2**size).double()
        common = n * expected >= 5  # states that hardly ever come are counted together
        seen, told = (torch.cat((part[common], part[~common].sum(0, True))) for part in (counts, n * expected))
        chi = ((seen - told) ** 2 / told.clamp(min=1e-9)).sum().item()
        freedom = int(common.sum())
        assert chi < freedom + 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize(("size", "coupling"), [(40, 0.7), (41, 1.6), (64, 0.1)])
def test_long_rings_have_as_many_walls_as_the_binomial_law_given_an_even_number(size, coupling):
    n = 60_000
    task = Ising(size=size, couplings=(0.05, coupling))
    x = task.draw(torch.ones(n, dtype=torch.int64), generator=torch.Generator().manual_seed(0))
    walls = torch.bincount((x != x.roll(1, 1)).sum(1), minlength=size + 1).double()
    chance = torch.from_numpy(binom.pmf(np.arange(size + 1), size, 1 / (1 + math.exp(2 * coupling))))
    chance[1::2] = 0
    told = n * chance / chance.sum()
    common = told >= 5
    chi = ((walls - told) ** 2 / told)[common].sum().item()
    assert not walls[1::2].any()
    assert chi < common.sum() + 5 * (2 * common.sum()) ** 0.5
    # No place on the ring is special, the first bond included, whose coin mends the parity.
    each = (x != x.roll(1, 1)).double().mean(0)
    mean = (told @ torch.arange(size + 1.0, dtype=torch.float64)).item() / n / size
    assert (each - mean).abs().max() < 5 * math.sqrt(mean / n)


@pytest.mark.parametrize("size", [4, 7, 10])
def test_the_covariance_agrees_with_the_enumeration(size):
    task = Ising(size=size, couplings=(0.3, 1.1))
    for label, coupling in enumerate(task.couplings):
        states, weight = _enumerate(size, coupling)
        assert torch.allclose(task.covariance(label), states.T @ (weight[:, None] * states), atol=1e-13)


def test_gibbs_sampling_converges_to_the_same_distribution():
    n = 60_000
    for sweeps, near in ((60, True), (1, False)):
        task = Ising(size=6, couplings=(0.3, 0.7), sampler="gibbs", sweeps=sweeps)
        _, expected = _enumerate(6, 0.7)
        x = task.draw(torch.ones(n, dtype=torch.int64), generator=torch.Generator().manual_seed(2))
        counts = torch.bincount(((x > 0) * 2 ** torch.arange(5, -1, -1)).sum(1), minlength=64)
        chi = ((counts - n * expected) ** 2 / (n * expected)).sum().item()
        assert (chi < 63 + 5 * (2 * 63) ** 0.5) == near


def test_three_couplings_are_three_classes():
    task = Ising(size=12, couplings=(0.2, 0.6, 1.0))
    x, y = task.sample(60_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert task.classes == 3
    for label in range(3):
        chosen = x[y == label]
        assert (chosen.T @ chosen / len(chosen) - task.covariance(label)).abs().max() < 6 / len(chosen) ** 0.5


def test_long_rings_have_the_known_correlations():
    task = Ising()
    x, y = task.sample(60_000, generator=torch.Generator().manual_seed(0))
    for label in (0, 1):
        chosen = x[y == label].double()
        for d in (1, 2, 4, 8, 20):
            seen = (chosen * chosen.roll(d, 1)).mean().item()
            assert seen == pytest.approx(task.covariance(label)[0, d].item(), abs=0.006)
    # The values of the fact sheet for J = 0.7.
    assert [round(task.covariance(1)[0, d].item(), 3) for d in (1, 2, 4, 8)] == [0.604, 0.365, 0.133, 0.018]


def test_labels_are_fair_and_spins_are_plus_or_minus_one():
    x, y = Ising().sample(40_000, generator=torch.Generator().manual_seed(1))
    assert x.dtype == torch.float32
    assert set(x.unique().tolist()) == {-1.0, 1.0}
    assert abs(y.double().mean().item() - 0.5) < 5 * 0.5 / 200
    assert abs((y[1:] == y[:-1]).double().mean().item() - 0.5) < 5 * 0.5 / 200


def test_both_precisions_get_the_same_examples():
    one, other = (
        Ising().sample(5, generator=torch.Generator().manual_seed(3), dtype=dtype)
        for dtype in (torch.float32, torch.float64)
    )
    assert torch.equal(one.x.double(), other.x)
    assert torch.equal(one.y, other.y)


def test_the_distribution_function_steps_at_both_spins():
    x = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert Ising().cdf(x).tolist() == [0.0, 0.5, 0.5, 1.0, 1.0]
    assert Ising().kurtosis() == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 3}, "size: .*greater than or equal to 4"),
        ({"couplings": (0.7, 0.7)}, "0 ≤ J0 < J1"),
        ({"couplings": (0.7, 0.3)}, "class 1 has a longer lengthscale than class 0"),
        ({"couplings": (-0.1, 0.3)}, "0 ≤ J0 < J1"),
        ({"couplings": (0.1, 30.0)}, "at most 20"),
        ({"couplings": (0.1, 0.5, 0.4)}, "got 0.1, 0.5, 0.4"),
        ({"couplings": (0.1,)}, "couplings: .*at least 2"),
        ({"sampler": "gibbs", "size": 7}, "needs an even size"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        Task.parse({"kind": "ising", **settings})
