"""Centre-surround filtered fields against closed forms."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.tasks import Task
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp
from prunefield.tasks.surround import Surround

TORUS = Nlgp(g=3.0, size=8, dimensions=2, lengthscales=(0.5, 1.5))
CASES = [Surround(), Surround(of=Gaussian(), width=1.0), Surround(of=TORUS, strength=0.5)]


@pytest.mark.parametrize("task", CASES, ids=lambda task: task.title)
def test_samples_have_the_covariance_of_the_closed_form(task):
    """Each entry is a mean over n fields; products of two bounded or Gaussian values have a deviation of at most 3."""
    n = 20_000
    for label in range(task.classes):
        x = task.draw(torch.full((n,), label), generator=generator(0, "x", label))
        assert (x.T @ x / n - task.covariance(label)).abs().max() < 6 * 3 / n**0.5


def test_a_filter_written_out_as_a_matrix_gives_the_same():
    """x' = (x − g⋆x)/c with the sums over sites taken one by one, and Σ' = HΣHᵀ."""
    plain = Gaussian(size=10, lengthscales=(0.8, 1.5))
    site = torch.arange(10)
    gap = (site[:, None] - site).abs()
    gap = torch.minimum(gap, 10 - gap).to(torch.float64)
    surround = torch.exp(-gap.square() / (2 * 1.5**2))
    matrix = torch.eye(10, dtype=torch.float64) - surround / surround[0].sum()
    spread = [matrix @ plain.covariance(label) @ matrix.T for label in (0, 1)]
    scale = (spread[0][0, 0] + spread[1][0, 0]) / 2
    task, labels = Surround(of=plain, width=1.5), torch.tensor([0, 1, 1])
    for label in (0, 1):
        torch.testing.assert_close(task.covariance(label), spread[label] / scale)
    x = plain.draw(labels, generator=generator(0, "x"))
    torch.testing.assert_close(task.draw(labels, generator=generator(0, "x")), x @ matrix.T / scale.sqrt())


def test_a_surround_as_strong_as_the_centre_removes_the_mean():
    x = Surround(of=Ising(size=12)).sample(50, generator=generator(0, "x"), dtype=torch.float64).x
    assert x.mean(1).abs().max() < 1e-12


def test_without_a_surround_nothing_changes():
    x = Surround(strength=0.0).sample(20, generator=generator(0, "x")).x
    torch.testing.assert_close(x, Ising().sample(20, generator=generator(0, "x")).x)


def test_what_is_filtered_must_be_a_field():
    with pytest.raises(UsageError, match="the task 'leaves' does not fit here"):
        Task.parse({"kind": "surround", "of": "leaves"})
