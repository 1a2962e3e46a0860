"""Operations against torch's own counter; emptied layers that cut the network, and those that are bypassed."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from prunefield.masks.mask import Mask
from prunefield.measures.collapse import find_collapse
from prunefield.modules.flops import count_flops


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.branch = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.shortcut, self.head = nn.Conv2d(4, 4, 1), nn.Linear(4, 3)

    def forward(self, x):
        x = self.stem(x).relu()
        return self.head((self.branch(x) + self.shortcut(x)).relu().mean((2, 3)))


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Block()


def mask_without(net, *empty):
    names = {name: weight for name, weight in net.named_parameters() if weight.ndim > 1}
    return Mask({name: torch.full(weight.shape, name not in empty) for name, weight in names.items()})


def test_flops_agree_with_torchs_counter(net):
    x = torch.randn(2, 1, 5, 5)
    with FlopCounterMode(display=False) as counter:
        net(x)
    assert sum(count_flops(net, x).values()) == counter.get_total_flops()
    assert net.training


@pytest.mark.parametrize("sizes", [{}, {"kdim": 6, "vdim": 4}])
def test_flops_of_attention(sizes):
    attention = nn.MultiheadAttention(8, 2, batch_first=True, **sizes)
    x, memory, values = (
        torch.randn(1, 5, 8),
        torch.randn(1, 3, sizes.get("kdim", 8)),
        torch.randn(1, 3, sizes.get("vdim", 8)),
    )

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = attention

        def forward(self, x):
            return self.attention(x, memory, value=values)[0]

    with FlopCounterMode(display=False) as counter:
        Net()(x)
    products = 2 * 2 * 5 * 3 * 8  # queries with keys, and with values, which have no weights
    dense = count_flops(Net(), x)
    assert sum(dense.values()) == counter.get_total_flops() - products
    mask = mask_without(Net(), "attention.out_proj.weight")
    assert count_flops(Net(), x, mask) == dense | {"attention.out_proj.weight": 0}


def test_flops_of_kept_weights(net):
    mask = Mask.keep({name: torch.rand(kept.shape) for name, kept in mask_without(net).items()}, 0.3)
    x = torch.randn(1, 1, 5, 5)
    dense, kept = count_flops(net, x), count_flops(net, x, mask)
    assert kept == {name: round(dense[name] * mask.per_layer()[name]) for name in dense}


def test_collapse_distinguishes_cuts_from_shortcuts(net):
    assert find_collapse(net, mask_without(net), (1, 5, 5)) == ((), (), False)
    assert find_collapse(net, mask_without(net, "shortcut.weight"), (1, 5, 5)) == (("shortcut.weight",), (), False)
    both = find_collapse(net, mask_without(net, "shortcut.weight", "branch.weight"), (1, 5, 5))
    assert both == (("branch.weight", "shortcut.weight"), (), True)
    head = find_collapse(net, mask_without(net, "shortcut.weight", "head.weight"), (1, 5, 5))
    assert head == (("shortcut.weight", "head.weight"), ("head.weight",), True)
    assert all(parameter.ne(0).any() for parameter in net.parameters())


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.ReLU6, nn.Hardtanh, nn.Sigmoid, nn.GELU])
def test_saturating_activations_and_trained_norms_are_not_mistaken_for_a_cut(activation):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(784, 300), nn.BatchNorm1d(300), activation(), nn.Linear(300, 100), activation(), nn.Linear(100, 10)
    )
    net[1].running_mean.fill_(50.0)
    net[0].bias.data.fill_(-30.0)
    whole = Mask.from_module(net)
    assert find_collapse(net, whole, (784,)) == ((), (), False)
    cut = Mask({**whole, "3.weight": torch.zeros(100, 300) > 0})
    assert find_collapse(net, cut, (784,)) == (("3.weight",), ("3.weight",), True)
    assert net[1].running_mean.eq(50).all()
    assert net[0].bias.eq(-30).all()
