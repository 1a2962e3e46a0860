"""The run `draws`: what it averages is what numpy says of the same examples."""

import numpy as np
import pytest
import torch

from prunefield.core import seeds
from prunefield.runs import State
from prunefield.runs.draws import EDGES, Draws
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.ising import Ising

RUN = Draws(task=Gaussian(size=9, lengthscales=(0.5, 1.0)), number=2500, seed=3)


def records(run):
    return [record for record in run(State()) if record is not None]


def test_it_measures_its_examples():
    for label, record in enumerate(records(RUN)):
        stream = seeds.generator(3, "draws", label)
        parts = [RUN.task.draw(torch.full((n,), label), generator=stream) for n in (1000, 1000, 500)]
        x = torch.cat(parts).numpy()
        assert torch.equal(record.tensors["field"], parts[0][0])
        products = np.stack([(x * np.roll(x, -d, 1)).mean(1) for d in range(5)], 1)
        assert record.tensors["correlation"].tolist() == pytest.approx(products.mean(0).tolist())
        error = products.std(0, ddof=1) / np.sqrt(2500)
        assert record.tensors["correlation_error"].tolist() == pytest.approx(error.tolist())
        counts = np.histogram(x, np.concatenate(([-np.inf], EDGES.numpy(), [np.inf])))[0]
        assert record.tensors["share"].tolist() == pytest.approx((counts / x.size).tolist())
        assert record["kurtosis"] == pytest.approx((x**4).mean() / (x**2).mean() ** 2)


def test_a_torus_is_measured_along_its_last_axis():
    task = Gaussian(size=8, dimensions=2, lengthscales=(0.5, 1.0))
    for record in records(Draws(task=task, number=2000)):
        expected = task.covariance(record["label"])[0, :5]
        gap = (record.tensors["correlation"] - expected).abs() / record.tensors["correlation_error"]
        assert gap.max() < 5


def test_spins_have_no_scatter_of_their_squares():
    for record in records(Draws(task=Ising(size=6), number=50)):
        assert record["kurtosis"] == pytest.approx(1)
        assert record.tensors["correlation_error"][0].item() == pytest.approx(0, abs=1e-7)
