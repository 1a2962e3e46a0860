"""Any network, any data, any loss: hooks, tokens, dicts, precisions, and the layer at fault by its name."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.pruning.iterations import prune
from prunefield.scores import Score
from prunefield.tasks import Batch

DATA = ["snip", "grasp", "trained-magnitude"]


class Output(dict):
    """As those of transformers."""

    __getattr__ = dict.__getitem__


class Encoder(nn.Module):
    """As those of transformers: tokens and a mask in, an object with logits (and a loss) out."""

    def __init__(self):
        super().__init__()
        self.embed, self.first, self.head = nn.Embedding(20, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, input_ids, attention_mask=None, labels=None):
        hidden = (self.first(self.embed(input_ids)).relu() * attention_mask[..., None]).mean(1)
        output = Output(logits=self.head(hidden))
        if labels is not None:
            output["loss"] = functional.cross_entropy(output.logits, labels)
        return output


@pytest.fixture
def tokens():
    torch.manual_seed(0)
    ids = torch.randint(20, (6, 5))
    return {"input_ids": ids, "attention_mask": torch.ones(6, 5).long(), "labels": torch.arange(6) % 3}


def rate(score, net, data, **hooks):
    return Score.parse(score)(net, data, generator=generator(0, "score"), **hooks)


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.allclose(part, other[name], 1e-4, 1e-9) for name, part in one.items()
    )


@pytest.mark.parametrize("kind", DATA)
def test_dicts_objects_and_hooks_say_the_same(kind, tokens):
    net = Encoder()
    found = rate(kind, net, tokens)
    assert same(found, rate(kind, net, [tokens], forward=lambda net, batch: net(**batch).logits))
    own = {"forward": lambda net, batch: net(**batch), "loss": lambda output, _: output.loss}
    if kind != "grasp":  # which divides logits by its temperature
        assert same(found, rate(kind, net, tokens, **own))
        assert same(found, rate(kind, net, tokens, forward=lambda net, batch: net(**batch).loss))
    assert list(found) == ["first.weight", "head.weight"]
    assert same(rate(kind, net, tokens, loss="squared"), rate(kind, net, tokens, loss=_squared))
    assert not same(found, rate(kind, net, tokens, loss="squared"))


def _squared(logits, labels):
    return (logits - functional.one_hot(labels, 3)).square().sum() / len(logits)


def test_synflow_takes_the_first_example_of_tokens(tokens):
    net = Encoder()
    scores = rate("synflow", net, tokens)
    embedded = net.embed.weight.detach().abs()[tokens["input_ids"][0]]
    hidden = (embedded @ net.first.weight.abs().T + net.first.bias.abs()).mean(0)
    assert torch.allclose(scores["head.weight"], net.head.weight.abs() * hidden)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.head = nn.Linear(4, 6), nn.Linear(3, 6), nn.Linear(6, 3)

    def forward(self, x, y):
        return self.head((self.a(x) + self.b(y)).relu()), "nothing"


@pytest.mark.parametrize("kind", [*DATA, "synflow", "magnitude", "random"])
def test_several_inputs_and_outputs(kind):
    torch.manual_seed(0)
    net, x, y, labels = Two(), torch.randn(6, 4), torch.randn(6, 3), torch.arange(6) % 3
    whole = rate(kind, net, ((x, y), labels))
    for form in ([[x, y], labels], (x, y, labels), [(x, y, labels)], {"x": x, "y": y, "labels": labels}):
        assert same(whole, rate(kind, net, form)) or kind == "random"
    assert prune(net, kind, 0.5, ((x, y), labels), generator=generator(0, "m")).total == 24 + 18 + 18


def test_labels_of_every_token_and_wrong_hooks():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 7))
    ids, labels = torch.randint(9, (3, 5)), torch.randint(7, (3, 5))
    flat = rate("snip", net, (ids.flatten(), labels.flatten()))
    assert same(flat, rate("snip", net, (ids, labels)))
    with pytest.raises(UsageError, match=r"the loss must be a tensor of one number, not of shape \(3, 5, 7\)"):
        rate("snip", net, (ids, labels), loss=lambda logits, _: logits)
    with pytest.raises(UsageError, match="unknown loss 'cross-entrop'; did you mean 'cross-entropy'"):
        rate("snip", net, (ids, labels), loss="cross-entrop")
    with pytest.raises(UsageError, match="the batch has no labels"):
        rate("snip", net, ids)


def plain():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3))


@pytest.fixture
def batch():
    return Batch(torch.randn(6, 8, generator=generator(0, "x")), torch.arange(6) % 3)


def test_a_bf16_network_is_trained_on_float32_batches(batch):
    assert all(part.isfinite().all() for part in rate("trained-magnitude", plain().bfloat16(), [batch]).values())


@pytest.mark.parametrize("kind", ["snip", "grasp", "synflow"])
def test_a_bf16_network_takes_float32_batches(kind, batch):
    wide, narrow = rate(kind, plain(), [batch]), rate(kind, plain().bfloat16(), [batch])
    for name, part in wide.items():
        assert functional.cosine_similarity(part.flatten(), narrow[name].float().flatten(), 0) > 0.99


@pytest.mark.parametrize("kind", [*DATA, "synflow", "magnitude", "random"])
def test_a_network_without_values_is_refused(kind, batch):
    with torch.device("meta"):
        net = nn.Linear(8, 3)
    with pytest.raises(UsageError, match="'weight' is on the device 'meta', without values: load the network first"):
        prune(net, kind, 0.5, [batch], generator=generator(0, "m"))


def test_grasp_through_a_hard_sigmoid(batch):
    class Written(nn.Module):
        def forward(self, x):
            return (x + 3).clamp(0, 6) / 6

    nets = [nn.Sequential(plain()[0], gate, plain()[2]) for gate in (nn.Hardsigmoid(), Written())]
    found, expected = (rate("grasp", net, [batch]) for net in nets)
    assert same(found, expected)


def test_what_cannot_be_differentiated_twice_is_named(batch):
    class Once(nn.Module):
        def forward(self, x):
            return torch.ops.aten.hardsigmoid(x)

    with pytest.raises(UsageError, match=r"grasp differentiates twice, which torch cannot do with .*: use snip"):
        rate("grasp", nn.Sequential(nn.Linear(8, 6), Once(), nn.Linear(6, 3)), [batch])


@pytest.mark.parametrize("kind", [*DATA, "synflow"])
def test_old_weight_norm_with_iterations(kind, batch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = nn.Sequential(torch.nn.utils.weight_norm(nn.Linear(8, 6)), nn.ReLU(), nn.Linear(6, 3))
    net(batch.x)  # leaves a weight with a graph, which deepcopy refuses
    weight = net[0].weight
    mask = prune(net, {"kind": kind, "skip": "0"}, 0.3, [batch], generator=generator(0, "m"), iterations=3)
    assert mask.counts() == {"2.weight": 6}
    assert net[0].weight is weight
    with pytest.raises(UsageError, match=r"'0\.weight' is not a parameter: remove its parametrisation"):
        prune(net, kind, 0.3, [batch], generator=generator(0, "m"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.BatchNorm1d(8))
        nn.init.zeros_(self.inner[4].weight)

    def forward(self, x):
        return x + self.inner(x)


def headless(net):
    nn.init.zeros_(net[-1].weight)
    return net


@pytest.mark.parametrize("kind", ["snip", "grasp", "synflow"])
@pytest.mark.parametrize(
    ("make", "blame"),
    [
        (lambda: headless(plain()), r"2\.weight"),
        (lambda: nn.Sequential(nn.Linear(8, 8), Block(), nn.Linear(8, 3)), r"1\.inner\.4\.weight"),
    ],
)
def test_zeros_name_the_layer_at_fault(kind, make, blame, batch):
    net = make()
    said = rf"all scores of '.*' are zero because ('{blame}', through which it acts, is all zeros|its weights are)"
    with pytest.raises(UsageError, match=said) as caught:
        prune(net, kind, 0.5, [batch], generator=generator(0, "m"))
    assert blame.replace("\\", "") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_zeros_of_a_score_alone_point_to_prune(batch):
    scores = rate("synflow", nn.Sequential(nn.Linear(8, 8), Block(), nn.Linear(8, 3)), [batch])
    with pytest.raises(UsageError, match=r"all scores of '1\.inner\.0\.weight' are zero.* \(`prune` names it\)"):
        Mask.keep(scores, 0.5)


def test_a_layer_that_is_not_called_is_named(batch):
    class Auxiliary(nn.Module):
        def __init__(self):
            super().__init__()
            self.main, self.aux = nn.Linear(8, 3), nn.Linear(8, 3)

        def forward(self, x):
            return (self.main(x), self.aux(x)) if self.training else self.main(x)

    with pytest.raises(UsageError, match=r"'aux\.weight' are zero because the network does not call it: set skip="):
        prune(Auxiliary(), "snip", 0.5, [batch], generator=generator(0, "m"))
    net = nn.Sequential(nn.Linear(8, 8), Block(), nn.Linear(8, 3))
    settings = {"kind": "synflow", "mode": "train"}
    assert min(prune(net, settings, 0.3, [batch], generator=generator(0, "m")).counts().values()) > 0
