"""Committees and ICA as runs: their settings, known cases, and errors."""

from itertools import pairwise
from math import isfinite

import pytest
import torch

from prunefield.core.errors import RunError, UsageError
from prunefield.runs import Record, Run, State
from prunefield.runs.committee import Committee
from prunefield.runs.ica import Ica
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

SMALL = {"size": 12, "lengthscales": (0.5, 1.5)}
SHORT = {"batch_size": 30, "steps": 11, "record_every": 4}
RUNS = [
    Committee(task=Ising(size=12), hidden=3, inits=2, lr=1.0, **SHORT),
    Committee(task=Kur(**SMALL), hidden=4, second="learnt", activation="relu", lr=0.5, dtype="float32", **SHORT),
    Committee(task=Nlgp(**SMALL), hidden=2, bias=False, activation="erf", fresh=False, lr=0.5, **SHORT),
    Ica(task=Kur(k=3.0, **SMALL), components=4, samples=500),
]


def _records(run: Run, state: State) -> list[Record]:
    return [record for record in run(state) if record is not None]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.kind()}-{run.task.kind()}")
def test_settings_survive_json(run):
    assert Run.parse(run.settings()) == run
    assert run.seconds() > 0


def test_a_committee_of_one_relu_unit_is_the_neuron():
    same = {"task": Nlgp(g=3.0, **SMALL), "lr": 0.05, "init_scale": 0.1, **SHORT}
    neuron, committee = Neuron(inits=3, **same), Committee(inits=3, hidden=1, activation="relu", bias=False, **same)
    for one, other in zip(_records(neuron, State()), _records(committee, State()), strict=True):
        assert torch.allclose(one.tensors["weights"], other.tensors["weights"][:, 0], atol=1e-14)
        assert torch.allclose(one.tensors["loss"], other.tensors["loss"], atol=1e-14)


def test_only_what_learns_is_recorded_and_changes():
    fixed, learnt, plain = (_records(run, State()) for run in RUNS[:3])
    assert fixed[0].tensors.keys() == {"weights", "bias", "loss", "ipr"}
    assert learnt[0].tensors.keys() == {"weights", "bias", "outer", "offset", "loss", "ipr"}
    assert plain[0].tensors.keys() == {"weights", "loss", "ipr"}
    for records in (fixed, learnt, plain):
        assert [record["step"] for record in records] == [0, 4, 8, 11]
        for name in records[0].tensors.keys() - {"ipr"}:
            assert not torch.equal(records[0].tensors[name], records[-1].tensors[name]), name
    assert fixed[0].tensors["weights"].shape == (2, 3, 12)
    assert learnt[0].tensors["weights"].dtype == torch.float32


def test_networks_side_by_side_are_those_that_are_trained_alone():
    run = RUNS[0]
    start = run.start()  # pyright: ignore
    together = _records(run, State())[-1].tensors["weights"]
    for index in range(2):
        alone = run.model_copy(update={"inits": 1})
        saved = {f"tensor:{name}": part[index : index + 1].clone() for name, part in start._asdict().items()}
        assert torch.allclose(_records(alone, State({}, saved))[-1].tensors["weights"][0], together[index], atol=1e-13)


def test_first_weights_have_the_variance_of_glorot():
    nets = Committee(task=Ising(), hidden=50, inits=100, second="learnt", init_scale=0.3).start()
    assert nets.weights.var().item() == pytest.approx(0.3 * 2 / 90, rel=0.02)
    assert nets.outer.var().item() == pytest.approx(0.3 * 2 / 51, rel=0.05)
    assert nets.outer.mean().item() == pytest.approx(1, abs=0.01)
    assert not nets.bias.any()
    assert not nets.offset.any()


def test_a_batch_that_is_kept_makes_the_loss_fall_at_every_step():
    run = Committee(task=Nlgp(**SMALL), hidden=4, fresh=False, lr=0.5, batch_size=40, steps=50, record_every=1)
    losses = [record["loss"] for record in _records(run, State())]
    assert all(later < earlier for earlier, later in pairwise(losses))


@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
def test_a_rate_that_blows_up_says_where(activation):
    run = Committee(task=Ising(size=12), activation=activation, second="learnt", lr=1e4, batch_size=20, record_every=1)
    records = []
    with pytest.raises(RunError, match=r"committee on Ising became non-finite at step \d+; lower lr \(it is 10000"):
        records.extend(run(State()))  # keeps what came before
    assert all(isfinite(record["loss"]) and isfinite(record["ipr"]) for record in records)
    assert "diverging" not in run.settings()
    stopped = _records(run.model_copy(update={"diverging": "stop"}), State())  # the same records, and no error
    assert [record.values for record in stopped] == [record.values for record in records if record is not None]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hidden": 0}, "hidden"),
        ({"batch_size": 0}, "batch_size"),
        ({"activation": "tanh"}, "activation"),
        ({"lr": 0}, "lr"),
    ],
)
def test_bad_settings_are_refused(wrong, message):
    with pytest.raises(UsageError, match=f"committee: {message}"):
        Run.parse({"kind": "committee", "task": "ising", **wrong})


def test_ica_finds_the_sites_of_independent_spins():
    # Spins without coupling are independent sources that nothing has mixed: each component is one site.
    run = Ica(task=Ising(size=6, couplings=(0.0, 1e-3)), components=6, samples=4000)
    (record,) = _records(run, State())
    assert record["converged"]
    assert (record.tensors["ipr"] > 0.95).all()
    assert sorted(record.tensors["components"].abs().argmax(1).tolist()) == list(range(6))


def test_ica_that_does_not_come_to_rest_says_so():
    (record,) = _records(Ica(task=Nlgp(**SMALL), components=12, samples=300, iterations=2), State())
    assert record["converged"] is False
    assert record["iterations"] == 2


def test_ica_refuses_more_components_than_sites():
    with pytest.raises(UsageError, match=r"ica: components must be at most 12, .* \(got 13\)"):
        Run.parse({"kind": "ica", "task": {"kind": "ising", "size": 12}, "components": 13})


def test_initial_weights_of_the_second_layer_may_differ_by_a_factor():
    equal = Committee(task="ising", hidden=5, inits=2, second="learnt", init_scale=1e-12)
    unequal = Committee(**{**dict(equal), "outer_ratio": 9.0})
    factors = unequal.start().outer / equal.start().outer
    expected = 9.0 ** torch.linspace(-0.5, 0.5, 5, dtype=torch.float64)
    torch.testing.assert_close(factors.sort(1).values, expected.expand(2, 5))
    assert not torch.equal(factors[0], factors[1])  # in random order
    assert torch.equal(unequal.start().weights, equal.start().weights)
    assert "outer_ratio" not in equal.settings()
    for settings in ({}, {"second": "learnt", "hidden": 1}):
        with pytest.raises(UsageError, match="outer_ratio needs a trained second layer of two or more units"):
            Run.parse({"kind": "committee", "task": "ising", "outer_ratio": 2.0, **settings})
