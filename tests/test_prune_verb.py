"""`prunefield prune` as a user meets it."""

import json

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from prunefield.cli import main
from prunefield.masks import Mask

NETS = """
import torch
from torch import nn

def net():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))

def tied():
    made = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    made[1].weight = made[0].weight
    return made

def number():
    return 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "own_nets_for_prune.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)


def prune(*options, model="net"):
    return main(["prune", f"own_nets_for_prune:{model}", *options])


def answer(capsys, *options):
    assert prune("--shape", "1,6,6", "--json", *options) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("score", ["random", "magnitude", "snip", "grasp", "synflow,double=true"])
def test_every_score_writes_a_mask(score, capsys):
    found = answer(capsys, "--score", score, "--density", "0.25", "--floor", "2", "--batch", "16")
    mask = Mask.load("mask.safetensors")
    assert sum(mask.counts().values()) == found["kept"] == 57
    assert found["weights"] == 36 + 192
    assert found["parameters"] == 36 + 4 + 192 + 3
    assert found["flops"] == 2 * (36 * 16 + 192)
    assert [row["kept"] for row in found["layers"]] == list(mask.counts().values())
    assert found["kept_flops"] == 2 * (mask.counts()["0.weight"] * 16 + mask.counts()["3.weight"])


def test_the_same_command_gives_the_same_file_and_another_seed_another(capsys, tmp_path):
    options = ["--density", "0.2", "--score", "snip", "--inputs", "sparse", "--sample", "last"]
    files = []
    for seed in ("0", "0", "1"):
        answer(capsys, *options, "--seed", seed)
        files.append((tmp_path / "mask.safetensors").read_bytes())
    assert files[0] == files[1] != files[2]


def test_weights_tasks_and_old_masks(capsys):
    torch.manual_seed(1)
    twin = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    save_file(twin.state_dict(), "twin.safetensors")
    options = ["--weights", "twin.safetensors", "--score", "magnitude"]
    answer(capsys, *options, "--density", "0.5", "--out", "first.safetensors")
    scores = {"0.weight": twin[0].weight.abs(), "3.weight": twin[3].weight.abs()}
    assert Mask.load("first.safetensors") == Mask.keep(scores, 0.5)
    assert prune("--density", "0.2", "--score", "synflow", "--inputs", "gaussian,size=36", "--shape", "1,6,6",
                 "--from", "first.safetensors", "--iterations", "3") == 0  # fmt: skip
    assert "46 of 228 weights" in capsys.readouterr().out
    second = Mask.load("mask.safetensors")
    assert second & Mask.load("first.safetensors") == second


def test_an_emptied_layer_is_warned_of(capsys):
    save_file(
        {"0.weight": torch.full((4, 1, 3, 3), 1e-3), "0.bias": torch.zeros(4), "3.weight": torch.ones(3, 64),
         "3.bias": torch.zeros(3)}, "flat.safetensors"
    )  # fmt: skip
    assert prune("--weights", "flat.safetensors", "--score", "magnitude", "--density", "0.1", "--shape", "1,6,6") == 0
    said = capsys.readouterr().err
    assert "0.weight keeps no weight and cuts the network" in said
    assert "nothing flows from input to output" in said


@pytest.mark.parametrize(
    ("options", "model", "said"),
    [
        (["--shape", "1,6,6", "--density", "0"], "net", "density is the kept fraction"),
        (["--shape", "1,6,6", "--density", "half"], "net", "density is the kept fraction"),
        (["--density", "0.5"], "net", "need the shape of one: --shape"),
        (["--shape", "1x6", "--density", "0.5"], "net", "--shape is whole numbers with commas"),
        (["--shape", "1,6,6", "--density", "0.5", "--score", "snipp"], "net", "did you mean 'snip'"),
        (["--shape", "1,6,6", "--density", "0.5", "--score", "snip,mod=eval"], "net", "did you mean 'mode'"),
        (["--shape", "1,6,6", "--density", "0.5", "--scope", "glob"], "net", "did you mean 'global'"),
        (["--shape", "1,6,6", "--density", "0.5", "--score", "grasp", "--sample", "last"], "net", "reduce='abs'"),
        (["--shape", "1,6,6", "--density", "0.5", "--weights", "no.safetensors"], "net", "do not fit"),
        (["--shape", "1,6,6", "--density", "0.5", "--from", "no.safetensors"], "net", "cannot read the mask"),
        (["--shape", "1,7,7", "--density", "0.5"], "net", "does not take inputs of shape 1,7,7"),
        (["--shape", "4", "--density", "0.5"], "tied", "is shared with"),
        (["--shape", "4", "--density", "0.5"], "number", "gives a int, not a torch.nn.Module"),
        (["--shape", "4", "--density", "0.5"], "nett", "cannot import"),
    ],
)
def test_a_mistake_gets_one_line_and_no_file(options, model, said, capsys, tmp_path):
    assert prune(*options, model=model) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "mask.safetensors").exists()


def test_a_file_is_no_network(capsys):
    assert main(["prune", "net.pt", "--density", "0.5"]) == 2
    assert "module:factory" in capsys.readouterr().err
