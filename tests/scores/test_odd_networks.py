"""Scores on networks as users have them: kept attributes, counters, attention, tokens, odd outputs and names."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from torch.utils.data import DataLoader, TensorDataset

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.measures.collapse import find_collapse
from prunefield.modules.flops import count_flops
from prunefield.pruning.iterations import prune
from prunefield.scores import Score, find_prunable
from prunefield.scores.grasp import Grasp
from prunefield.tasks import Batch

KINDS = ["snip", "grasp", "synflow", "trained-magnitude"]


class Keeper(nn.Module):
    """Keeps a tensor of its forward pass, and counts its passes."""

    calls: torch.Tensor

    def __init__(self):
        super().__init__()
        self.first, self.head, self.aux = nn.Linear(8, 10), nn.Linear(10, 3), None
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        hidden = self.first(x)
        self.aux = hidden.square().mean()
        self.calls += 1
        return self.head(hidden.relu())


@pytest.fixture
def batch():
    return Batch(torch.randn(6, 8, generator=generator(0, "x")), torch.arange(6) % 3)


def rate(score, net, batches):
    return Score.parse(score)(net, batches, generator=generator(0, "score"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_pass_leaves_in_a_module_is_taken_back(kind, batch):
    net = Keeper()
    prune(net, kind, 0.3, [batch], generator=generator(0, "mask"), iterations=2)
    mask = Mask.from_module(net)
    assert not find_collapse(net, mask, (8,)).dead
    assert count_flops(net, torch.zeros(1, 8)) == {"first.weight": 160, "head.weight": 60}
    assert net.aux is None
    assert net.calls == 0
    copy.deepcopy(net)


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_of_data_is_the_same_batch(kind, batch):
    net, whole = Keeper(), None
    loader = DataLoader(TensorDataset(*batch), batch_size=6)
    forms = ([batch], batch, tuple(batch), list(batch), [tuple(batch)], loader, {"x": batch.x, "labels": batch.y},
             [{"image": batch.x, "label": batch.y}], lambda: batch, iter([batch]))  # fmt: skip
    for form in forms:
        found = rate(kind, net, form)
        whole = whole or found
        assert all(torch.allclose(score, found[name], atol=1e-9) for name, score in whole.items())
    for wrong in (3, "loader", [object()]):
        with pytest.raises(UsageError, match=r"data must be a DataLoader, a pair .inputs, labels., a dict"):
            rate(kind, net, wrong)


def test_grasp_differentiates_attention_twice():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    net = nn.Sequential(layer, nn.Flatten(), nn.Linear(24, 3)).double()
    batches = [Batch(torch.randn(4, 3, 8).double(), torch.arange(4) % 3)]
    names = [name for name, _ in find_prunable(net).items()]
    parameters = dict(net.named_parameters())

    def gradient():
        loss = nn.functional.cross_entropy(net.eval()(batches[0].x) / 200, batches[0].y)
        return torch.autograd.grad(loss, [parameters[name] for name in names], allow_unused=True)

    before = [parameters[name].detach().clone() for name in names]
    slopes = [torch.zeros_like(part) if g is None else g for g, part in zip(gradient(), before, strict=True)]
    sides = []
    for sign in (1, -1):
        with torch.no_grad():
            for name, part, slope in zip(names, before, slopes, strict=True):
                parameters[name].copy_(part + sign * 1e-2 * slope)
        sides.append(gradient())
    with torch.no_grad():
        for name, part in zip(names, before, strict=True):
            parameters[name].copy_(part)
    scores = rate("grasp", net, batches)
    for name, part, ahead, behind in zip(names, before, *sides, strict=True):
        assert torch.allclose(scores[name], part * (ahead - behind) / 2e-2, rtol=1e-4, atol=1e-13)


def test_grasp_does_not_cut_a_batch_that_is_normalised_as_one(batch):
    net = nn.Sequential(nn.Linear(8, 5), nn.BatchNorm1d(5, track_running_stats=False), nn.ReLU(), nn.Linear(5, 3))
    once, usual = rate(Grasp(parts=1), net, [batch]), rate(Grasp(), net, [batch])
    assert all(torch.equal(score, usual[name]) for name, score in once.items())


@pytest.mark.parametrize("loss", [None, lambda output, y: nn.functional.cross_entropy(output, y, reduction="sum")])
def test_grasp_does_not_cut_a_batch_whose_loss_is_not_a_mean_over_examples(batch, loss):
    net = nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3))
    labels = batch.y.clone()
    labels[: len(labels) // 2 - 1] = -100 if loss is None else labels[0]
    hooks = {} if loss is None else {"loss": loss}
    data = [Batch(batch.x, labels)]
    once, usual = (Grasp(parts=n)(net, data, generator=torch.Generator(), **hooks) for n in (1, 2))
    assert all(torch.equal(score, usual[name]) for name, score in once.items())


def test_synflow_takes_tokens():
    net = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(12, 2))
    tokens = Batch(torch.tensor([[0, 1, 2]]), torch.zeros(1).long())
    for double in (False, True):
        scores = rate({"kind": "synflow", "inputs": "batch", "double": double}, net, [tokens])
        expected = net[2].weight.abs() * net[0].weight.abs()[:3].flatten()
        assert torch.allclose(scores["2.weight"].float(), expected)


def test_names_to_skip_and_to_add():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 3)), nn.ConvTranspose1d(1, 1, 1))
    for skip in ("2", "2.*", "2.0.weight", "2.0"):
        assert list(Score.parse({"kind": "magnitude", "skip": skip}).weights(net)) == ["0.weight"]
    score = Score.parse({"kind": "magnitude", "skip": ["2"], "also": ["*.bias", "3.weight"]})
    assert list(score.weights(net)) == ["0.bias", "0.weight", "3.weight", "3.bias"]
    for parameter in net[3].parameters():  # random ones may be the smallest, which empties their layer
        nn.init.ones_(parameter)
    mask = prune(net, score, 0.5, generator=generator(0, "mask"))
    mask.apply_(net)
    assert mask.total == 16 + 4 + 1 + 1
    assert sum(int(torch.count_nonzero(net.get_parameter(name))) for name in mask) == 11
    assert "also" not in Score.parse("magnitude").settings()  # ids are those of before it was there
    assert Score.parse(score.settings()) == score
    for wrong in ({"skip": "heads"}, {"also": "*.biases"}):
        with pytest.raises(UsageError, match=r"the network has no weight '.*s'; its weights are 0.weight, 2.0.weight"):
            Score.parse({"kind": "magnitude", **wrong}).weights(net)


def test_a_lazy_layer_is_named():
    with pytest.raises(UsageError, match=r"'0\.weight' has no shape yet: call the network once"):
        find_prunable(nn.Sequential(nn.LazyLinear(3)))


def test_outputs_that_are_no_logits_are_named(batch):
    class Odd(nn.Sequential):
        def forward(self, x):
            return {"states": super().forward(x)}

    with pytest.raises(UsageError, match="returns a dict without logits; set forward="):
        rate("snip", Odd(nn.Linear(8, 3)), [batch])
    with pytest.raises(UsageError, match=r"labels of shape .6,. do not fit the cross-entropy"):
        rate("snip", nn.Sequential(nn.Linear(8, 3), nn.Unflatten(1, (3, 1))), [batch])


def test_a_parametrised_layer_is_counted_and_not_changed(batch):
    net = nn.Sequential(parametrizations.weight_norm(nn.Linear(8, 4)), nn.ReLU(), nn.Linear(4, 3))
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    mask = prune(net, Score.parse({"kind": "synflow", "skip": "0", "shape": (8,)}), 0.5, generator=generator(0, "m"))
    assert count_flops(net, torch.zeros(1, 8), mask) == {"0.weight": 64, "2.weight": 12}
    assert not find_collapse(net, mask, (8,)).dead
    assert parametrize.is_parametrized(net[0])
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())
