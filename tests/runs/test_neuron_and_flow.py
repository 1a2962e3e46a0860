"""The single neuron and its flow: agreement while the flow holds, and errors."""

import pytest
import torch

from prunefield.core import seeds
from prunefield.core.errors import RunError, UsageError
from prunefield.runs import Record, Run, State
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron, draw_initial_weights
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

SMALL = {"size": 12, "lengthscales": (0.5, 1.5)}
RUNS = [
    Neuron(task=Ising(size=12), inits=3, batch_size=40, steps=23, record_every=5),
    Neuron(task=Kur(**SMALL), inits=2, batch_size=30, steps=12, record_every=4, dtype="float32"),
    Neuron(task=Nlgp(**SMALL), inits=2, batch_size=30, steps=9, record_every=4, fresh=False),
    Flow(task=Nlgp(g=3.0, **SMALL), inits=2, time=2.0, record_every=0.09),
    Flow(task=Kur(**SMALL), inits=2, time=1.0, record_every=0.25, amplifier="cubic"),
]


def _records(run: Run, state: State) -> list[Record]:
    return [record for record in run(state) if record is not None]


def test_records_come_on_schedule_and_start_where_the_flow_starts():
    neuron, flow = RUNS[0], Flow(task=Ising(size=12), inits=3, time=1.15, record_every=0.5)
    ours, theirs = _records(neuron, State()), _records(flow, State())
    assert [record["step"] for record in ours] == [0, 5, 10, 15, 20, 23]
    assert [record["time"] for record in theirs] == pytest.approx([0, 0.5, 1.0, 1.15])
    assert torch.equal(ours[0].tensors["weights"], theirs[0].tensors["weights"])
    assert torch.equal(ours[0].tensors["weights"], draw_initial_weights(0, 3, 12, 1e-3))


def test_a_step_is_the_one_that_autograd_takes():
    run = Neuron(task=Nlgp(**SMALL), inits=2, batch_size=50, steps=1, record_every=1, init_scale=0.5)
    first, second = _records(run, State())
    x, y = run.task.sample(50, generator=State().generator(0, "data"), dtype=torch.float64)  # pyright: ignore
    w = first.tensors["weights"].clone().requires_grad_()
    losses = torch.stack([((x @ row).relu() - y).square().mean() for row in w])
    losses.sum().backward()
    assert torch.allclose(first.tensors["loss"], losses.detach())
    assert w.grad is not None
    assert torch.allclose(second.tensors["weights"], w.detach() - 0.05 * w.grad, atol=1e-15)


@pytest.mark.parametrize(
    ("task", "error"), [(Ising(), 0.2), (Nlgp(), 0.1), (Kur(k=10.0), 0.2)], ids=["ising", "nlgp", "kur"]
)
def test_early_in_training_a_large_batch_follows_the_flow(task, error):
    # For a Gaussian Eq. 5 is exact and only the noise of the batch is left, otherwise it is right as N grows.
    # The initial weights are large, so that a step of 0.01 is short.
    settings = {"task": task, "inits": 3, "init_scale": 0.3}
    neuron = Neuron(**settings, lr=0.01, batch_size=4000, steps=100, record_every=100)
    flow = Flow(**settings, time=1.0, record_every=1.0)
    (start, seen), (_, expected) = (
        [record.tensors["weights"] for record in _records(run, State())] for run in (neuron, flow)
    )
    moved = (expected - start).norm(dim=1)
    assert ((seen - expected).norm(dim=1) < error * moved).all()


def test_one_batch_kept_is_plain_gradient_descent_whose_loss_falls_in_every_step():
    task = Nlgp(size=8, lengthscales=(0.5, 1.0))
    run = Neuron(task=task, inits=2, fresh=False, batch_size=60, lr=0.02, steps=80, record_every=1, init_scale=1.0)
    records = _records(run, State())
    x, y = task.sample(60, generator=seeds.generator(run.seed, "data"), dtype=torch.float64)
    w = draw_initial_weights(run.seed, 2, 8, 1.0).requires_grad_()
    for record in records:
        assert torch.allclose(record.tensors["weights"], w.detach(), rtol=0, atol=1e-12)
        losses = ((x @ w.T).relu() - y[:, None]).square().mean(0)
        assert torch.allclose(record.tensors["loss"], losses.detach(), rtol=0, atol=1e-12)
        (gradient,) = torch.autograd.grad(losses.sum(), w)
        w = (w - run.lr * gradient).detach().requires_grad_()
    path = torch.stack([record.tensors["loss"] for record in records])
    assert (path.diff(dim=0) < 0).all()
    assert run.seconds() < run.model_copy(update={"fresh": True}).seconds()


def test_a_rate_that_blows_up_says_where():
    run = Neuron(task=Ising(size=12), lr=1e6, batch_size=20, steps=200, record_every=50)
    with pytest.raises(RunError, match=r"Ising became non-finite at step \d+; lower lr \(it is 1e\+06\)"):
        _records(run, State())


def test_an_infinite_kurtosis_has_no_cubic_flow():
    with pytest.raises(UsageError, match=r"kurtosis of Kur\(4\) is infinite, so there is no cubic; use 'exact'"):
        Run.parse({"kind": "flow", "task": {"kind": "kur", "k": 4}, "amplifier": "cubic"})
    assert _records(Flow(task=Kur(k=4.0, **SMALL), inits=1, time=0.2, record_every=0.1), State())


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.kind()}-{run.task.kind()}")
def test_settings_survive_json(run):
    assert Run.parse(run.settings()) == run
    assert run.seconds() > 0
