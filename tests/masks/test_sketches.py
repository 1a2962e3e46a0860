"""Real-valued masks of networks against identities of Algorithm 1 and its enumeration."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.masks.selection import count_kept
from prunefield.theory.sketching import expected_error


def scores(seed=0):
    stream = generator(seed, "scores")
    return {"0.weight": torch.rand(5, 4, generator=stream), "2.weight": torch.rand(3, 5, generator=stream)}


@pytest.mark.parametrize("density", [0.1, 0.5, 1])
def test_every_draw_adds_its_share(density):
    rated = scores()
    total = sum(score.sum().double() for score in rated.values())
    found = Mask.sketch(rated, density, generator=generator(1, "mask"))
    assert sum(int(torch.count_nonzero(part)) for part in found.values()) <= count_kept(35, density)
    assert sum((part * rated[name] / total).sum().item() for name, part in found.items()) == pytest.approx(1, rel=1e-6)


def test_the_error_of_a_linear_layer_is_that_of_the_theory():
    x, w = torch.randn(6, 9, generator=generator(0, "x")).double(), torch.rand(6, generator=generator(0, "w")).double()
    p = torch.rand(6, generator=generator(0, "p")).double() + 0.2
    stream, errors = generator(2, "mask"), []
    for _ in range(4000):
        masked = w * Mask.sketch({"weight": p}, 0.5, generator=stream)["weight"]
        errors.append((x.T @ (w - masked)).square().sum())
    found = torch.stack(errors)
    expected = expected_error(x, w, p / p.sum(), 3)
    assert abs(found.mean() - expected) < 5 * found.std() / len(errors) ** 0.5


def test_negative_scores_are_refused():
    with pytest.raises(UsageError, match="sampling needs scores ≥ 0"):
        Mask.sketch({"weight": torch.tensor([-1.0, 1.0])}, 0.5, generator=torch.Generator())


@pytest.mark.parametrize(("scores", "reduce"), [([-1.0, -2.0], "positive"), ([1.0, 1.0], "shift")])
def test_scores_without_a_positive_probability_are_refused(scores, reduce):
    with pytest.raises(UsageError, match="no score gives a positive probability"):
        Mask.sketch({"w": torch.tensor(scores)}, 0.5, generator=torch.Generator(), reduce=reduce)
