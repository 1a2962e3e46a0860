"""Corrected cavity scores: against removing each weight, against the formula of the bias, and against known limits."""

import math

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.measures import cavity
from prunefield.measures.cavity import COLUMNS, score_weights
from prunefield.measures.cavity_halves import find_line
from prunefield.measures.kurtosis import gaussian_kurtosis, kurtosis

INPUTS = 24
CORRECTED = ("corrected", "corrected_mean")
WEIGHT = torch.randn(3, INPUTS, generator=generator(0, "weight"), dtype=torch.float64)
SMOOTH = torch.linalg.cholesky(torch.exp(-(torch.arange(INPUTS)[:, None] - torch.arange(INPUTS)).abs() / 3.0)).double()


def draw_gaussian(classes, n, *, radii=(1.0,)):
    """Images of correlated Gaussian inputs, of several scales if the law is to be elliptical, and their classes."""
    stream = generator(classes, "images")
    size = torch.tensor(radii)[torch.randint(len(radii), (classes * n, 1), generator=stream)]
    x = torch.randn(classes * n, INPUTS, generator=stream, dtype=torch.float64) @ SMOOTH.T
    return x * size, torch.arange(classes).repeat_interleave(n)


def take_away(weight, x):
    values = x @ weight.T
    return kurtosis(values), kurtosis((values[:, :, None] - weight * x[:, None, :]).flatten(1)).view_as(weight)


def correct_by_hand(weight, x, y):
    """Both corrected columns, from the halves of each class."""
    halves = ([], [])
    for label in y.unique():
        own = x[y == label]
        for part, images in zip(halves, (own[: len(own) // 2], own[len(own) // 2 :]), strict=True):
            part.append((*take_away(weight, images), find_line(len(images)), gaussian_kurtosis(len(images))))
    before, after = ([torch.stack([case[k] for case in part]) for part in halves] for k in (0, 1))
    line, mean = ([torch.tensor([case[k] for case in part])[:, None].double() for part in halves] for k in (2, 3))
    one_by_one, of_mean = 0, 0
    for here, other in ((0, 1), (1, 0)):
        sign = torch.where(before[other] > line[other], 1, -1)[..., None]
        change = after[here] - before[here][..., None]
        one_by_one = one_by_one + (sign * change / before[other][..., None]).mean(0) / 2
        least = mean[other].mean() - (mean[other] - line[other]).mean() / len(line[other])
        sign = torch.where(before[other].mean(0) > least, 1, -1)[:, None]
        of_mean = of_mean + sign * change.mean(0) / before[other].mean(0)[:, None] / 2
    return one_by_one, of_mean


@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-10), (torch.float32, 1e-3)])
def test_corrected_scores_agree_with_removing_each_weight(dtype, error, density, monkeypatch):
    for name, size in (("UNITS", 2), ("INPUTS", 16), ("ROOM", 50)):
        monkeypatch.setattr(cavity, name, size)
    kept = torch.rand(WEIGHT.shape, generator=generator(1, "mask")) < density
    x, _ = draw_gaussian(5, 21)
    x, y = (x**3 + 1).to(dtype), torch.arange(105) % 5
    y[:3] = 0  # classes of different sizes
    for thin in (0.0, 1.1):
        monkeypatch.setattr(cavity, "THIN", thin)
        monkeypatch.setattr(cavity, "FEW", 0)
        found = score_weights(WEIGHT.to(dtype), x, y, mask=kept, columns=COLUMNS)
        expected = correct_by_hand((WEIGHT.to(dtype) * kept).double(), x.double(), y)
        for column, score in zip(CORRECTED, expected, strict=True):
            assert (found[column] - score)[kept].abs().max() < error * score[kept].square().mean().sqrt(), column
            assert torch.equal(found[column].isnan(), ~kept)


def test_the_other_columns_keep_their_bits():
    x, y = draw_gaussian(4, 12)
    alone, along = (score_weights(WEIGHT, x, y, columns=columns) for columns in (COLUMNS[:2], COLUMNS))
    assert all(torch.equal(alone[name], along[name]) for name in alone)
    assert list(score_weights(WEIGHT, x, y, columns=["corrected"])) == ["corrected", "excluded"]


@pytest.mark.parametrize("n", [8, 25, 100, 400])
def test_signs_of_gaussian_numbers_are_balanced(n):
    """sign(κ − line)/κ, by which changes are multiplied, has no mean: neither sign is preferred."""
    found = kurtosis(torch.randn(n, 20_000, generator=generator(n, "numbers")))
    balance = (torch.where(found > find_line(n), 1, -1) / found).mean() / (1 / found).mean()
    assert abs(balance.item()) < 0.1
    as_printed = (torch.where(found > 3, 1, -1) / found).mean() / (1 / found).mean()
    assert as_printed < -0.15


@pytest.mark.parametrize("radii", [(1.0,), (0.6, 1.3)])
def test_on_elliptical_images_the_corrected_mean_is_zero_and_the_literal_one_is_not(radii, monkeypatch):
    monkeypatch.setattr(cavity, "THIN", 1.1)  # faster with so many classes
    n, classes = 20, 1_200
    x, y = draw_gaussian(classes, n, radii=radii)
    totals = {name: [] for name in ("exact", *CORRECTED)}
    for part in range(10):  # parts of the classes, for the error of the mean
        some = y % 10 == part
        found = score_weights(WEIGHT, x[some], y[some], columns=COLUMNS)
        for name, values in totals.items():
            values.append(found[name].sum(1))
    for name, values in totals.items():
        mean, error = (getattr(torch.stack(values), kind)(0) for kind in ("mean", "std"))
        error /= math.sqrt(10)
        if name == "exact":
            assert (mean < -10 * error).all()
            assert (mean < -0.2).all()
        else:
            assert (mean.abs() < 4 * error).all(), name
            assert (error < 0.05).all()


def test_the_bias_of_gaussian_images_is_that_of_the_formula(monkeypatch):
    """−2a²(1 − ρ²)E|κ̂ − 3|/κ̂, to second order in the weight."""
    monkeypatch.setattr(cavity, "THIN", 1.1)
    n, classes = 100, 2_000
    x, y = draw_gaussian(classes, n)
    found = score_weights(WEIGHT, x, y)["exact"]
    covariance = SMOOTH @ SMOOTH.T
    variance = (WEIGHT @ covariance * WEIGHT).sum(1, keepdim=True)
    share = WEIGHT.square() / variance
    independent = 1 - (WEIGHT @ covariance).square() / variance
    values = kurtosis((x @ WEIGHT.T).view(classes, n, 3).transpose(0, 1).flatten(1)).view(classes, 3)
    expected = -2 * share * independent * ((values - 3).abs() / values).mean(0)[:, None]
    small = share < 0.02
    assert small.sum() > 20
    assert found[small].sum().item() == pytest.approx(expected[small].sum().item(), rel=0.15)
    spread = ((values - 3).abs() / values).mean().item() * math.sqrt(n)
    assert spread == pytest.approx(0.8 * math.sqrt(24) / 3, rel=0.15)


@pytest.mark.parametrize("law", ["signs", "sparse"])
def test_with_many_images_all_columns_have_the_limit(law):
    """x = Gaussian + m b with b = ±1, or rarely 1: κ − 3 = κ₄(b)(w·m)⁴/var², with and without each weight."""
    stream = generator(0, law)
    feature, n = torch.zeros(INPUTS, dtype=torch.float64), 40_000
    feature[8:14] = 1
    weight = WEIGHT[:1] + 2 * feature
    x, _ = draw_gaussian(1, 2 * n)
    rare = 0.5 if law == "signs" else 0.05
    b = (torch.rand(2 * n, 1, generator=stream) < rare).double() / math.sqrt(rare * (1 - rare))
    x, y = x + 2 * feature * b, torch.arange(2 * n) % 2
    fourth = 1 / (rare * (1 - rare)) - 6

    def find_limit(w):
        signal = 2 * w @ feature
        return 3 + fourth * signal**4 / ((w @ SMOOTH).square().sum(-1) + signal.square()) ** 2

    whole, without = find_limit(weight), find_limit(weight * (1 - torch.eye(INPUTS, dtype=torch.float64)))
    limit = (whole - 3).sign() * (without - whole) / whole
    for name, found in score_weights(weight, x, y, columns=("exact", "of_mean", *CORRECTED)).items():
        if name != "excluded":
            assert (found[0] - limit).abs().max() < 0.05 * limit.abs().max(), name


def test_a_half_without_variance_is_left_out():
    x, y = draw_gaussian(3, 10)
    x[:5] = x[0]  # the first half of class 0
    found = score_weights(WEIGHT, x, y, columns=COLUMNS)
    expected = correct_by_hand(WEIGHT, x[10:], y[10:])
    for name, score in zip(CORRECTED, expected, strict=True):
        torch.testing.assert_close(found[name], score)
    assert not found["excluded"].any()  # the class as a whole has a score
    alone = score_weights(WEIGHT, x[:10], columns=COLUMNS)
    assert all(alone[name].isnan().all() for name in CORRECTED)


def test_corrected_scores_need_twice_as_many_images():
    x, y = draw_gaussian(2, 7)
    assert not score_weights(WEIGHT, x, y)["exact"].isnan().any()
    with pytest.raises(UsageError, match="class 0 has 7 images, but corrected scores need at least 8"):
        score_weights(WEIGHT, x, y, columns=CORRECTED)
