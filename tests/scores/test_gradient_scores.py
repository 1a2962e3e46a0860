"""SNIP, GraSP and SynFlow against hand-computed nets, finite differences, a conservation law and linear models."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.modules.naming import layer_weights
from prunefield.pruning.iterations import prune
from prunefield.scores import Score
from prunefield.scores.grasp import Grasp
from prunefield.scores.snip import Snip
from prunefield.scores.synflow import Synflow
from prunefield.tasks import Batch
from prunefield.tasks.normal import Normal
from prunefield.tasks.sparse import Sparse
from prunefield.theory.sketching import optimal_probabilities


def rate(score, net, batches=()):
    return score(net, batches, generator=generator(0, "score"))


@pytest.fixture
def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()


@pytest.fixture
def batches():
    stream = generator(1, "data")
    return [Batch(torch.randn(n, 4, generator=stream).double(), torch.arange(n) % 3) for n in (6, 9)]


def two_layers():
    """y = w₂·relu(W₁x) with numbers that a person can follow."""
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    net[0].weight.data = torch.tensor([[1.0, -2.0], [3.0, 1.0]])
    net[2].weight.data = torch.tensor([[2.0, -1.0]])
    return net


def test_snip_by_hand():
    # x = (2, 1): W₁x = (0, 7) and relu' = 0 at 0, output −7; ½·d/dw of (out − 0)² doubles the error −7 to −14.
    scores = rate(Snip(loss="squared"), two_layers(), [Batch(torch.tensor([[2.0, 1.0]]), torch.tensor([[0.0]]))])
    assert scores["2.weight"].tolist() == [[0.0, 98.0]]  # |−1·(−14·7)|
    assert scores["0.weight"].tolist() == [[0.0, 0.0], [84.0, 14.0]]  # |w·(−14)·(−1)·x|


def test_synflow_by_hand():
    scores = rate(Synflow(shape=(2,)), two_layers())
    assert scores["0.weight"].tolist() == [[2.0, 4.0], [3.0, 1.0]]  # |w₁|·|w₂| of the unit
    assert scores["2.weight"].tolist() == [[6.0, 4.0]]  # |w₂| times the row's sum of |w₁|


def test_grasp_by_hand():
    # L = (2·w₁·w₂ − y)² at w₁ = 1, w₂ = 3, x = 2, y = 4: e = 2, g = (24, 8), H = [[72, 32], [32, 8]].
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    net[0].weight.data, net[1].weight.data = torch.tensor([[1.0]]), torch.tensor([[3.0]])
    scores = rate(Grasp(loss="squared", temperature=1), net, [Batch(torch.tensor([[2.0]]), torch.tensor([[4.0]]))])
    assert scores["0.weight"].item() == 72 * 24 + 32 * 8
    assert scores["1.weight"].item() == 3 * (32 * 24 + 8 * 8)


def loss_at(net, batches, state, temperature=1.0):
    return sum(functional.cross_entropy(functional_call(net, state, (x,)) / temperature, y) for x, y in batches)


def test_snip_is_the_derivative_by_the_mask(net, batches):
    scores, step = rate(Snip(), net, batches), 1e-6
    weights = {name: weight.detach() for name, weight in net.named_parameters()}
    for name, score in scores.items():
        for index in range(0, score.numel(), 3):
            sides = []
            for sign in (1, -1):
                masked = weights[name].clone()
                masked.view(-1)[index] *= 1 + sign * step
                sides.append(loss_at(net, batches, weights | {name: masked}))
            assert abs(sides[0] - sides[1]) / (2 * step) == pytest.approx(score.view(-1)[index].item(), abs=1e-8)


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("number", [1, 2])
def test_grasp_is_a_finite_difference_of_gradients(net, batches, number, parts):
    batches, names = batches[:number], ["0.weight", "2.weight"]
    weights = {name: weight.detach() for name, weight in net.named_parameters()}

    def gradient(shift):
        leaves = {name: (weights[name] + shift[name]).requires_grad_() for name in names}
        found = torch.autograd.grad(loss_at(net, batches, weights | leaves, 200.0), list(leaves.values()))
        return dict(zip(names, found, strict=True))

    g = gradient(dict.fromkeys(names, 0.0))
    ahead, behind = (gradient({name: sign * 1e-2 * g[name] for name in names}) for sign in (1, -1))
    scores = rate(Grasp(parts=parts), net, batches)
    for name in names:
        expected = weights[name] * (ahead[name] - behind[name]) / 2e-2
        assert torch.allclose(scores[name], expected, rtol=1e-5, atol=1e-12)


def test_grasp_of_equal_batches_is_that_of_all_at_once(net, batches):
    x, y = batches[0]
    parts = [Batch(part, label) for part, label in zip(x.split(2), y.split(2), strict=True)]
    whole, split = rate(Grasp(), net, [batches[0]]), rate(Grasp(), net, parts)
    for name, score in whole.items():  # the sum of three means is three times the mean, and g and H have it both
        assert torch.allclose(9 * score, split[name], rtol=1e-10, atol=0)
    assert all(weight.grad is None for weight in net.parameters())


def test_grasp_by_the_batch_is_not_cut(batches):
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)).double()
    once, many = (rate(Grasp(mode="train", parts=parts), net, batches) for parts in (1, 3))
    assert all(torch.equal(score, many[name]) for name, score in once.items())


def test_synflow_conserves_the_flow_in_every_layer_and_unit():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, bias=False), nn.ReLU(), nn.Conv2d(4, 3, 3, bias=False), nn.ReLU(), nn.Flatten(),
        nn.Linear(12, 6, bias=False), nn.ReLU(), nn.Linear(6, 5, bias=False)
    ).double()  # fmt: skip
    scores = rate(Synflow(shape=(2, 6, 6)), net)
    flow = functional_call(net, {k: v.abs() for k, v in net.named_parameters()}, torch.ones(1, 2, 6, 6).double()).sum()
    for score in scores.values():
        assert score.sum().item() == pytest.approx(flow.item(), rel=1e-12)
    into, out = scores["0.weight"].sum((1, 2, 3)), scores["2.weight"].sum((0, 2, 3))
    assert torch.allclose(into, out, rtol=1e-12)
    assert torch.allclose(scores["5.weight"].sum(1), scores["7.weight"].sum(0), rtol=1e-12)


def test_synflow_of_a_linear_model_is_the_best_probability_of_sketching():
    x, net = torch.randn(5, 7, generator=generator(0, "x")).double(), nn.Linear(5, 1, bias=False).double()
    norms = Batch(x.norm(dim=1)[None], torch.zeros(1))
    score = rate(Synflow(inputs="batch"), net, [norms])["weight"][0]
    assert torch.allclose(score / score.sum(), optimal_probabilities(net.weight[0].detach(), x), rtol=1e-12)


def test_snip_of_a_linear_model_on_sparse_data_is_too():
    x, _ = Sparse(shape=(5,)).sample(16, generator=generator(0, "x"))
    net = nn.Linear(5, 1, bias=False)
    labels = torch.randn(16, 1, generator=generator(1, "y"))
    score = rate(Snip(loss="l1"), net, [Batch(x, labels)])["weight"][0].double()
    assert torch.allclose(score / score.sum(), optimal_probabilities(net.weight[0].detach(), x.T), rtol=1e-5)


@pytest.mark.parametrize("kind", ["magnitude", "trained-magnitude", "snip", "grasp", "synflow"])
def test_a_masked_weight_has_score_zero(kind, net, batches):
    mask = Mask.keep({name: torch.rand(w.shape) for name, w in net.named_parameters() if w.ndim == 2}, 0.6)
    mask.apply_(net)
    scores = rate(Score.parse(kind), net, batches)
    assert all(scores[name][~kept].eq(0).all() and scores[name][kept].ne(0).any() for name, kept in mask.items())


@pytest.mark.parametrize("kind", ["snip", "grasp", "synflow"])
def test_modes_and_dropout_do_not_leak(kind):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 3))
    net[1].running_mean.normal_()
    batch = Normal(shape=(6,), classes=3).sample(16, generator=generator(0, "x"))
    settings = {"kind": kind} | ({"inputs": "batch"} if kind == "synflow" else {})
    before, state = copy.deepcopy(net.state_dict()), torch.random.get_rng_state()
    train, again = (rate(Score.parse(settings | {"mode": "train"}), net, [batch])["4.weight"] for _ in range(2))
    evaluated = rate(Score.parse(settings), net, [batch])["4.weight"]
    assert torch.equal(train, again)
    assert not torch.allclose(train, evaluated)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())


def test_an_overflow_is_computed_in_double_precision():
    torch.manual_seed(0)
    deep = nn.Sequential(*[layer for _ in range(16) for layer in (nn.Linear(32, 32), nn.LayerNorm(32), nn.GELU())])
    large = nn.Sequential(*[nn.Linear(64, 64, bias=False) for _ in range(3)])
    for net, size in ((deep, 20.0), (large, 1e15)):
        for weight in layer_weights(net).values():
            nn.init.normal_(weight, std=size)
    for net, side in ((deep, 32), (large, 64), (nn.Sequential(*[nn.Linear(64, 64) for _ in range(20)]).half(), 64)):
        scores, wide = (rate(Synflow(shape=(side,), double=double), net) for double in (False, True))
        assert all(torch.equal(part, wide[name]) for name, part in scores.items())
    mask = prune(deep, Synflow(shape=(32,)), 0.1, generator=generator(0, "m"), iterations=10)
    assert min(mask.counts().values()) > 0
    nn.init.constant_(large[1].weight, torch.inf)
    with pytest.raises(UsageError, match=r"'0\.weight' are not all finite; the flow overflows even in double"):
        rate(Synflow(shape=(64,)), large)


def test_what_does_not_overflow_stays_in_its_precision(net):
    assert rate(Synflow(shape=(4,)), net.float())["0.weight"].dtype == torch.float32


def test_missing_data_is_named(net):
    for score in (Snip(), Grasp()):
        with pytest.raises(UsageError, match="needs data, but there are no examples"):
            rate(score, net, [Batch(torch.empty(0, 4).double(), torch.empty(0, dtype=torch.long))])
        with pytest.raises(UsageError, match="needs data, but there are no examples"):
            rate(score, net)
    for score in (Synflow(), Synflow(inputs="batch", shape=(4,))):
        with pytest.raises(UsageError, match="synflow needs the shape of an input"):
            rate(score, net)
