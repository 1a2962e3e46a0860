"""The prediction: right for laws whose answer is known, and honest about data that do not fit the theory."""

import json
import math

import numpy as np
import pytest
import torch

from prunefield import Task
from prunefield.cli import main
from prunefield.measure.prediction import amplify, order_classes, predict
from prunefield.seeds import generator

GRID = torch.linspace(-1, 1, 41, dtype=torch.float64)


def forecast(settings, n=4000, labelled=True, **options):
    task = Task.parse(settings)
    batch = task.sample(n, generator=generator(0, "data"))
    rest = {"inits": 4, "folds": 2, "time": 60.0, "generator": generator(0, "init")} | options
    return predict(batch.x, batch.y if labelled else None, task.shape, **rest)


@pytest.mark.parametrize("kind", ["ising", {"kind": "nlgp", "g": 0.01}, {"kind": "kur", "k": 10.0}])
def test_the_amplifier_of_a_sample_is_that_of_the_law(kind):
    task = Task.parse(kind)
    batch = task.sample(20_000, generator=generator(0, "data"))
    assert torch.allclose(amplify(batch.x.double())(GRID), task.amplifier(GRID), rtol=0, atol=0.01)


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("ising", "yes"), ({"kind": "nlgp", "g": 100.0}, "yes"), ("nlgp", "no"), ("kur", "no"), ("gaussian", "no")],
)
def test_known_laws_get_the_known_answer(kind, answer):
    found = forecast(kind)
    assert found.answer == answer
    assert all(check.met for check in found.properties.values())
    assert found.agreement == 1.0


def test_the_peak_is_that_of_the_exact_flow():
    """With exact covariances and amplifier, from the same first weights."""
    from prunefield.measure.localisation import locate, separate
    from prunefield.nets.glorot import draw_glorot
    from prunefield.theory.flow import integrate

    task = Task.parse("ising")
    start = draw_glorot(4, 40, 1, scale=1e-3, generator=generator(0, "init"))
    exact = integrate(start, [0.0, 60.0], task.covariance(0), task.covariance(1), task.amplifier)[-1]
    found = forecast("ising", n=40_000)
    assert (separate(found.peaks, locate(exact), 40) <= 2).float().mean() >= 0.75
    assert found.concentration.median() == pytest.approx(
        40 * float((exact**4).sum(1).div((exact**2).sum(1) ** 2).median()), rel=0.1
    )


def test_elliptical_data_are_recognised_as_outside_the_theory():
    assert not forecast({"kind": "elliptical"}).properties["S1 weak dependence"].met


def test_images_and_data_without_labels():
    found = forecast(
        {"kind": "nlgp", "dimensions": 2, "size": 8, "g": 100.0, "lengthscales": [0.5, 1.0]}, labelled=False
    )
    assert found.fields.shape == (4, 64)
    assert found.covariances[0].sub(torch.eye(64)).abs().max() < 0.15  # shuffled: no correlations


def test_the_longer_lengthscale_is_class_1():
    batch = Task.parse("nlgp").sample(4000, generator=generator(0, "data"))
    short, long = order_classes(batch.x, 1 - batch.y)  # labels the other way round
    assert math.isclose(float(torch.corrcoef(long.T)[0, 1]), math.exp(-1 / 9), abs_tol=0.05)
    assert float(torch.corrcoef(short.T)[0, 1]) < 0.5


def test_the_command_reads_arrays(tmp_path, capsys):
    batch = Task.parse("ising").sample(1000, generator=generator(0, "data"))
    np.savez(tmp_path / "data.npz", x=batch.x.numpy(), y=batch.y.numpy())
    np.save(tmp_path / "data.npy", batch.x.numpy())
    for name in ("data.npz", "data.npy"):
        picture = tmp_path / "picture.svg"
        options = ["--inits", "2", "--folds", "2", "--time", "20", "--draw", str(picture), "--json"]
        assert main(["predict", str(tmp_path / name), *options]) == 0
        assert json.loads(capsys.readouterr().out)["answer"] in ("yes", "no", "undecided")
        assert b"<svg" in picture.read_bytes()


def test_the_command_takes_a_task(capsys):
    options = ["--set", "g=100", "--samples", "2000", "--inits", "2", "--folds", "2", "--time", "40"]
    assert main(["predict", "nlgp", *options]) == 0
    assert "Will a ReLU neuron localise? yes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.full((200, 8), np.nan), "not finite"),
        (np.ones((200, 8)), "8 of 8 inputs are constant"),
        (np.random.default_rng(0).normal(size=(20, 8)), "at least 100 examples"),
        (np.zeros(5), "of shape (n, …)"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.array([[None, 1]], dtype=object), "safe to read"),
    ],
)
def test_bad_arrays_get_one_line(tmp_path, capsys, x, message):
    np.save(tmp_path / "x.npy", x, allow_pickle=True)
    assert main(["predict", str(tmp_path / "x.npy")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["isng"], "did you mean 'ising'?"),
        (["absent.npy"], "no such file"),
        (["ising", "--folds", "1"], "--folds must be at least 2"),
        (["nlgp", "--set", "g=-1"], "greater than 0"),
    ],
)
def test_bad_commands_get_one_line(capsys, arguments, message):
    assert main(["predict", *arguments]) == 2
    assert message in capsys.readouterr().err
