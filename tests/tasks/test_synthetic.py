"""Synthetic inputs against the laws that they are drawn from, and against the set that is drawn once."""

import math

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.tasks import Task
from prunefield.tasks.chi import Chi
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.noise import Noise
from prunefield.tasks.normal import Normal
from prunefield.tasks.ones import Ones
from prunefield.tasks.sparse import Sparse

SHAPE = (3, 6, 6)


def test_moments_and_zeros():
    chi = Chi(shape=SHAPE).sample(50, generator=generator(0, "x")).x
    mean = math.sqrt(2) * math.exp(math.lgamma(64.5) - math.lgamma(64))
    assert chi.mean().item() == pytest.approx(mean, abs=5 * math.sqrt((128 - mean**2) / chi.numel()))
    normal = Normal(shape=SHAPE).sample(50, generator=generator(0, "x")).x
    assert normal.mean().item() == pytest.approx(0, abs=5 / math.sqrt(normal.numel()))
    assert normal.var().item() == pytest.approx(1, abs=5 * math.sqrt(2 / normal.numel()))
    assert (Sparse(shape=SHAPE).sample(20, generator=generator(0, "x")).x != 0).sum(0).eq(1).all()
    assert Ones(shape=SHAPE).sample(2, generator=generator(0, "x")).x.eq(1).all()


def test_noise_is_a_fixed_set_of_normal_examples():
    noise = Noise(of=Leaves(side=8), images=7)
    x, y = Normal(shape=(3, 8, 8), classes=noise.classes).sample(7, generator=generator(0, "noise", "train"))
    assert torch.equal(noise.take(torch.arange(7), training=True), x)
    assert torch.equal(noise.labels(training=True), y)


@pytest.mark.parametrize(("key", "value"), [("shape", []), ("shape", [3, 0]), ("classes", 0)])
def test_bad_settings_are_refused_in_one_line(key, value):
    with pytest.raises(UsageError, match=f"^ones: {key}") as caught:
        Task.parse({"kind": "ones", key: value})
    assert "\n" not in str(caught.value)
