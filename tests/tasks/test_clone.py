"""The Gaussian clone against the moments of the examples it was fitted to and against numpy's multivariate normal."""

import numpy as np
import pytest
import torch

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.tasks import Task, draw_balanced
from prunefield.tasks.clone import Clone, _fit_clone
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.photos import Photos

SMALL = Leaves(side=4, categories=3)
N = 40_000


def fitted(clone):
    """The examples it was fitted to, in grey levels, (classes, n, features)."""
    batch = draw_balanced(clone.of, clone.per_class, generator=seeds.generator(clone.seed, "clone"), training=True)
    return grey(clone, batch.x).view(clone.classes, clone.per_class, -1)


def grey(clone, x):
    black, white = clone.of.levels
    return ((x - black) / (white - black) * 255).double()


def draw(clone, label, n=N):
    return grey(clone, clone.draw(torch.full((n,), label), generator=seeds.generator(1, "draw", label)))


def block(covariance, joint):
    """The part of a covariance that the clone keeps: the blocks of the channels."""
    same = torch.arange(3).repeat_interleave(16)
    return covariance if joint else covariance * (same[:, None] == same)


def within_error(found, wanted, n):
    """Whether a covariance of n Gaussian examples is within six standard errors, √((σᵢᵢσⱼⱼ + σᵢⱼ²)/n)."""
    scale = wanted.diagonal()
    return ((found - wanted).abs() / ((scale[:, None] * scale + wanted**2) / n).sqrt()).max() < 6


@pytest.mark.parametrize(
    "settings", [{}, {"joint": True}, {"shrinkage": 0.3}, {"shrinkage": 1.0}, {"per_class": 12, "jitter": 4.0}]
)
def test_mean_and_covariance_are_those_of_each_class_and_channel(settings):
    clone = Clone(of=SMALL, **settings)
    for label, images in enumerate(fitted(clone)):
        wanted = block(torch.cov(images.T), clone.joint)
        parts = [slice(0, 48)] if clone.joint else [slice(begin, begin + 16) for begin in (0, 16, 32)]
        white = torch.zeros(48, dtype=torch.float64)
        for part in parts:
            white[part] = clone.shrinkage * wanted.diagonal()[part].mean()
        wanted = (1 - clone.shrinkage) * wanted + torch.diag(white + clone.jitter)
        x = draw(clone, label)
        assert within_error(torch.cov(x.T), wanted, N)
        assert ((x.mean(0) - images.mean(0)).abs() / (wanted.diagonal() / N).sqrt()).max() < 5


def test_channels_are_independent_unless_joint():
    apart, joint = (torch.corrcoef(draw(Clone(of=SMALL, joint=joint), 0).T)[:16, 16:32] for joint in (False, True))
    assert apart.abs().max() < 6 / N**0.5
    assert joint.abs().max() > 0.3


def test_the_distribution_is_that_of_numpys_multivariate_normal():
    """The same first four moments of random projections, within sampling error."""
    clone = Clone(of=SMALL, joint=True)
    images = fitted(clone)[1].numpy()
    rng = np.random.default_rng(0)
    peer = rng.multivariate_normal(images.mean(0), np.cov(images.T) + clone.jitter * np.eye(48), N)
    directions = rng.standard_normal((48, 10))
    ours, theirs = draw(clone, 1).numpy() @ directions, peer @ directions
    spread = theirs.std(0)
    assert (np.abs(ours.mean(0) - theirs.mean(0)) / spread < 6 * (2 / N) ** 0.5).all()
    assert (np.abs(ours.var(0) / spread**2 - 1) < 6 * (4 / N) ** 0.5).all()
    for power, error in ((3, 15.0), (4, 96.0)):  # the variance of z³ is 15 and that of z⁴ is 96
        moments = [np.mean(((x - x.mean(0)) / x.std(0)) ** power, 0) for x in (ours, theirs)]
        assert (np.abs(moments[0] - moments[1]) < 6 * (2 * error / N) ** 0.5).all()


def test_kurtosis_is_3_within_a_class_until_clipped():
    for clip in (False, True):
        x = draw(Clone(of=Photos(side=8, rows=1, columns=1), per_class=200, clip=clip), 0, 20_000)
        z = x - x.mean(0)
        kurtosis = (z**4).mean(0) / (z**2).mean(0) ** 2
        if clip:
            assert kurtosis.mean() < 2.9
            assert x.min() == pytest.approx(0, abs=1e-3)
            assert x.max() == pytest.approx(255, abs=1e-3)
            assert (x - x.round()).abs().max() < 1e-3
        else:
            assert (kurtosis - 3).abs().max() < 6 * (24 / 20_000) ** 0.5
            assert x.min() < -1


def test_one_example_does_not_depend_on_how_classes_are_grouped():
    clone = Clone(of=SMALL)
    batch = clone.sample(200, generator=seeds.generator(0, "x"))
    means = fitted(clone).mean(1)
    distance = (grey(clone, batch.x)[:, None] - means).square().mean(2)
    deviation = fitted(clone).var(1).mean(1)
    assert (distance[torch.arange(200), batch.y] < 6 * deviation[batch.y]).all()


def test_finite_tasks_are_fitted_to_distinct_training_images(datasets):
    clone = Clone(of="cifar10", per_class=10)  # all that there are
    images = fitted(clone)
    assert len(images.flatten(0, 1).unique(dim=0)) == 100
    assert clone.sample(7, generator=torch.Generator()).x.shape == (7, 3072)
    with pytest.raises(UsageError, match="per_class to at most 10"):
        Clone(of="cifar10").sample(1, generator=torch.Generator())


def test_the_factor_of_a_finite_task_contains_its_examples_and_their_mean(datasets):
    """It is filled class by class; the examples are those that `draw_balanced` takes at once."""
    clone = Clone(of="cifar10", per_class=10, shrinkage=0.19)
    images = fitted(clone).view(10, 10, 3, 1024).transpose(1, 2)
    factor = _fit_clone(clone).factor.double()
    mean = images.mean(2, keepdim=True)
    assert torch.allclose(factor[:, :, -1:], mean, atol=1e-3)
    assert torch.allclose(factor[:, :, :-1], 0.9 * (images - mean) / 3, atol=1e-3)


def test_clipping_needs_grey_levels(datasets):
    with pytest.raises(UsageError, match="grey levels, which 'nlgp' does not have; set clip = false"):
        Task.parse({"kind": "clone", "of": "nlgp", "clip": True})
    with pytest.raises(UsageError, match="grey levels"):
        Clone(of="npz", clip=True, per_class=10).sample(1, generator=torch.Generator())


def test_more_examples_than_pixels_give_the_same_covariance():
    """The factor is then triangular and must have the covariance of the examples."""
    task = Leaves(side=4, count=4, margin=2, largest=3, categories=2)
    clone = Clone(of=task, per_class=60, jitter=0)
    x = draw_balanced(task, 60, generator=seeds.generator(0, "clone"), training=True).x[:60, :16].double()
    drawn = clone.draw(torch.zeros(200_000, dtype=torch.long), generator=torch.Generator().manual_seed(1))[:, :16]
    expected = torch.cov(x.T)
    error = (torch.cov(drawn.double().T) - expected).abs() / expected.diag().sqrt().outer(expected.diag().sqrt())
    assert error.max() < 5 / 200_000**0.5 * 2
