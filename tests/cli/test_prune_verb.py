"""`prunefield prune` as a user meets it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from prunefield.cli import main
from prunefield.core.names import list_presets
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask
from prunefield.networks import Network
from prunefield.networks.resnet import Resnet
from prunefield.pruning.inputs import choose_task, draw_examples
from prunefield.scores import Score, find_prunable
from prunefield.scores.magnitude import Magnitude
from prunefield.tasks.leaves import Leaves

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

def infinite():
    made = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    nn.init.constant_(made[2].weight, torch.inf)
    return made

def zero():
    made = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    nn.init.zeros_(made[2].weight)
    return made

def frozen():
    made = nn.Sequential(nn.Linear(4, 4))
    made[0].weight.requires_grad_(False)
    return made

def bare():
    return nn.ReLU()

def pair():
    class Pair(nn.Linear):
        def forward(self, x):
            return {"states": super().forward(x)}
    return Pair(4, 3)

def normed():
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))

def broken():
    raise RuntimeError("two\\nlines")
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


@pytest.mark.parametrize(
    "score", ["random", "magnitude", "trained-magnitude,recipe.epochs=1", "snip", "grasp", "synflow,double=true"]
)
def test_every_score_writes_a_mask(score, capsys):
    found = answer(capsys, "--score", score, "--density", "0.25", "--floor", "2", "--batch-size", "16")
    mask = Mask.load("mask.safetensors")
    assert sum(mask.counts().values()) == found["kept"] == 57
    assert found["weights"] == 36 + 192
    assert found["parameters"] == 36 + 4 + 192 + 3
    assert found["flops"] == 2 * (36 * 16 + 192)
    assert [row["kept"] for row in found["layers"]] == list(mask.counts().values())
    assert found["kept_flops"] == 2 * (mask.counts()["0.weight"] * 16 + mask.counts()["3.weight"])


def test_a_score_that_trains_is_given_all_examples_of_a_data_set_in_every_iteration():
    np.savez("digits.npz", x=np.random.default_rng(0).normal(size=(300, 1, 6, 6)), y=np.arange(300) % 3)
    task, shape = choose_task("nets:make", f"npz,path={Path('digits.npz').resolve()}")
    score = Score.parse("trained-magnitude")
    (batch,) = draw_examples(score, nn.Sequential(nn.Flatten(), nn.Linear(36, 3)), task, shape, batch_size=16)
    assert len(batch.y) == len(task.labels(training=True)) > 16


def test_the_same_command_gives_the_same_file_and_another_seed_another(capsys, tmp_path):
    options = ["--density", "0.2", "--score", "snip", "--data", "sparse", "--sample", "last"]
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
    assert prune("--density", "0.2", "--score", "synflow", "--data", "gaussian,size=36", "--shape", "1,6,6",
                 "--start", "first.safetensors", "--iterations", "3") == 0  # fmt: skip
    assert "46 of 228 weights" in capsys.readouterr().out
    second = Mask.load("mask.safetensors")
    assert second & Mask.load("first.safetensors") == second


@pytest.mark.parametrize("pruned", [False, True])
def test_a_saved_network_needs_no_code(pruned, capsys):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 3))
    expected = Mask.keep(Magnitude()(net, generator=torch.Generator()), 0.5)
    if pruned:
        expected.to_torch_prune(net)
    torch.save(net.state_dict(), "net.pt")
    assert main(["prune", "net.pt", "--score", "magnitude", "--density", "0.5", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert Mask.load("mask.safetensors") == expected
    assert said["parameters"] == sum(item.numel() for item in net.parameters())
    assert [set(row) for row in said["layers"]] == [{"layer", "weights", "kept", "density"}] * 2
    assert main(["prune", "net.pt", "--score", "magnitude", "--density", "0.01"]) == 0
    told = capsys.readouterr()
    assert "operations" not in told.out
    assert "keeps no weight\n" in told.err


@pytest.mark.parametrize(
    ("named", "layers"),
    [
        ("skip=2", {"0.weight"}),
        ("skip=2.*", {"0.weight"}),
        ('skip=["2"],also=["0.bias","1"]', {"0.weight", "0.bias", "1.weight", "1.bias"}),
    ],
)
def test_what_is_pruned_can_be_named_in_the_shell(named, layers, capsys):
    assert prune("--shape", "4", "--density", "1/2", "--score", f"random,{named}", "--json", model="normed") == 0
    assert {row["layer"] for row in json.loads(capsys.readouterr().out)["layers"]} == layers


@pytest.mark.parametrize("wrap", ["module.", "_orig_mod.", ""])
@pytest.mark.parametrize("key", ["model", "state_dict", None])
def test_checkpoints_as_trainers_write_them(wrap, key, capsys):
    torch.manual_seed(1)
    twin = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    state = {wrap + name: item for name, item in twin.state_dict().items()}
    torch.save({key: state, "epoch": 3} if key else state, "twin.pt")
    options = ["--weights", "twin.pt", "--score", "magnitude", "--density", "0.5", "--shape", "4"]
    assert prune(*options, model="normed") == 0
    assert Mask.load("mask.safetensors") == Mask.keep(Magnitude()(twin, generator=torch.Generator()), 0.5)


def test_weights_of_torch_are_read(capsys):
    torch.manual_seed(1)
    twin = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    torch.save(twin.state_dict(), "twin.pt")
    answer(capsys, "--weights", "twin.pt", "--score", "magnitude", "--density", "0.5")
    assert Mask.load("mask.safetensors") == Mask.keep(Magnitude()(twin, generator=torch.Generator()), 0.5)


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
        (["--density", "0.5"], "net", "need a shape, as in --shape"),
        (["--shape", "1x6", "--density", "0.5"], "net", "--shape must be positive whole numbers separated by commas"),
        (["--shape", "1,6,6", "--density", "0.5", "--score", "snipp"], "net", "did you mean 'snip'"),
        (["--shape", "1,6,6", "--density", "0.5", "--score", "snip,mod=eval"], "net", "did you mean 'mode'"),
        (["--shape", "1,6,6", "--density", "0.5", "--scope", "glob"], "net", "did you mean 'global'"),
        (["--shape", "1,6,6", "--density", "0.5", "--score", "grasp", "--sample", "last"], "net", "reduce='abs'"),
        (["--shape", "1,6,6", "--density", "0.5", "--weights", "no.safetensors"], "net", "cannot read no.safetensors"),
        (["--shape", "1,6,6", "--density", "0.5", "--weights", "other.safetensors"], "net", "do not fit"),
        (["--shape", "1,6,6", "--density", "0.5", "--start", "no.safetensors"], "net", "cannot read no.safetensors"),
        (["--shape", "1,7,7", "--density", "0.5"], "net", "does not take inputs of shape 1,7,7"),
        (["--shape", "4", "--density", "0.5"], "tied", "is shared with"),
        (["--shape", "4", "--density", "0.5"], "number", "returns a int, not a torch.nn.Module"),
        (["--shape", "4", "--density", "0.5"], "nett", "cannot build own_nets_for_prune:nett"),
        (["--shape", "4", "--density", "0.5"], "broken", "RuntimeError: two lines"),
        (["--shape", "4", "--density", "0.5"], "frozen", "is frozen"),
        (["--shape", "4", "--density", "0.5"], "pair", "must return a tensor (examples, classes), not dict"),
        (["--shape", "4", "--density", "1/0"], "zero", "density is the kept fraction"),
        (
            ["--shape", "4", "--density", "1/2", "--batch-size", "1", "--score", "snip,mode=train"],
            "normed",
            "snip cannot score",
        ),
        (
            ["--shape", "4", "--density", "0.5", "--score", "snip,skip=heads"],
            "normed",
            "no weight 'heads'; its weights are",
        ),
        (["--shape", "4", "--density", "0.5", "--alpha", "0.1"], "normed", "are for sampled masks"),
        (["--data", "normal,side=3", "--density", "0.5"], "normed", "normal: unknown key 'side'"),
        (["--shape", "4", "--density", "0.5", "--device", "nothing"], "normed", "no device 'nothing' here"),
        (["--shape", "4", "--density", "0.5"], "bare", "no weights to prune"),
        (
            ["--shape", "4", "--density", "0.5"],
            "infinite",
            "the scores of '0.weight' are not all finite; the flow overflows",
        ),
        (["--shape", "4", "--density", "0.5", "--score", "magnitude"], "zero", "all scores of '2.weight' are zero"),
        (["--shape", "4", "--density", "0.5", "--sample", "last"], "zero", "all scores of '0.weight' are zero"),
        (
            ["--shape", "4", "--density", "0.5", "--start", "other.safetensors"],
            "zero",
            "(3, 64) in the mask, missing in",
        ),
        (["--shape", "1,6,6", "--density", "0.5", "--iterations", "0"], "net", "iterations must be at least 1, not 0"),
        (["--shape", "1,6,6", "--density", "0.5", "--data", "leaves"], "net", "does not fit the inputs of leaves"),
        (["--shape", "1,6,6", "--density", "0.5", "--classes", "3"], "net", "--classes is for the networks"),
    ],
)
def test_a_mistake_gets_one_line_and_no_file(options, model, said, capsys, tmp_path):
    Mask({"3.weight": torch.ones(3, 64) > 0}).save("other.safetensors")
    assert prune(*options, model=model) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "mask.safetensors").exists()


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("net.safetensors", [], "net.safetensors is truncated or not a .safetensors"),
        ("whole.pt", ["--score", "magnitude"], "whole.pt contains more than weights"),
        ("plain.pt", [], "plain.pt contains weights but no code"),
        ("plain.pt", ["--score", "snip"], "and the file as --weights"),
        ("plain.pt", ["--weights", "plain.pt"], "plain.pt already contains weights"),
        ("plain.pt", ["--classes", "3"], "--classes is for the networks"),
        ("net.pt", [], "a file of weights"),
        ("resnet21", [], "did you mean 'resnet20'"),
        ("resnet20:wide", [], "got resnet20:wide"),
        ("resnet20", ["--classes", "0"], "got --classes 0"),
        ("resnet20", ["--shape", "7"], "three axes"),
    ],
)
def test_a_wrong_network_is_named(model, options, said, capsys, tmp_path):
    (tmp_path / "net.safetensors").write_bytes(b"")
    torch.save(nn.Linear(4, 3), "whole.pt")
    torch.save(nn.Linear(4, 3).state_dict(), "plain.pt")
    assert main(["prune", model, "--density", "0.5", *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_built_in_networks_have_the_names_and_weights_of_the_fact_sheet():
    nets = {name: Network.parse(name) for name in list_presets("networks")}
    counts = {
        name: sum(w.numel() for w in find_prunable(net.outline(net.shape, 10)).values()) for name, net in nets.items()
    }
    assert counts == {"lenet-300-100": 266_200, "resnet20": 270_896, "resnet18": 11_164_352, "vgg19": 20_024_000}


def test_a_built_in_network_is_that_of_the_runs(capsys):
    options = ["--density", "0.1", "--score", "magnitude", "--seed", "3", "--json"]
    assert main(["prune", "resnet20:4", *options, "--shape", "3,16,16", "--classes", "5"]) == 0
    assert json.loads(capsys.readouterr().out)["weights"] == Mask.load("mask.safetensors").total
    net = Resnet(width=4).build((3, 16, 16), 5, generator=generator(3, "init"))
    assert Mask.load("mask.safetensors") == Mask.keep(Magnitude()(net, generator=generator(0, "")), 0.1)
    assert main(["prune", "lenet-300-100", *options, "--data", "leaves,side=16"]) == 0
    assert Mask.load("mask.safetensors")["head.weight"].shape == (Leaves(side=16).classes, 100)
