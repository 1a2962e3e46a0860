"""Compact networks against masked ones: outputs, gradients, training, state dicts and misuse."""

import copy
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

import prunefield as pf
from prunefield.core.errors import PruneWarning, UsageError
from prunefield.core.seeds import generator
from prunefield.training.compact import compact, expand
from prunefield.training.compact_layer import CompactLinear
from prunefield.training.kept import Kept


def draw_mask(rows, columns, density, seed=0):
    return torch.rand(rows, columns, generator=generator(seed, "mask")) < density


def make(density=0.2, dtype=torch.float32):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(150, 20), nn.ReLU(), nn.BatchNorm1d(20), nn.Linear(20, 12, bias=False)).to(dtype)
    mask = {"0.weight": draw_mask(20, 150, density), "3.weight": draw_mask(12, 20, density, 1)}
    mask["0.weight"][3], mask["0.weight"][:, :5] = False, False  # an empty row and empty columns
    return net, pf.Mask(mask)


def train(net, optimizer, batch=40, steps=100, seed=0):
    stream, dtype = generator(seed, "batches"), net[0].weight.dtype
    for _ in range(steps):
        x, y = torch.randn(batch, 150, generator=stream).to(dtype), torch.randint(12, (batch,), generator=stream)
        optimizer.zero_grad()
        functional.cross_entropy(net(x), y).backward()
        optimizer.step()


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 300),
    batch=st.sampled_from([0, 1, 3, 8, 33, 40, 73, 100]),  # few sizes of registers: each is compiled
    density=st.sampled_from([0.0, 0.001, 0.03, 0.3, 0.9, 1.0]),
    seed=st.integers(0, 99),
)
def test_outputs_and_gradients_are_those_of_the_masked_product(rows, columns, batch, density, seed):
    stream = generator(seed, "numbers")
    mask = draw_mask(rows, columns, density, seed)
    weight, bias, x, above = (
        torch.randn(*shape, generator=stream, dtype=torch.float64)
        for shape in ((rows, columns), (rows,), (batch, columns), (batch, rows))
    )
    layer, x = CompactLinear(weight, mask, bias), x.requires_grad_()
    found = layer(x)
    torch.testing.assert_close(found, functional.linear(x, weight * mask, bias))
    below, inner, shift = torch.autograd.grad(found, (x, layer.weight, layer.bias), above)
    torch.testing.assert_close(below, above @ (weight * mask))
    torch.testing.assert_close(shift, above.sum(0))
    expected = torch.zeros_like(weight)
    layer.kept.scatter_(expected, inner)
    torch.testing.assert_close(expected, (above.T @ x.detach()) * mask)


def test_gradients_pass_finite_differences():
    layer = CompactLinear(torch.randn(7, 11, dtype=torch.float64), draw_mask(7, 11, 0.4), torch.randn(7).double())
    x = torch.randn(3, 5, 11, dtype=torch.float64, requires_grad=True)

    def run(x, weight, bias):
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    values = (x, *(parameter.detach().requires_grad_() for parameter in layer.parameters()))
    assert torch.autograd.gradcheck(run, values)


@pytest.mark.parametrize("density", [1.0, 0.3, 0.03, 0.001])
@pytest.mark.parametrize("adam", [False, True])
def test_a_hundred_steps_agree_with_the_masked_net(density, adam):
    # Adam divides the gradient of a dead unit, which is nothing but rounding, by its size: not in float32.
    net, mask = make(density, torch.float64 if adam else torch.float32)
    small = compact(net, mask, density=1.0, smallest=0)
    results = []
    for own in (copy.deepcopy(net), small):
        rule = torch.optim.Adam if adam else lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9, weight_decay=1e-3)
        optimizer = rule(own.parameters(), lr=0.01)
        mask.hold_(own, optimizer)
        train(own, optimizer)
        results.append(own.state_dict())
    for name, item in results[0].items():
        torch.testing.assert_close(results[1][name], item, rtol=0, atol=1e-6 if adam else 1e-5)


@pytest.mark.parametrize("density", [0.5, 0.1])
def test_a_hundred_steps_are_as_close_to_float64_as_those_of_the_masked_net(density):
    """The median over nine streams of batches, as in some of them rounding turns a ReLU on or off, and errors grow."""
    net, mask = make(density)

    def finish(start, seed):
        own = copy.deepcopy(start)
        optimizer = torch.optim.SGD(own.parameters(), 0.01, momentum=0.9)
        mask.hold_(own, optimizer)
        train(own, optimizer, seed=seed)
        return torch.cat([item.double().flatten() for name, item in own.state_dict().items() if "num" not in name])

    small, exact, errors = compact(net, mask, density=1.0, smallest=0), copy.deepcopy(net).double(), []
    for seed in range(9):
        expected = finish(exact, seed)
        errors.append([(finish(start, seed) - expected).square().mean().sqrt() for start in (small, net)])
    ours, masked = torch.tensor(errors).median(0).values
    assert 0 < ours < 1e-6
    assert ours < 1.25 * masked


def test_parameters_and_the_optimizers_buffers_shrink_and_expand_gives_the_net_back():
    net, mask = make()
    before = copy.deepcopy(net.state_dict())
    small = compact(net, mask, smallest=0)
    optimizer = torch.optim.SGD(small.parameters(), lr=0.1, momentum=0.9)
    train(small, optimizer, steps=2)
    assert small[0].weight.shape == optimizer.state[small[0].weight]["momentum_buffer"].shape
    assert len(small[0].weight) == mask.counts()["0.weight"]
    assert all(torch.equal(item, before[name]) for name, item in net.state_dict().items())
    dense = expand(small)
    assert [type(part) for part in dense] == [type(part) for part in net]
    assert not dense[0].weight[~mask["0.weight"]].any()
    x = torch.randn(4, 150)
    for mode in (True, False):
        torch.testing.assert_close(dense.train(mode)(x), small.train(mode)(x))
    assert small.state_dict().keys() == net.state_dict().keys()
    net.load_state_dict(small.state_dict())
    fresh = compact(make()[0], mask, smallest=0)
    fresh.load_state_dict(net.state_dict())
    assert torch.equal(fresh[0].weight, small[0].weight)


def test_copies_and_repetitions_have_the_same_bits():
    net, mask = make()
    small = compact(net, mask, smallest=0)
    twin = copy.deepcopy(small)
    for own in (small, twin):
        train(own, torch.optim.SGD(own.parameters(), lr=0.1), steps=20)
    assert all(torch.equal(a, b) for a, b in zip(small.parameters(), twin.parameters(), strict=True))


def test_odd_inputs_are_handled():
    net, mask = make(dtype=torch.float64)
    small = compact(net, mask, smallest=0).eval()
    wide = torch.randn(150, 9, dtype=torch.float64)
    for x in (wide.T, wide.T[::2], wide.T[:1].expand(5, -1), wide.T[:0]):
        torch.testing.assert_close(small(x), expand(small)(x))
    assert small[0](torch.randn(2, 3, 150, dtype=torch.float64)).shape == (2, 3, 20)
    assert small[0](torch.randn(150, dtype=torch.float64)).shape == (20,)


def test_what_cannot_be_computed_is_one_clear_line():
    net, mask = make()
    small = compact(net, mask, smallest=0)
    with pytest.raises(UsageError, match=r"shape \(…, 150\), not \(2, 149\)"):
        small[0](torch.zeros(2, 149))
    with pytest.raises(UsageError, match=r"torch.float32 and the inputs torch.float64; convert"):
        small(torch.zeros(2, 150).double())
    with pytest.raises(UsageError, match=r"float32 or float64 on the CPU, not in torch.bfloat16 on cpu: expand"):
        copy.deepcopy(small).bfloat16()(torch.zeros(2, 150).bfloat16())
    with pytest.raises(UsageError, match=r"another architecture: 0.weight is \(20, 149\) in the mask, \(20, 150\)"):
        compact(net, {"0.weight": torch.ones(20, 149, dtype=torch.bool)})
    with pytest.raises(UsageError, match=r"boolean matrix, not torch.float32 of shape \(2, 2\)"):
        Kept.of(torch.ones(2, 2))
    with pytest.raises(UsageError, match="keeps weights that this mask prunes: expand"):
        pf.Mask({"0.weight": torch.zeros(20, 150, dtype=torch.bool)}).apply_(small)
    with pytest.raises(RuntimeError, match=r"0.weight is not zero everywhere where this compact layer is pruned"):
        small.load_state_dict(net.state_dict())
    x = torch.randn(3, 150, requires_grad=True)
    (slope,) = torch.autograd.grad(small[0](x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda columns, ends: (columns.flip(0), ends), "sorted"),
        (lambda columns, ends: (columns.clone().fill_(int(columns[0])), ends), "sorted"),
        (lambda columns, ends: (columns + 300, ends), "columns"),
        (lambda columns, ends: (columns, ends - 1), "ends"),
        (lambda columns, ends: (columns, ends[:, :-1]), "ends"),
        (lambda columns, ends: (columns, ends.flip(1)), "ends"),
    ],
)
def test_places_that_are_not_sorted_or_not_there_are_refused(change, message):
    kept = Kept.of(draw_mask(6, 200, 0.4))
    columns, ends = change(kept.columns.int(), kept.ends)
    with pytest.raises(UsageError, match=message):
        Kept(kept.shape, columns, ends)


def test_convolutions_small_dense_and_shared_layers_stay_dense():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 30), nn.Linear(30, 30), nn.Linear(30, 30))
    net[4].weight = net[3].weight
    mask = pf.Mask({name: torch.rand(p.shape) < 0.2 for name, p in net.named_parameters() if "weight" in name})
    with pytest.warns(PruneWarning, match=r"convolutions stay dense \(0.weight\): mask.hold_"):
        small = compact(net, mask, smallest=0)
    assert [type(part).__name__ for part in small][2:] == ["CompactLinear", "Linear", "Linear"]
    assert small[3].weight is small[4].weight
    assert not small[0].weight[~mask["0.weight"]].any()
    linear = pf.Mask({"2.weight": mask["2.weight"]})
    for how in ({}, {"density": 0.1, "smallest": 0}):
        assert isinstance(compact(net, linear, **how)[2], nn.Linear)
    hooked = copy.deepcopy(net)
    hooked[2].register_forward_hook(lambda *_: None)
    assert isinstance(compact(hooked, linear, smallest=0)[2], nn.Linear)
    optimizer = torch.optim.SGD(small.parameters(), lr=1.0)
    mask.hold_(small, optimizer)
    small(torch.randn(2, 1, 8, 8)).sum().backward()
    optimizer.step()
    assert not small[0].weight[~mask["0.weight"]].any()
    assert not small[3].weight[~mask["3.weight"]].any()


def test_a_single_layer_frozen_and_in_eval_mode():
    layer = nn.Linear(150, 20).eval().requires_grad_(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = pf.compact(layer, {"weight": draw_mask(20, 150, 0.1)}, smallest=0)
    assert isinstance(small, CompactLinear)
    assert not small.training
    assert not any(parameter.requires_grad for parameter in small.parameters())
    assert isinstance(pf.expand(small), nn.Linear)
    assert not pf.expand(small).weight.requires_grad


def agree(small, dense, x):
    return torch.allclose(small(x), dense(x), atol=1e-5)


def test_activations_may_change_outputs_in_place():
    net, mask = nn.Sequential(nn.Linear(150, 20), nn.ReLU(inplace=True), nn.Linear(20, 3)), draw_mask(20, 150, 0.1)
    small, x = pf.compact(net, {"0.weight": mask}, smallest=0), torch.randn(5, 150)
    dense = expand(small)
    for one in (small, dense):
        one(x).square().sum().backward()
    assert torch.allclose(small[0].weight.grad, small[0].kept.gather(dense[0].weight.grad), atol=1e-5)


class Listed(nn.Module):
    """Calls its layers from a list, which no state dict knows."""

    def __init__(self, as_method):
        super().__init__()
        self.first, self.last = nn.Linear(150, 20), nn.Linear(20, 3)
        self.order = {"all": [(self.first.forward if as_method else self.first), self.last]}

    def forward(self, x):
        for layer in self.order["all"]:
            x = layer(x)
        return x


@pytest.mark.parametrize("as_method", [False, True])
def test_layers_that_are_also_in_a_list_stay_dense_and_are_trained(as_method):
    small = pf.compact(Listed(as_method), {"first.weight": draw_mask(20, 150, 0.1)}, smallest=0)
    assert type(small.first) is nn.Linear
    small(torch.randn(2, 150)).sum().backward()
    assert small.first.weight.grad is not None


def test_layers_that_share_a_bias_stay_dense():
    net = nn.Sequential(nn.Linear(150, 20), nn.Linear(20, 20), nn.Linear(20, 20))
    net[2].bias = net[1].bias
    mask = {"0.weight": draw_mask(20, 150, 0.1), "1.weight": draw_mask(20, 20, 0.1)}
    small = pf.compact(net, mask, smallest=0)
    assert [type(part).__name__ for part in small] == ["CompactLinear", "Linear", "Linear"]
    assert small[1].bias is small[2].bias


@pytest.mark.parametrize("batch_first", [False, True])
def test_an_encoder_layer_is_right_in_every_mode(batch_first):
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=batch_first)
    mask = pf.Mask({"linear1.weight": draw_mask(32, 16, 0.1), "linear2.weight": draw_mask(16, 32, 0.1)})
    small, x = pf.compact(layer, mask, smallest=0), torch.randn(2, 5, 16)
    assert isinstance(small.linear1, nn.Linear) == batch_first
    dense = expand(small)
    assert agree(small, dense, x)
    with torch.no_grad():
        assert agree(small.eval(), dense.eval(), x)


def test_the_mask_of_a_compact_net_is_read_back():
    net, mask = make()
    assert pf.Mask.from_module(compact(net, mask, smallest=0)) == mask
    some = compact(net, mask, smallest=1000)
    assert isinstance(some[3], nn.Linear)
    assert pf.Mask.from_module(some) == mask


def test_networks_that_cannot_become_compact_get_one_line():
    net, mask = make()
    for use in (expand, pf.Mask.from_module, lambda wrong: compact(wrong, mask)):
        with pytest.raises(UsageError, match=r"must be a torch.nn.Module, not NoneType"):
            use(None)
    for how in ({"density": float("nan")}, {"density": 5}, {"smallest": -1}):
        with pytest.raises(UsageError, match="density must be from 0 to 1 and smallest at least 0, not"):
            compact(net, mask, **how)
    mask.to_torch_prune(net)
    with pytest.raises(UsageError, match="cannot be copied; undo prune or weight_norm"):
        compact(net, mask)
    with pytest.raises(UsageError, match=r"'0\.weight' has no shape yet: call the network once"):
        compact(nn.Sequential(nn.LazyLinear(20)), {"0.weight": mask["0.weight"]})
    small = compact(*make(), smallest=0)
    with pytest.raises(UsageError, match=r"weights, not \(20, 150\); a dense state is given to load_state_dict"):
        torch.func.functional_call(small, small.state_dict(), torch.randn(2, 150))
    with pytest.raises(UsageError, match=r"not in torch.bfloat16 on cpu: expand the net"):
        small(torch.randn(2, 150).bfloat16())


def test_a_compact_net_is_counted_and_measured_like_the_dense_one_and_pruned_only_when_it_is_expanded():
    net, mask = make()
    small = compact(net, mask, smallest=0)
    dense = expand(small)
    for how in ({"shape": (150,)}, {"data": torch.randn(4, 150)}):
        assert mask.summary(small, **how).operations == mask.summary(dense, **how).operations != (0, 0)
    for layer in (None, "3"):
        assert pf.measure(small, layer=layer).frame().equals(pf.measure(dense, layer=layer).frame())
    with pytest.raises(UsageError, match=r"'0\.weight' is the weight of a compact layer: expand the network first"):
        pf.prune(small, "magnitude", density=0.1)
    some = compact(net, mask, smallest=1000)
    assert list(pf.prune(some, {"kind": "magnitude", "skip": "0"}, density=0.1, check=False)) == ["3.weight"]
