"""S1 to S3: the models of the paper are accepted, and counterexamples refused."""

import pytest
import torch
from scipy import stats

from prunefield.core.errors import UsageError
from prunefield.measures import stimulus
from prunefield.tasks import Task

MODELS = [
    {"kind": "ising"},
    {"kind": "nlgp", "g": 3.0},
    {"kind": "nlgp", "g": 0.01},
    {"kind": "kur", "k": 3.0},
    {"kind": "kur", "k": 30.0},
    {"kind": "gaussian"},
    {"kind": "nlgp", "g": 3.0, "size": 12, "dimensions": 2, "lengthscales": (0.7, 1.5)},
]


def sample(settings, seed=0, n=3000):
    task = Task.parse(settings)
    x, y = task.sample(n, generator=torch.Generator().manual_seed(seed))
    return x[y == 1].unflatten(1, task.shape)


@pytest.mark.parametrize("settings", MODELS, ids=str)
@pytest.mark.parametrize("probe", [stimulus.probe_dependence, stimulus.probe_translation, stimulus.probe_sign])
def test_models_of_the_paper_are_accepted(settings, probe):
    assert all(probe(sample(settings, seed)).met for seed in (0, 1, 2))


def test_elliptical_data_are_dependent_at_any_distance():
    """They have S2, S3 and no correlations at a distance, but all sites share one radius."""
    x = sample({"kind": "elliptical", "nu": 3.0})
    assert stimulus.probe_translation(x).met
    assert stimulus.probe_sign(x).met
    found = stimulus.probe_dependence(x)
    assert not found.met
    assert found.effect > 0.2


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x + 2 * x[:, :1].roll(1, 0),  # a value that all sites share
        lambda x: x * torch.where(x[:, :1].roll(1, 0) > 0, 1.0, 3.0),  # a size that all sites share
    ],
)
def test_strong_dependence_is_refused(change):
    assert not stimulus.probe_dependence(change(sample({"kind": "gaussian"}))).met


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x * torch.linspace(1, 1.5, 40),  # another variance
        lambda x: torch.cat((x[:, :20], x[:, :20].sign()), 1),  # another law of the same variance
        lambda x: torch.cat((x[:, :20], x[:, torch.randperm(20, generator=torch.Generator().manual_seed(0))]), 1),
        lambda x: x[:, :20].repeat_interleave(2, 1),  # pairs of sites
    ],
)
def test_broken_translation_is_refused(change):
    assert not stimulus.probe_translation(change(sample({"kind": "gaussian"}))).met


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x + 0.1,
        lambda x: x.square() - 1,
        lambda x: torch.where(x.roll(1, 1) * x.roll(2, 1) > 0, x.abs(), -x.abs()),  # symmetric sites, not triples
    ],
)
def test_broken_symmetry_is_refused(change):
    assert not stimulus.probe_sign(change(sample({"kind": "kur", "k": 30.0}))).met


def test_p_values_are_not_too_small_under_the_null_hypothesis():
    """Bonferroni's bound: below 0.05 in at most about 5% of samples."""
    counts = torch.zeros(2)
    for seed in range(60):
        x = sample({"kind": "gaussian", "size": 10, "lengthscales": (0.5, 1.0)}, seed, 800)
        counts += torch.tensor([stimulus.probe_translation(x).p < 0.05, stimulus.probe_sign(x).p < 0.05])
    assert counts.max() <= 9  # P(Binomial(60, 0.05) > 9) < 0.001


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(100, 8), "at least one site must vary"),
        (torch.full((100, 8), torch.nan), "must be finite"),
        (torch.randn(10, 8), "n ≥ 50"),
        (torch.randn(100), "the shape"),
    ],
)
def test_bad_samples_are_refused(x, message):
    for probe in (stimulus.probe_dependence, stimulus.probe_translation, stimulus.probe_sign):
        with pytest.raises(UsageError, match=message):
            probe(x)


def test_p_values_of_few_examples_are_those_of_student_and_welch():
    x = torch.randn(50, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64) + 0.3
    y = 2 * torch.randn(20, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    found = stimulus._test_means([x[:, :2], x[:, 2:]], 1e-3).p
    assert found == pytest.approx(6 * float(stats.ttest_1samp(x, 0).pvalue.min()))
    found = stimulus.probe_means(x, y).p
    assert found == pytest.approx(min(1, 6 * float(stats.ttest_ind(x, y, equal_var=False).pvalue.min())))


def test_few_examples_are_rejected_as_often_as_the_level_says():
    """Tails of a normal distribution reject 12% at a level of 5%."""
    stream = torch.Generator().manual_seed(0)
    found = [stimulus.probe_translation(torch.randn(50, 20, generator=stream)).p for _ in range(400)]
    assert sum(p < 0.05 for p in found) < 0.09 * 400


def test_constants_that_differ_are_not_equal_means():
    x = torch.randn(100, 4, generator=torch.Generator().manual_seed(0))
    first, second = x.clone(), x.clone()
    first[:, 0], second[:, 0] = 1.0, 2.0
    assert not stimulus.probe_means(first, second).met
    assert stimulus.probe_means(first[:, :1], first[:, :1]).met
