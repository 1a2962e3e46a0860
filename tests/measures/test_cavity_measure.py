"""Cavity scores against removing each weight and recomputing the kurtosis."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.measures import cavity
from prunefield.measures.cavity import COLUMNS, score_weights
from prunefield.measures.kurtosis import kurtosis

UNITS, INPUTS, CLASSES = 6, 40, 3
STREAM = generator(0, "cavity")
W = torch.randn(UNITS, INPUTS, generator=STREAM, dtype=torch.float64)
X = 1 + torch.randn(150, INPUTS, generator=STREAM, dtype=torch.float64) ** 3 / 3
X += 0.5 * X.roll(1, 1)
Y = torch.arange(150) % CLASSES


def take_away(weight, x):
    """kurt λ (units,) and kurt λ^(−j) (units, inputs), in float64."""
    values = x @ weight.T
    without = values[:, :, None] - weight * x[:, None, :]
    return kurtosis(values), kurtosis(without.flatten(1)).view_as(weight)


def by_hand(weight, x, y):
    """Eq. 5 in each class (classes, units, inputs), and of the mean kurtosis."""
    pairs = [take_away(weight, x[y == label]) for label in y.unique()]
    before, after = (torch.stack(part) for part in zip(*pairs, strict=True))
    change = (after - before[..., None]) / before[..., None]
    mean, mean_after = before.mean(0)[:, None], after.mean(0)
    one_by_one = torch.where(before > 3, 1, -1)[..., None] * change
    return one_by_one, torch.where(mean > 3, 1, -1) * (mean_after - mean) / mean


def gap(found, expected, kept):
    """The largest difference divided by the RMS score."""
    return ((found - expected)[kept].abs().max() / expected[kept].square().mean().sqrt()).item()


@pytest.mark.parametrize("density", [1.0, 0.5, 0.2])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_averages_agree_with_removing_each_weight(dtype, error, density, monkeypatch):
    monkeypatch.setattr(cavity, "UNITS", 4)  # several tiles and groups
    monkeypatch.setattr(cavity, "INPUTS", 16)
    monkeypatch.setattr(cavity, "ROOM", 100)
    kept = torch.rand(W.shape, generator=generator(1, "mask")) < density
    weight, x = W.to(dtype), X.to(dtype)
    found = score_weights(weight, x, Y, mask=kept, columns=COLUMNS)
    one_by_one, of_mean = by_hand(weight.double() * kept, x.double(), Y)
    assert gap(found["exact"], one_by_one.mean(0), kept) < error
    assert gap(found["of_mean"], of_mean, kept) < error
    pooled = score_weights(weight, x, mask=kept, columns=COLUMNS)
    expected = by_hand(weight.double() * kept, x.double(), 0 * Y)[1]
    assert gap(pooled["exact"], expected, kept) < error
    assert gap(pooled["of_mean"], expected, kept) < error
    assert torch.equal(found["exact"].isnan(), ~kept)
    assert not found["excluded"].any()


@pytest.mark.parametrize("density", [1.0, 0.2])
def test_first_order_scores_of_a_unit_sum_to_zero_in_each_class(density):
    kept = torch.rand(W.shape, generator=generator(1, "mask")) < density
    for label in range(CLASSES):
        found = score_weights(W, X[label == Y], mask=kept, columns=COLUMNS)
        assert found["first"].nansum(1).abs().max() < 1e-12
    assert found["exact"].nansum(1).abs().max() > 1e-3


def test_the_first_order_is_the_slope_of_the_kurtosis():
    step = torch.zeros_like(W)
    step[2, 5] = 1e-6 * W[2, 5]
    x = X[Y == 0]
    before = kurtosis(x @ W.T)[2]
    slope = (kurtosis(x @ (W - step).T)[2] - kurtosis(x @ (W + step).T)[2]) / 2e-6 / before
    expected = slope if before > 3 else -slope
    assert score_weights(W, x, columns=["first"])["first"][2, 5].item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("thin", [0.0, 1.1])
def test_weights_without_a_score_are_excluded_and_counted(thin, monkeypatch):
    monkeypatch.setattr(cavity, "THIN", thin)  # both ways of computing
    kept = torch.ones_like(W, dtype=torch.bool)
    kept[0] = False  # a unit without weights
    kept[1, 1:] = False  # with one
    x = X.clone()
    x[:, 7] = 0.1  # a constant input
    x[Y == 2, 8] = 5.0  # constant in one class
    found = score_weights(W, x, Y, mask=kept, columns=COLUMNS)
    assert found["excluded"][1].tolist() == [3] + [0] * (INPUTS - 1)
    assert int(found["excluded"].sum()) == 3
    undefined = ~kept
    undefined[1, 0] = True
    for column in COLUMNS:
        assert torch.equal(found[column].isnan(), undefined)
        assert found[column][2:, 7].tolist() == [0] * 4  # taking it away changes nothing
    one_by_one, _ = by_hand(W * kept, x, Y)
    assert one_by_one[2, 2:, 8].abs().max() < 1e-12
    torch.testing.assert_close(found["exact"][2:, 8], one_by_one[:2, 2:, 8].sum(0) / 3, rtol=1e-9, atol=0)
    assert found["first"][2:].sum(1).abs().max() < 1e-12  # the sum rule holds all the same


@pytest.mark.parametrize("density", [1.0, 0.2])
def test_a_class_of_many_images_is_scored_in_parts(density, monkeypatch):
    kept = torch.rand(W.shape, generator=generator(1, "mask")) < density
    whole = score_weights(W, X, mask=kept, columns=COLUMNS)
    monkeypatch.setattr(cavity, "ROOM", 40)
    parts = score_weights(W, X, mask=kept, columns=COLUMNS)
    for column in COLUMNS:
        torch.testing.assert_close(parts[column], whole[column], rtol=1e-9, atol=1e-12, equal_nan=True)


def test_only_the_requested_columns_are_computed():
    whole, some = score_weights(W, X, Y, columns=COLUMNS), score_weights(W, X, Y, columns=["of_mean"])
    assert set(some) == {"of_mean", "excluded"}
    assert torch.equal(some["of_mean"], whole["of_mean"])
    with pytest.raises(UsageError, match="unknown column of cavity scores 'exat'; did you mean 'exact'"):
        score_weights(W, X, Y, columns=["exat"])


def test_scale_and_shift_of_the_inputs_change_nothing():
    found, moved = score_weights(W, X, Y), score_weights(W / 3, 3 * X + 7, Y)
    assert gap(moved["exact"], found["exact"], torch.ones_like(W, dtype=torch.bool)) < 1e-10


def test_too_few_images_are_reported():
    with pytest.raises(UsageError, match="class 1 has 3 images, but a kurtosis needs at least 4"):
        score_weights(W, X[:9], torch.tensor([0] * 6 + [1] * 3))
    with pytest.raises(UsageError, match="3 labels and 9 images"):
        score_weights(W, X[:9], torch.zeros(3))
