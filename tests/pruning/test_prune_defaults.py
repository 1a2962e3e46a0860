"""Library and command line agree by construction, and say what collapsed."""

import warnings

import pytest
import torch
from torch import nn

from prunefield.cli import main
from prunefield.core.errors import PruneWarning
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.networks.lenet import Lenet
from prunefield.networks.resnet import Resnet
from prunefield.pruning.iterations import prune
from prunefield.scores import Score


def resnet(width=4, side=16):
    net = Resnet(width=width)
    return net.build((3, side, side), 10, generator=generator(0, "init"))


def test_synflow_has_100_iterations_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = Lenet().build((1, 8, 8), 10, generator=generator(0, "init"))
    x = torch.randn(5, 1, 8, 8)
    found = prune(net, "synflow", 0.05, x, generator=generator(0, "mask"))
    assert found == prune(net, "synflow", 0.05, x, generator=generator(0, "mask"), iterations=100)
    assert main(["prune", "lenet-300-100", "--density", "0.05", "--shape", "1,8,8"]) == 0
    assert Mask.load("mask.safetensors") == found
    assert found != prune(net, "synflow", 0.05, x, generator=generator(0, "mask"), iterations=1)
    assert [Score.parse(kind).iterations for kind in ("snip", "grasp", "magnitude", "random")] == [1] * 4


def test_a_collapse_is_reported_as_by_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(PruneWarning) as caught:
        mask = prune(resnet(), "magnitude", 0.01, torch.ones(1, 3, 16, 16), generator=generator(0, "mask"))
    empty = [name for name, number in mask.counts().items() if not number]
    assert main(["prune", "resnet20:4", "--density", "0.01", "--shape", "3,16,16", "--score", "magnitude"]) == 0
    said = [line.removeprefix("prunefield: ") for line in capsys.readouterr().err.splitlines()]
    assert said == [str(item.message) for item in caught]
    assert empty
    assert empty[0] in said[0]
    assert caught[0].filename == __file__


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(9, 4), nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0][:, -1])


def test_what_a_mask_does_not_cover_is_said():
    tokens = (torch.randint(9, (4, 5)), torch.arange(4) % 3)
    said = r"8\d% of the parameters are not covered by the mask: lstm.weight_hh_l0, lstm.weight_ih_l0, embed"
    for kind in ("magnitude", "snip", "synflow"):
        with pytest.warns(PruneWarning, match=said):
            prune(Reader(), kind, 0.5, tokens, generator=generator(0, "m"))
    meant = {"kind": "snip", "skip": ["lstm", "embed"]}
    prune(Reader(), meant, 0.5, tokens, generator=generator(0, "m"))
    prune(Reader(), {"kind": "snip", "also": ["lstm.weight*", "embed"]}, 0.5, tokens, generator=generator(0, "m"))


def test_tokens_that_no_longer_matter_are_reported():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 3))
    nn.init.constant_(net[4].weight, 1e-6)
    settings = {"kind": "magnitude", "skip": "0"}
    with pytest.warns(PruneWarning) as caught:
        prune(net, settings, 0.1, torch.randint(9, (4, 5)), generator=generator(0, "m"))
    first, second = (str(item.message) for item in caught)
    assert first == "4.weight keeps no weight and cuts the network"
    assert second.startswith("nothing flows from input to output, so the output is constant")


def test_a_network_that_cannot_be_checked_is_reported():
    class Picky(nn.Linear):
        def forward(self, input):
            if input.min() >= 0:  # as in the check, where everything is positive
                raise ValueError("I need a negative number")
            return super().forward(input)

    with pytest.warns(PruneWarning, match="could not be checked .ValueError: I need a negative number"):
        prune(Picky(4, 3), "magnitude", 0.5, -torch.ones(2, 4), generator=generator(0, "m"))


def test_a_skip_connection_is_not_a_cut_and_norms_and_biases_are_not_missing():
    class Residual(nn.Sequential):
        def forward(self, x):
            return x + super().forward(x)

    torch.manual_seed(0)
    inner = Residual(nn.LayerNorm(8), nn.Linear(8, 8))
    nn.init.constant_(inner[1].weight, 1e-6)
    net = nn.Sequential(nn.Linear(4, 8), inner, nn.Linear(8, 3))
    with pytest.warns(PruneWarning) as caught:
        prune(net, "magnitude", 0.3, torch.ones(1, 4), generator=generator(0, "m"))
    assert [str(item.message) for item in caught] == ["1.1.weight keeps no weight; a skip connection bypasses it"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(net, "synflow", 0.9, torch.ones(1, 4), generator=generator(0, "m"))
        prune(net, "magnitude", 0.1, torch.ones(1, 4), generator=generator(0, "m"), check=False)


def test_synflow_draws_no_data_and_shows_progress_in_a_pipe(tmp_path, monkeypatch, capsys):
    from prunefield.core import progress
    from prunefield.tasks.normal import Normal

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setattr(Normal, "draw_inputs", lambda *_, **__: pytest.fail("data were drawn"))
    options = ["prune", "resnet20:4", "--density", "0.5", "--shape", "3,16,16", "--iterations", "3", "--json"]
    assert main(options) == 0
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        "synflow of resnet20:4: 1 of 3 iterations (33%)",
        "synflow of resnet20:4: 2 of 3 iterations (67%)",
    ]
    assert told.out.startswith("{")
    monkeypatch.setattr(progress, "PAUSE", 1e9)
    assert main(options) == 0
    assert capsys.readouterr().err == ""
