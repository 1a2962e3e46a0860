"""The prediction: correct for laws with a known answer, and honest about data that do not fit the theory."""

import json

import numpy as np
import pytest
import torch

from prunefield import Task
from prunefield.cli import main
from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.measures.examples import prepare_examples
from prunefield.measures.prediction import estimate_needed, judge_widths, predict
from prunefield.theory.flow import integrate_flow

QUICK = {"inits": 3, "resamples": 20, "time": 300.0}


def draw(settings, n, seed=0):
    task = Task.parse(settings)
    return task, task.sample(n, generator=generator(seed, "data"))


def forecast(settings, n=2000, labelled=True, **options):
    task, batch = draw(settings, n)
    return predict(batch.x, batch.y if labelled else None, task.shape, **QUICK | options)


def test_elliptical_data_of_few_dimensions_do_not_get_a_yes():
    """On a sphere in the space of nine slow waves φ bends as for local fields, but there is no force (Prop. 3.3)."""
    sites, stream = torch.arange(40, dtype=torch.float64), generator(0, "data")
    turns = 2 * torch.pi * sites / 40 * torch.arange(5)[:, None]
    waves = torch.cat([turns.cos(), turns[1:].sin()])
    waves *= ((1 - 0.05 * torch.tensor([0, 1, 2, 3, 4, 1, 2, 3, 4])).sqrt() / waves.norm(dim=1))[:, None]

    def draw_shell(dimensions):
        found = torch.randn(4000, dimensions, dtype=torch.float64, generator=stream)
        return found / found.norm(dim=1, keepdim=True)

    found = predict(
        torch.cat([draw_shell(40) * 40**0.5, draw_shell(9) @ waves * 40**0.5]), [0] * 4000 + [1] * 4000, **QUICK
    )
    assert (found.leaning, found.answer) == ("yes", "undecided")
    assert "the data do not show the force" in found.caveats[-1]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("ising", "yes"), ({"kind": "nlgp", "g": 100.0}, "yes"), ("kur", "no"), ("gaussian", "no")],
)
def test_known_laws_get_the_known_answer(kind, answer):
    found = forecast(kind)
    assert found.answer == answer
    assert all(check.met for check in found.properties.values())
    assert found.certainty >= 0.95
    assert not found.caveats


@pytest.mark.parametrize("law", [{"kind": "kur", "k": 10.0}, {"kind": "nlgp", "g": 0.5}], ids=str)
def test_noise_of_small_samples_does_not_hide_localisation(law):
    """1,000 examples of weakly curved laws: the noise of 40 × 40 sample covariances gave a sure "no"."""
    found = forecast({**law, "lengthscales": (0.3, 0.7)}, 1000)
    assert found.leaning == "yes"
    assert found.answer != "no"


@pytest.mark.parametrize("law", [{"kind": "nlgp", "g": 0.5}, {"kind": "kur", "k": 5.0}], ids=str)
def test_the_answer_does_not_depend_on_the_grid(law):
    """The exact flow: what was "undecided" on 40 sites and "yes" on 160 by IPR × N."""
    from benchmarks.calibration import answer_exactly

    answers = {answer_exactly(Task.parse({**law, "size": size}), time=300.0, inits=3) for size in (40, 80, 160)}
    assert answers == {"yes" if law["kind"] == "nlgp" else "no"}


def test_the_width_agrees_with_the_exact_flow():
    """With exact covariances and amplifier."""
    from prunefield.measures.localisation import compute_ipr
    from prunefield.modules.glorot import draw_glorot

    task = Task.parse("ising")
    start = draw_glorot(3, 40, 1, scale=1e-3, generator=generator(0, "init"))
    exact = integrate_flow(start, [0.0, 300.0], task.covariance(0), task.covariance(1), task.amplifier)[-1]
    found = forecast("ising", 20_000, resamples=1)
    assert found.widths.median() == pytest.approx(float((1 / compute_ipr(exact)).median()), rel=0.1)


def test_a_close_case_is_undecided_and_says_how_many_examples_it_needs():
    found = forecast({"kind": "kur", "k": 6.0}, 500)
    assert found.answer == "undecided"
    assert "Undecided" in str(found)
    assert found.needed is None or found.needed >= 1000
    assert estimate_needed(0.9, 1000) == 2000
    assert estimate_needed(0.3, 1000) is None


def test_a_sure_answer_needs_ninety_five_percent():
    assert [judge_widths(torch.tensor([ratio])) for ratio in (0.5, 0.63, 0.9)] == ["yes", "undecided", "no"]


def test_elliptical_data_are_recognised_as_outside_the_theory():
    assert not forecast({"kind": "elliptical"}).properties["S1 weak dependence"].met


def test_the_sentence_is_the_same_in_library_and_command(capsys):
    text = str(forecast("ising", 1000, time=100.0))
    assert text.startswith("Yes, a ReLU neuron will localise (")
    assert main(["predict", "ising", "--samples", "1000", "--resamples", "20", "--inits", "3", "--time", "100"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Yes, a ReLU neuron will localise (")
    assert "start 2:" in printed


def test_different_class_means_and_random_labels_are_reported():
    task, batch = draw("gaussian", 1000)
    apart = predict(batch.x + 0.5 * batch.y[:, None], batch.y, **QUICK | {"resamples": 1})
    assert not apart.properties["equal class means"].met
    assert "equal class means)." in str(apart)
    random = torch.randint(2, (1000,), generator=generator(0, "labels"))
    blind = predict(batch.x, random, task.shape, **QUICK | {"resamples": 1})
    assert not blind.properties["labels depend on x"].met


def test_the_classes_that_are_used_are_named():
    _, batch = draw({"kind": "gaussian", "lengthscales": (0.3, 0.8, 1.2, 2.0), "size": 20}, 2000)
    names = np.array(["d", "c", "b", "a"])[batch.y.numpy()]
    names[:30] = "few"
    found = predict(batch.x, names, **QUICK | {"resamples": 1})
    assert (
        "of 4 classes, 'd' has the shortest and 'a' the longest lengthscale; the others are not used" in found.caveats
    )
    assert any("1 of the classes" in note for note in found.caveats)


def test_constant_inputs_are_left_out_with_a_note():
    from sklearn.datasets import load_digits

    digits = load_digits()
    found = predict(digits.images, digits.target, **QUICK | {"resamples": 2, "time": 20.0})
    assert "3 of 64 inputs are constant and are left out" in found.caveats
    assert found.fields.shape == (3, 64)
    assert (found.fields[:, digits.data.std(0) == 0] == 0).all()
    assert not found.properties["S2 translation invariance"].met


def test_channels_last_and_channels_first_agree():
    task, batch = draw({"kind": "nlgp", "dimensions": 2, "size": 8, "g": 100.0, "lengthscales": [0.5, 1.0]}, 1000)
    images = batch.x.view(-1, 1, *task.shape) * torch.tensor([0.5, 1.0, 0.0]).view(3, 1, 1)
    first = predict(images, batch.y, **QUICK | {"resamples": 1})
    last = predict(images.movedim(1, -1).numpy(), batch.y.numpy(), **QUICK | {"resamples": 1})
    assert torch.equal(first.widths, last.widths)
    assert first.fields.view(3, 3, 8, 8).equal(last.fields.view(3, 8, 8, 3).movedim(-1, 1))
    assert "channels are the last axis" in last.caveats[0]
    assert first.picture.shape == last.picture.shape == (8, 8)


def test_large_images_are_subsampled_if_they_are_not_translation_invariant():
    x = torch.randn(200, 3, 32, 32, generator=generator(0, "x")) * torch.linspace(1, 3, 32)
    found = predict(x, inits=2, resamples=1, time=5.0)
    assert any("only one in 2 rows and columns is used" in note for note in found.caveats)
    assert found.fields.shape == (2, 3072)


def test_numbers_of_any_type_give_the_same_answer():
    _, batch = draw("ising", 400)
    kinds = [batch.x.numpy().astype(kind) for kind in (np.int8, np.int64, np.float16, np.float64)]
    found = [predict(x, batch.y, **QUICK | {"resamples": 1, "time": 30.0}) for x in (*kinds, batch.x > 0)]
    assert all(torch.allclose(each.widths, found[0].widths) for each in found)


def test_the_unit_of_the_inputs_does_not_matter():
    _, batch = draw("ising", 400)
    found = [predict(batch.x.double() * scale, batch.y, **QUICK | {"time": 30.0}) for scale in (1e-200, 1.0, 1e200)]
    assert all(torch.allclose(each.widths, found[1].widths) for each in found)


def test_too_few_resamples_give_no_answer():
    found = forecast("ising", 400, resamples=2, time=30.0)
    assert (found.answer, found.needed) == ("undecided", None)
    assert "2 resamples are too few" in found.caveats[0]


def test_copies_are_reported():
    _, batch = draw("gaussian", 400)
    found = predict(batch.x.repeat(3, 1), **QUICK | {"resamples": 1, "time": 5.0})
    assert "800 of 1200 examples are copies of others" in found.caveats[0]


def test_the_command_reads_arrays(tmp_path, capsys):
    _, batch = draw("ising", 1000)
    np.savez(tmp_path / "data.npz", x=batch.x.numpy(), y=batch.y.numpy())
    np.save(tmp_path / "data.npy", batch.x.numpy())
    for name in ("data.npz", "data.npy"):
        picture = tmp_path / "picture.svg"
        options = ["--inits", "2", "--resamples", "2", "--time", "20", "--draw", str(picture), "--json"]
        assert main(["predict", str(tmp_path / name), *options]) == 0
        assert json.loads(capsys.readouterr().out)["answer"] in ("yes", "no", "undecided")
        assert b"<svg" in picture.read_bytes()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.full((200, 8), np.nan), "not finite"),
        (np.ones((200, 8)), "8 of 8 inputs are constant"),
        (np.random.default_rng(0).normal(size=(20, 8)), "at least 100 examples"),
        (np.random.default_rng(0).normal(size=(100, 2, 2, 2, 2)), "inputs must be (N,), (height, width)"),
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
        (["ising", "--resamples", "0"], "resamples must be at least 1"),
        (["ising", "--time", "0"], "time must be above 0"),
        (["nlgp", "--set", "g=-1"], "greater than 0"),
    ],
)
def test_bad_commands_get_one_line(capsys, arguments, message):
    assert main(["predict", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_labels_as_pandas_has_them_are_names():
    from pandas import Series

    _, batch = draw("gaussian", 400)
    names = np.where(batch.y.numpy() > 0, "b", "a")
    for labels in (names.astype(object), Series(names), Series(names).astype("category"), Series(names == "b")):
        assert prepare_examples(batch.x, labels).labels in (("a", "b"), (False, True))


def test_what_cannot_be_labels_inputs_or_numbers_gets_one_line():
    _, batch = draw("gaussian", 400)
    x, y = batch.x.numpy(), batch.y.numpy()
    mixed = np.where(y > 0, "b", None)
    for given, labels, message in (
        (x, mixed, "the labels cannot be sorted"),
        (x, np.ma.masked_array(y, mask=y > 0), "of the labels are masked"),
        (np.ma.masked_array(x, mask=x > 2), y, "of the inputs are masked"),
    ):
        with pytest.raises(UsageError, match=message):
            predict(given, labels)
    for how, message in (
        ({"inits": 1.5}, r"inits must be at least 1 and a whole number, not 1\.5"),
        ({"resamples": "many"}, "resamples must be at least 1 and a whole number, not 'many'"),
        ({"shape": 40}, r"shape must be whole numbers, as in \(3, 32, 32\), not 40"),
        ({"shape": "5,8"}, "shape must be whole numbers"),
    ):
        with pytest.raises(UsageError, match=message):
            predict(x, y, **how)
