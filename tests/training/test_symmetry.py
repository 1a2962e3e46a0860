"""All translates and both signs of each example: against the enlarged batch itself."""

import pytest
import torch

from prunefield.core import seeds
from prunefield.runs import State
from prunefield.runs.committee import Committee
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp
from prunefield.training.committee import CommitteeNets as Nets
from prunefield.training.committee import compute_gradient
from prunefield.training.symmetry import compute_symmetric_gradient

SMALL = {"size": 10, "lengthscales": (0.5, 1.5)}
TORUS = Nlgp(g=3.0, dimensions=2, size=4, lengthscales=(0.3, 0.7))


def _enlarge(x, y, shape):
    """The batch with every translate and both signs, by rolling."""
    fields, dims = x.view(-1, *shape), tuple(range(1, len(shape) + 1))
    shifts = torch.cartesian_prod(*map(torch.arange, shape)).view(-1, len(shape)).tolist()
    moved = torch.cat([fields.roll(shift, dims) for shift in shifts]).flatten(1)
    return torch.cat([moved, -moved]), y.repeat(2 * len(shifts))


@pytest.mark.parametrize("task", [Nlgp(g=3.0, **SMALL), TORUS, Ising(size=9)], ids=["ring", "torus", "spins"])
def test_the_gradient_is_that_of_the_enlarged_batch(task):
    x, y = task.sample(30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    w = torch.randn(3, task.sites, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    many, labels = _enlarge(x, y, task.shape)
    losses = ((many @ w.T).relu() - labels[:, None]).square().mean(0)
    (expected,) = torch.autograd.grad(losses.sum(), w)
    loss, gradient = compute_symmetric_gradient(w.detach(), x, y, task.shape)
    assert torch.allclose(loss, losses.detach(), atol=1e-12)
    assert torch.allclose(gradient, expected, atol=1e-12)


@pytest.mark.parametrize("second", ["fixed", "learnt"])
def test_a_step_of_a_symmetric_committee_is_that_on_the_enlarged_batch(second):
    task = Nlgp(g=3.0, **SMALL)
    run = Committee(
        task=task, hidden=3, inits=2, second=second, symmetric=True, batch_size=20, lr=0.5, steps=1, record_every=1
    )
    first, last = [record for record in run(State()) if record]
    many, labels = _enlarge(*task.sample(20, generator=seeds.generator(0, "data"), dtype=torch.float64), task.shape)
    nets = run.start()
    loss, gradient = compute_gradient(nets, many, labels, run.activation)
    assert torch.allclose(first.tensors["loss"], loss, atol=1e-12)
    for name in last.tensors.keys() & set(Nets._fields):
        expected = getattr(nets, name) - run.lr * getattr(gradient, name)
        assert torch.allclose(last.tensors[name], expected, atol=1e-12), name


def test_symmetric_batches_keep_the_mean_of_the_gradient_and_lose_most_of_its_variance():
    task = Ising()
    w = torch.randn(1, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    data = torch.Generator().manual_seed(1)
    batches = [task.sample(50, generator=data, dtype=torch.float64) for _ in range(400)]
    symmetric = torch.stack([compute_symmetric_gradient(w, *batch, task.shape)[1][0] for batch in batches])
    nets = Nets(
        w[None], *(torch.full(shape, one, dtype=torch.float64) for shape, one in (((1, 1), 0), ((1, 1), 1), ((1,), 0)))
    )
    plain = torch.stack([compute_gradient(nets, *batch, "relu")[1].weights[0, 0] for batch in batches])
    noise = plain.std(0) / len(batches) ** 0.5
    assert ((plain.mean(0) - symmetric.mean(0)).abs() < 5 * noise).all()
    assert plain.var(0).sum() > 20 * symmetric.var(0).sum()


def test_old_settings_have_their_old_ids_and_streams_differ():
    for run in (Neuron(task=Ising()), Committee(task=Ising())):
        assert "symmetric" not in run.settings()
        assert "stream" not in run.settings()
        assert len({run.id, *(run.model_copy(update=new).id for new in ({"symmetric": True}, {"stream": 1}))}) == 3
    assert Neuron(task=Ising()).id == "c4aa943636c11f10"
    run = Neuron(task=Ising(size=8), inits=2, batch_size=10, steps=1, record_every=1)
    (one, moved), (other, elsewhere) = (
        [r for r in copy(State()) if r] for copy in (run, run.model_copy(update={"stream": 1}))
    )
    assert torch.equal(one.tensors["weights"], other.tensors["weights"])
    assert not torch.equal(moved.tensors["weights"], elsewhere.tensors["weights"])
