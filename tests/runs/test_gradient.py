"""The sampled gradient: against the sum over all states, and its noise."""

import itertools

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.runs import Record, Result, Run, State
from prunefield.runs.flow import Flow
from prunefield.runs.gradient import Gradient
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory.flow import compute_velocity

FLOW = Flow(task=Ising(size=10), inits=3, time=20.0, record_every=5.0, init_scale=1.0)


def _read(run: Run) -> Result:
    return Result([record for record in run(State()) if record is not None])


def _records(run: Run, state: State) -> list[Record]:
    return [record for record in run(state) if record is not None]


def _enumerate(task: Ising, w: torch.Tensor) -> torch.Tensor:
    """−∇L by summing over all states of both classes."""
    x = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=task.size)), dtype=torch.float64)
    energy = (x * x.roll(1, 1)).sum(1)
    found = torch.zeros_like(w)
    for label, coupling in enumerate(task.couplings):
        p = torch.softmax(coupling * energy, 0)
        before = x @ w.T
        found += ((2 * (label - before) * (before > 0) * p[:, None]).T @ x) / 2
    return found


def test_it_measures_the_error_of_the_flow_that_enumeration_gives():
    task = FLOW.task
    assert isinstance(task, Ising)
    run = Gradient(of=FLOW, task=task, samples=80_000, times=(0.0, 20.0))
    for record, w in zip(
        _records(run, State(read=_read)), (_read(FLOW).records[at].tensors["weights"] for at in (0, -1)), strict=True
    ):
        rest = _enumerate(task, w) - compute_velocity(w, task.covariance(0), task.covariance(1), task.amplifier)
        truth = rest.square().sum(-1)
        # The product's deviation has, beside the noise's own, a part that grows with the error.
        reach = 5 * (record.tensors["noise"] + (record.tensors["noise"] * truth).sqrt())
        assert ((record.tensors["distance"] - truth).abs() < reach).all()


def test_for_gaussian_data_nothing_but_noise_is_left():
    task = Nlgp(g=1e-4, size=10, lengthscales=(0.5, 1.5))
    seen = _records(Gradient(of=FLOW, task=task, samples=80_000, times=(0.0, 10.0, 20.0)), State(read=_read))
    assert all((record.tensors["distance"].abs() < 5 * record.tensors["noise"]).all() for record in seen)
    assert all((record.tensors["wrong"] > record.tensors["drive"]).all() for record in seen)


def test_bad_settings_are_told():
    good = Gradient(of=FLOW, task=FLOW.task)
    with pytest.raises(UsageError, match="sites"):
        Run.parse(good.settings() | {"task": "ising"})
    with pytest.raises(UsageError, match="must be a neuron or a flow"):
        Run.parse(good.settings() | {"of": good})
    assert Run.parse(good.settings()) == good
    assert good.needs() == [FLOW]
