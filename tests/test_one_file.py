"""One file adds a thing, and a folder a paper: it then appears everywhere, without another edit."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prunefield

pytestmark = pytest.mark.long
CONTRACT = Path(__file__).parent / "contract"
SCORE = '''"""How far a weight is from the mean of its layer, from nobody's paper."""

from prunefield.scores import Score


class DistanceToMean(Score):
    """|w − mean(w)|, as bar2023 might have it (no equation)."""

    def __call__(self, net, batches=(), *, generator):
        return {name: (weight - weight.mean()).abs().detach() for name, weight in self.weights(net).items()}
'''
NETWORK = '''"""One linear layer after a norm, from nobody's paper."""

from math import prod

from pydantic import Field
from torch import nn

from prunefield.networks import Network


class Layer(Network):
    """Flatten, normalise, weigh: what bar2023 calls a linear model."""

    eps: float = Field(default=1e-5, gt=0)

    def module(self, shape, classes):
        return nn.Sequential(nn.Flatten(), nn.LayerNorm(prod(shape), self.eps), nn.Linear(prod(shape), classes))
'''
USE = """
import torch
from prunefield import Mask, Score
from prunefield.networks import Network
net = Network.parse("layer,eps=1e-3").build((2, 5), 10, generator=torch.Generator())
mask = Mask.keep(Score.parse("distance-to-mean")(net, generator=torch.Generator()), 0.3)
assert mask["2.weight"].sum() == 30
"""
PAPER = '''"""nobody2030: Nobody, "On Walks"."""

TITLE = "On Walks"
BIBTEX = "@misc{nobody2030, title = {On Walks}}"
'''
ITEM = '''"""How far a random walk goes, from nobody's paper."""

from pandas import DataFrame

from prunefield.papers import Item, claim, gather, judge
from prunefield.runs import Run


class Fig1(Item):
    """nobody2030, Fig. 1."""

    title = "Ends of random walks"
    size = (4, 3)
    open_choices = ("the number of steps",)

    def runs(self, scale):
        return [Run.parse({"kind": "toy", "seed": seed}) for seed in range(2)]

    def table(self, results):
        return gather(results, lambda run, result: [{"seed": run.seed, "end": result.records[-1]["mean"]}], on=Run)

    def ideal(self):
        return DataFrame({"seed": [0, 1], "end": [1.0, -1.0]})

    @claim("Walks leave", at="Fig. 1", expect="an end that is not 0", null=lambda table: table.assign(end=0.0))
    def leave(table):
        return judge((table["end"] != 0).all(), f"ends from {table['end'].min():.2f}", len(table))

    def draw(self, figure, table, results):
        figure.add_subplot().plot(table["seed"], table["end"])
'''
FILES = {  # of each family
    "scores": {"distance_to_mean.py": SCORE},
    "networks": {"layer.py": NETWORK},
    "papers": {"nobody2030/__init__.py": PAPER, "nobody2030/fig1.py": ITEM},
}
KINDS = {"scores": "distance-to-mean", "networks": "layer", "papers": "nobody2030/fig1"}
COMMANDS = [["list"], ["list", "--help"], ["run", "--help"], ["prune", "--help"], ["reproduce", "--help"]]
NAMED = {"run": ["scores", "networks"], "prune": ["scores", "networks"], "reproduce": ["papers"]}
CONTRACTS = {"scores": "test_each_score.py", "networks": "test_each_network.py", "papers": "test_each_item.py"}


def write_files(folder: Path, family: str) -> None:
    for name, text in FILES[family].items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def other_package(tmp_path_factory):
    """The folder of a package of another author, which joins through entry points."""
    folder = tmp_path_factory.mktemp("other")
    info = folder / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    lines = []
    for family, kind in KINDS.items():
        write_files(folder, family)
        lines += [f"[prunefield.{family}]", f"{kind} = {kind.replace('-', '_').replace('/', '.')}"]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module", params=["in the tree", "in a package of its own"])
def environment(request, tmp_path_factory):
    """A score, a network and a paper, once as files of prunefield and once as those of another package."""
    if request.param == "in a package of its own":
        return with_path(request.getfixturevalue("other_package"))
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(Path(prunefield.__file__).parent, folder / "prunefield")
    for family in KINDS:
        write_files(folder / "prunefield" / family, family)
    return with_path(folder)


def with_path(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"}


def say(environment, *command) -> str:
    """What a command prints."""
    whole = [sys.executable, "-m", "prunefield", *command]
    return subprocess.run(whole, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_is_listed_and_in_the_help(environment, command):
    text = say(environment, *command)
    for family in NAMED.get(command[0], KINDS):
        assert re.search(rf"(?<![\w-]){KINDS[family]}(?![\w-])", text)


def test_it_can_be_used(environment):
    subprocess.run([sys.executable, "-c", USE], env=environment, check=True)
    assert "@misc{nobody2030" in say(environment, "cite", "nobody2030")


def ask_the_contract(environment, family: str) -> tuple[set[str], set[str]]:
    """The tests of the contract that the kind passed, and those that it failed."""
    file, kind = str(CONTRACT / CONTRACTS[family]), KINDS[family].partition("/")[0]
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-k", kind, file]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    passed, failed = (
        set(re.findall(rf"^{word} \S+::(test_\w+)\[", answer.stdout, re.MULTILINE)) for word in ("PASSED", "FAILED")
    )
    assert answer.returncode == bool(failed), answer.stdout + answer.stderr
    return passed, failed


@pytest.mark.parametrize("family", KINDS)
def test_it_is_held_to_the_contract(environment, family):
    passed, failed = ask_the_contract(environment, family)
    assert failed == set()
    assert passed == set(re.findall(r"def (test_\w+)\(", (CONTRACT / CONTRACTS[family]).read_text()))


@pytest.mark.parametrize(
    ("family", "right", "wrong", "found"),
    [
        ("scores", "(weight - weight.mean())", "weight.data.sub_(weight.mean())", "test_leaves_the_net_as_it_was"),
        ("networks", "classes))", "classes + 1))", "test_maps_inputs_of_its_usual_shape_to_classes"),
    ],
)
def test_what_breaks_the_contract_is_found(tmp_path, other_package, family, right, wrong, found):
    shutil.copytree(other_package, tmp_path / "other")
    (source,) = (tmp_path / "other" / name for name in FILES[family])
    source.write_text(source.read_text().replace(right, wrong))
    _, failed = ask_the_contract(with_path(tmp_path / "other"), family)
    assert found in failed
