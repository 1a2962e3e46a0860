"""`prunefield measure` on files of one's own: the same numbers from every kind of file, and clear errors."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.utils import prune

import prunefield as pf
from prunefield import Mask
from prunefield.cli import main
from prunefield.core.seeds import generator
from prunefield.measures.cavity import score_weights
from prunefield.measures.kurtosis import kurtosis
from prunefield.measures.widths import measure_widths

STREAM = generator(0, "measured")
NET = torch.nn.Sequential(torch.nn.Linear(192, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
with torch.no_grad():
    for parameter in NET.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=STREAM))
KEPT = torch.rand(6, 192, generator=STREAM) < 0.4
IMAGES = torch.randn(60, 192, generator=STREAM) ** 3
LABELS = torch.arange(60) % 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pruned = {name: item.clone() for name, item in NET.state_dict().items()}
    pruned["0.weight"] *= KEPT
    save_file(pruned, "net.safetensors")
    torch.save(pruned, "net.pt")
    torch.save({"state_dict": pruned, "epoch": 3}, "whole.pt")
    np.save("net.npy", pruned["0.weight"].numpy())
    save_file({name: item.clone() for name, item in NET.state_dict().items()}, "dense.safetensors")
    Mask({"0.weight": KEPT}).save("mask.safetensors")
    np.save("mask.npy", KEPT.numpy())
    held = torch.nn.Sequential(torch.nn.Linear(192, 6))
    held.load_state_dict({key: item for key, item in NET.state_dict().items() if key.startswith("0")})
    prune.custom_from_mask(held[0], "weight", KEPT)
    torch.save(held.state_dict(), "held.pt")
    np.savez("data.npz", x=IMAGES.numpy(), y=LABELS.numpy())
    return tmp_path


def measure(capsys, *arguments):
    status = main(["measure", *arguments, "--shape", "3,8,8", "--json"])
    assert status == 0
    found = json.loads(capsys.readouterr().out)
    return found | {"measures": {row["measure"]: row for row in found["measures"]}}


def test_all_files_give_the_same(folder, capsys):
    first = measure(capsys, "net.safetensors")
    assert first["layer"] == "0.weight"
    assert first["density"] == pytest.approx(KEPT.float().mean().item())
    expected = measure_widths(KEPT.view(6, 3, 8, 8)).width_x
    assert first["measures"]["width_x"]["median"] == pytest.approx(expected.quantile(0.5).item())
    assert first["measures"]["kept"]["greatest"] == KEPT.sum(1).max().item()
    others = (["net.pt"], ["whole.pt"], ["net.npy"], ["held.pt"], ["net.pt", "--layer", "0.weight"])
    masked = (["dense.safetensors", "--mask", name] for name in ("mask.safetensors", "mask.npy"))
    for arguments in (*others, *masked):
        assert measure(capsys, *arguments)["measures"] == first["measures"]


def test_data_give_kurtosis_and_scores(folder, capsys):
    found = measure(capsys, "net.pt", "--data", "data.npz", "--per-class", "20", "--out", "out")["measures"]
    weight = NET[0].weight.detach() * KEPT
    within = torch.stack([kurtosis(IMAGES[label == LABELS] @ weight.T) for label in range(3)]).mean(0)
    assert found["kurtosis_within"]["mean"] == pytest.approx(within.mean().item(), rel=1e-5)
    expected = score_weights(weight, IMAGES, LABELS, mask=KEPT)["exact"]
    assert found["cavity"]["mean"] == pytest.approx(expected.nanmean(1).mean().item(), rel=1e-4)
    written = load_file("out/scores.safetensors")["0.weight"]
    torch.testing.assert_close(written, expected, rtol=1e-3, atol=1e-6, equal_nan=True)
    assert len(json.loads((folder / "out" / "units.json").read_text())["per_unit"]["ipr"]) == 6
    assert (folder / "out" / "fields.svg").read_text().startswith("<?xml")


def test_a_person_sees_a_table(folder, capsys):
    assert main(["measure", "net.npy", "--shape", "192"]) == 0
    text = capsys.readouterr().out
    assert f"weight: 6 units, density {KEPT.float().mean().item():.4g}" in text
    assert "ipr" in text
    assert "width_y" not in text
    assert "need data" in text


def test_a_dense_network_has_the_widths_of_its_weights(folder, capsys):
    """A full mask has one width whatever the weights are; it was printed for every unit."""
    rows, columns = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    narrow, wide = (torch.exp(-((rows - 8) ** 2 + (columns - 8) ** 2) / (2 * s**2)) for s in (1.0, 2.0))
    np.save("bumps.npy", torch.stack([narrow, -wide]).flatten(1).numpy())
    assert main(["measure", "bumps.npy", "--shape", "16,16", "--json"]) == 0
    found = {row["measure"]: row for row in json.loads(capsys.readouterr().out)["measures"]}
    assert "width_x" not in found
    # The autocorrelation of a Gaussian of width s has the width √2 s.
    assert found["weight_width_x"]["least"] == pytest.approx(2**0.5, rel=0.1)
    assert found["weight_width_y"]["greatest"] == pytest.approx(8**0.5, rel=0.1)
    assert main(["measure", "bumps.npy", "--shape", "16,16"]) == 0
    assert "widths are those of |w|" in capsys.readouterr().out


class Surprise:
    """More than weights."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["net.pt", "--layer", "0.weigth"],
            "unknown layer '0.weigth'; did you mean '0.weight'? (allowed: 0.weight, 2.w",
        ),
        (
            ["net.pt", "--shape", "3,9,9"],
            "no layer in net.pt has 243 inputs, as the shape 3,9,9 requires (layers found: 0.w",
        ),
        (["net.pt", "--layer", "2.weight"], "layer 2.weight has 6 inputs, the shape 3,8,8 has 192"),
        (
            ["net.pt", "--shape", "3x8"],
            "--shape must be positive whole numbers separated by commas, as in 3,32,32, not '3x8'",
        ),
        (["odd.pt"], "odd.pt contains more than weights, or is damaged, and was not read; save net.state_dict()"),
        (["cut.safetensors"], "cut.safetensors is truncated or not a .safetensors file"),
        (["none.pt"], "cannot read none.pt: no such file"),
        (["empty.pt"], "empty.pt contains no named tensors"),
        (["text.npy"], "text.npy must contain real numbers"),
        (["net.pt", "--mask", "small.npy"], "the mask of 0.weight is (2, 2), the weight (6, 192)"),
        (["net.pt", "--mask", "other.safetensors"], "unknown layer of the mask '0.weight'"),
        (["bad.npy"], "layer weight has 2 weights that are not finite in float32 (of 1152)"),
        (["net.pt", "--data", "few.npz"], "an example of the data has 5 numbers, but 0.weight has 192 inputs"),
        (["net.pt", "--data", "data.npz", "--per-class", "3"], "--per-class must be at least 4, not 3"),
    ],
)
def test_errors_are_one_line(folder, capsys, arguments, message):
    torch.save({"net": Surprise()}, "odd.pt")
    torch.save([1, 2], "empty.pt")
    (folder / "cut.safetensors").write_bytes((folder / "net.safetensors").read_bytes()[:50])
    np.save("text.npy", np.array([["a", "b"]]))
    np.save("small.npy", np.ones((2, 2)))
    Mask({"1.weight": KEPT}).save("other.safetensors")
    bad = NET[0].weight.detach().numpy().copy()
    bad[0, :2] = np.nan, np.inf
    np.save("bad.npy", bad)
    np.savez("few.npz", x=np.ones((9, 5)))
    shape = [] if "--shape" in arguments else ["--shape", "3,8,8"]
    assert main(["measure", *arguments, *shape]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"prunefield: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("names", [("0", "1"), ("embed_tokens", "fc")])
def test_an_embedding_is_not_taken_for_the_first_layer(tmp_path, capsys, names):
    first, second = names
    state = {f"{first}.weight": torch.randn(50, 16), f"{second}.weight": torch.randn(8, 16)}
    if first == "0":  # otherwise its name says it
        state[f"{second}.bias"] = torch.zeros(8)
    torch.save(state, tmp_path / "net.pt")
    assert main(["measure", str(tmp_path / "net.pt"), "--shape", "16"]) == 2
    said = capsys.readouterr().err
    assert f"{first}.weight, may be an embedding; name the layer, as in --layer {second}.weight" in said
    assert len(pf.measure(state, second, (16,)).weight) == 8
    assert len(pf.measure(state, first, (16,)).weight) == 50


def test_a_first_layer_without_a_bias_is_taken():
    net = torch.nn.Sequential(torch.nn.Linear(16, 8, bias=False), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    assert pf.measure(net.state_dict()).layer == "0.weight"
    net = torch.nn.Sequential(torch.nn.Linear(16, 16, bias=False), torch.nn.Linear(16, 2, bias=False))
    assert pf.measure(net.state_dict()).layer == "0.weight"
