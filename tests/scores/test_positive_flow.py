"""SynFlow's flow through networks that people have: no sign, no collapse, and a refusal where it must have a sign."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.modules.naming import unwrap_module
from prunefield.pruning.iterations import prune
from prunefield.scores.synflow import Synflow


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class LayerNorm2d(nn.Module):
    """Written out, as in ConvNeXt's own code."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        centred = x - x.mean(1, keepdim=True)
        x = centred / (centred.square().mean(1, keepdim=True) + 1e-6).sqrt()
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class LlamaRMSNorm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class Attention(nn.Module):
    """The same attention, written in three ways."""

    def __init__(self, width, heads, how):
        super().__init__()
        self.heads, self.how, self.drop = heads, how, nn.Dropout(0.1)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        if self.how == "module":
            given = (self.qkv.weight, self.qkv.bias, None, None, False, 0.1, self.proj.weight, self.proj.bias)
            x = x.transpose(0, 1)  # what nn.MultiheadAttention calls
            found = functional.multi_head_attention_forward(x, x, x, x.shape[-1], self.heads, *given, training=False)
            return found[0].transpose(0, 1)
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.how == "fused":
            found = functional.scaled_dot_product_attention(q, k, v)
        else:
            found = self.drop((q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1)) @ v
        return self.proj(found.transpose(1, 2).flatten(2))


class Vit(nn.Module):
    def __init__(self, depth=3, width=16, how="fused"):
        super().__init__()
        self.patch, self.head = nn.Conv2d(1, width, 2, 2), nn.Linear(width, 4)
        self.place = nn.Parameter(0.02 * torch.randn(1, 16, width))
        self.blocks = nn.Sequential(
            *(
                nn.Sequential(
                    Residual(nn.LayerNorm(width), Attention(width, 2, how)),
                    Residual(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)),
                )
                for _ in range(depth)
            ),
            nn.LayerNorm(width),
        )

    def forward(self, x):
        return self.head(self.blocks(self.patch(x).flatten(2).transpose(1, 2) + self.place).mean(1))


class ConvNext(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.scale = nn.Conv2d(width, width, 3, padding=1, groups=width), nn.Parameter(torch.ones(width))
        self.rest = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        return x + (self.scale * self.rest(self.first(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


class Squeeze(nn.Module):
    """Squeeze-and-excitation, as MobileNetV3 and EfficientNet have it."""

    def __init__(self, width, gate):
        super().__init__()
        self.down, self.up, self.gate = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1), gate

    def forward(self, x):
        return x * self.gate(self.up(self.down(x.mean((2, 3), keepdim=True)).relu()))


class Cell(nn.Module):
    """An LSTM written out."""

    def __init__(self, width):
        super().__init__()
        self.first, self.again = nn.Linear(4, 4 * width), nn.Linear(width, 4 * width)

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.again.in_features)
        for step in x.unbind(1):
            i, f, g, o = (self.first(step) + self.again(h)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


class ToyRotaryEmbedding(nn.Module):
    def forward(self, x):
        angles = torch.outer(torch.arange(x.shape[-2]), torch.tensor([1.0, 0.1] * 2)).to(x.dtype)
        return angles.cos(), angles.sin()


class Rotary(nn.Module):
    """Queries and keys that are turned, as in Llama."""

    def __init__(self, width):
        super().__init__()
        self.qkv, self.rotary = nn.Linear(width, 3 * width), ToyRotaryEmbedding()

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        cos, sin = self.rotary(q)
        q, k = (item * cos + torch.cat((-item[..., 2:], item[..., :2]), -1) * sin for item in (q, k))
        return functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def squeezed(gate):
    block = lambda: Residual(nn.Conv2d(8, 8, 3, padding=1), nn.Hardswish(), Squeeze(8, gate))  # noqa: E731
    return nn.Sequential(nn.Conv2d(1, 8, 3), block(), block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def mlp(norm):
    block = lambda: Residual(norm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))  # noqa: E731
    return nn.Sequential(nn.Linear(16, 32), block(), block(), norm(32), nn.Linear(32, 10))


def images(norm):
    block = lambda: Residual(norm(8), nn.SiLU(), nn.Conv2d(8, 8, 3, padding=1))  # noqa: E731
    return nn.Sequential(nn.Conv2d(1, 8, 3), block(), block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def convnext():
    stem, head = (nn.Conv2d(1, 8, 2, 2), LayerNorm2d(8)), (nn.Flatten(), nn.Linear(128, 4))
    return nn.Sequential(*stem, ConvNext(8), ConvNext(8), *head)


def batch_norm(width):
    norm = nn.BatchNorm2d(width)
    nn.init.normal_(norm.running_mean, 5.0)
    return norm


NETS = {
    "layer norm": (lambda: mlp(nn.LayerNorm), (16,), {}),
    "rms norm": (lambda: mlp(nn.RMSNorm), (16,), {}),
    "own rms norm": (lambda: mlp(lambda _: LlamaRMSNorm()), (16,), {}),
    "group norm": (lambda: images(lambda width: nn.GroupNorm(2, width)), (1, 8, 8), {}),
    "instance norm": (lambda: images(nn.InstanceNorm2d), (1, 8, 8), {}),
    "no statistics": (lambda: images(lambda n: nn.BatchNorm2d(n, track_running_stats=False)), (1, 8, 8), {}),
    "train mode": (lambda: images(batch_norm), (1, 8, 8), {"mode": "train"}),
    "convnext": (convnext, (1, 8, 8), {}),
    "vit": (Vit, (1, 8, 8), {}),
    "sigmoid gate": (lambda: squeezed(nn.Sigmoid()), (1, 8, 8), {}),
    "hard-sigmoid gate": (lambda: squeezed(nn.Hardsigmoid()), (1, 8, 8), {}),
    "tanh pooler": (lambda: nn.Sequential(*mlp(nn.LayerNorm), nn.Tanh(), nn.Linear(10, 4)), (16,), {}),
    "relu6": (lambda: nn.Sequential(nn.Linear(16, 99), nn.ReLU6(True), nn.Linear(99, 9), nn.ReLU6(True)), (16,), {}),
    "lstm cell": (lambda: nn.Sequential(Cell(6), nn.Linear(6, 4)), (5, 4), {}),
    "rotary": (lambda: nn.Sequential(nn.Linear(4, 8), Rotary(8), nn.Flatten(), nn.Linear(24, 4)), (3, 4), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", NETS)
def test_scores_are_positive_and_nothing_collapses(name):
    make, shape, settings = NETS[name]
    for seed in range(6 if name == "layer norm" else 1):
        torch.manual_seed(seed)
        net, score = make(), Synflow(shape=shape, **settings)
        scores = score(net, generator=generator(0, "s"))
        assert all(part.gt(0).all() for part in scores.values())
        mask = prune(net, score, 0.1, generator=generator(0, "m"))  # 100 iterations; a collapse would be an error
        assert min(mask.counts().values()) > 0
        pruned = copy.deepcopy(net).eval()
        mask.apply_(pruned)
        outputs = pruned(torch.randn(8, *shape))
        assert (outputs - outputs[0]).abs().max() > 1e-3


def test_attention_has_the_same_scores_however_it_is_written():
    found = []
    for how in ("fused", "written", "module"):
        torch.manual_seed(0)
        net = Vit(how=how).double()
        found.append(Synflow(shape=(1, 8, 8))(net, generator=generator(0, "s")))
    for other in found[1:]:
        assert all(torch.allclose(part, other[name], rtol=1e-9) for name, part in found[0].items())


def test_attention_passes_on_what_it_gets():
    """The flow into queries, keys and values is the flow out of the attention, as in every layer without a bias."""
    torch.manual_seed(0)
    net = nn.Sequential(Attention(8, 2, "fused"), nn.Flatten(), nn.Linear(24, 4, bias=False)).double()
    nn.init.zeros_(net[0].qkv.bias)
    nn.init.zeros_(net[0].proj.bias)
    scores = Synflow(shape=(3, 8))(net, generator=generator(0, "s"))
    sums = [part.sum().item() for part in scores.values()]
    assert sums == pytest.approx([sums[0]] * 3, rel=1e-9)
    thirds = [part.sum().item() for part in scores["0.qkv.weight"].chunk(3)]
    assert thirds == pytest.approx([sums[0] / 3] * 3, rel=1e-9)


def test_attention_without_queries_and_keys_looks_everywhere():
    """As where all of them are pruned: equal shares, through which nothing flows, instead of 0/0."""
    torch.manual_seed(0)
    net = Vit()
    with torch.no_grad():
        for part in (net.blocks[1][0][1].qkv.weight, net.blocks[1][0][1].qkv.bias):
            part[:32] = 0
    scores = Synflow(shape=(1, 8, 8))(net, generator=generator(0, "s"))
    assert {part.dtype for part in scores.values()} == {torch.float32}  # it did not overflow
    assert scores["blocks.1.0.1.qkv.weight"][32:].gt(0).all()


def test_signs_of_inputs_do_not_matter():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)), torch.randn(3, 5)
    one, other = (Synflow(inputs="batch")(net, [data], generator=generator(0, "s")) for data in (x, x.abs()))
    assert all(torch.equal(part, other[name]) for name, part in one.items())


class Difference(nn.Module):
    def __init__(self):
        super().__init__()
        self.plus, self.minus = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        return self.plus(x) - self.minus(x)


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(5 * x)


def trained(norm=nn.BatchNorm1d):
    net = nn.Sequential(nn.Linear(6, 6), norm(6), nn.SiLU(), nn.Linear(6, 2))
    net[1].running_mean.fill_(10.0)
    return net


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nn.Sequential(nn.Linear(6, 6), Difference(), nn.Linear(6, 2)), r"because of '1' \(Difference\)"),
        (lambda: nn.Sequential(nn.Linear(6, 6), Sine(), nn.Linear(6, 2)), r"because of '1' \(Sine\): replace it"),
        (trained, r"because of '1' \(BatchNorm1d\): set mode='train', which takes batch norms as the identity"),
        (lambda: nn.DataParallel(trained()), r"because of '1' \(BatchNorm1d\)"),
    ],
)
def test_a_flow_with_both_signs_is_refused_and_names_the_layer(make, said):
    torch.manual_seed(0)
    net = make()
    with pytest.raises(UsageError, match=rf"the flow through '.*' has both signs, {said}"):
        prune(net, Synflow(shape=(6,)), 0.5, generator=generator(0, "m"))
    assert not any(module._forward_hooks for module in unwrap_module(net).modules())


def test_train_mode_is_the_way_for_a_trained_network():
    torch.manual_seed(0)
    mask = prune(trained(), Synflow(mode="train", shape=(6,)), 0.5, generator=generator(0, "m"))
    assert min(mask.counts().values()) > 0
