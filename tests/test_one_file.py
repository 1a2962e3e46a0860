"""One file adds a thing, and a folder a paper: it then appears everywhere, without another edit."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prunefield

CONTRACT = Path(__file__).parent / "contract"
SCORE = '''"""How far a weight is from the mean of its layer, from nobody's paper."""

from prunefield.scores import Score


class Distance(Score):
    """|w − mean(w)|, as bar2023 might have it (no equation)."""

    def __call__(self, net, batches=(), *, generator):
        return {name: (weight - weight.mean()).abs().detach() for name, weight in self.weights(net).items()}
'''
USE = """
import torch
from prunefield import Mask, Score
net = torch.nn.Linear(10, 10)
mask = Mask.keep(Score.parse("distance-to-mean")(net, generator=torch.Generator()), 0.3)
assert mask["weight"].sum() == 30
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
PLACES = ["in the tree", "in a package of its own"]


def name_in_metadata(folder: Path, family: str, kind: str, module: str) -> dict[str, str]:
    """The environment in which the folder is a package of another author with one kind of a family."""
    info = folder / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[prunefield.{family}]\n{kind} = {module}\n")
    return with_path(folder)


@pytest.fixture
def other_package(tmp_path):
    """The environment of a package with the score `distance-to-mean`, and the file that holds the score."""
    (tmp_path / "distance_to_mean.py").write_text(SCORE)
    return name_in_metadata(
        tmp_path, "scores", "distance-to-mean", "distance_to_mean"
    ), tmp_path / "distance_to_mean.py"


@pytest.fixture(params=PLACES)
def environment_with_paper(request, tmp_path):
    """The paper `nobody2030` with one item and one claim."""
    is_other = request.param == "in a package of its own"
    folder = tmp_path / ("nobody2030" if is_other else "prunefield/papers/nobody2030")
    if not is_other:
        shutil.copytree(Path(prunefield.__file__).parent, tmp_path / "prunefield")
    folder.mkdir()
    (folder / "__init__.py").write_text(PAPER)
    (folder / "fig1.py").write_text(ITEM)
    return (
        name_in_metadata(tmp_path, "papers", "nobody2030/fig1", "nobody2030.fig1") if is_other else with_path(tmp_path)
    )


@pytest.fixture(params=PLACES)
def environment(request, tmp_path):
    """The score `distance-to-mean`, once as a file of prunefield and once as a file of another package."""
    if request.param == "in a package of its own":
        return request.getfixturevalue("other_package")[0]
    shutil.copytree(Path(prunefield.__file__).parent, tmp_path / "prunefield")
    (tmp_path / "prunefield" / "scores" / "distance_to_mean.py").write_text(SCORE)
    return with_path(tmp_path)


def with_path(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"}


@pytest.mark.parametrize("command", [["list", "scores"], ["list", "--help"], ["run", "--help"]])
def test_it_is_listed_and_in_the_help(environment, command):
    answer = subprocess.run(
        [sys.executable, "-m", "prunefield", *command], env=environment, capture_output=True, text=True, check=True
    )
    assert "distance-to-mean" in answer.stdout


def test_it_can_be_used(environment):
    subprocess.run([sys.executable, "-c", USE], env=environment, check=True)


def ask_the_contract(environment, file="test_each_score.py", kind="distance-to-mean") -> tuple[set[str], set[str]]:
    """The tests of the contract that the kind passed, and those that it failed."""
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-k", kind, str(CONTRACT / file)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    passed, failed = (
        set(re.findall(rf"^{word} \S+::(test_\w+)\[", answer.stdout, re.MULTILINE)) for word in ("PASSED", "FAILED")
    )
    assert answer.returncode == bool(failed), answer.stdout + answer.stderr
    return passed, failed


def test_it_is_held_to_the_contract(environment):
    passed, failed = ask_the_contract(environment)
    assert failed == set()
    assert passed == set(re.findall(r"def (test_\w+)\(self, kind", (CONTRACT / "test_each_score.py").read_text()))


def test_a_score_that_breaks_the_contract_is_found(other_package):
    environment, source = other_package
    source.write_text(SCORE.replace("(weight - weight.mean())", "weight.data.sub_(weight.mean())"))
    _, failed = ask_the_contract(environment)
    assert "test_leaves_the_net_as_it_was" in failed


def test_a_paper_with_one_claim_is_held_to_the_contract_and_cited(environment_with_paper):
    passed, failed = ask_the_contract(environment_with_paper, "test_each_item.py", "nobody2030")
    assert failed == set()
    assert passed == set(re.findall(r"def (test_\w+)\(", (CONTRACT / "test_each_item.py").read_text()))
    command = [sys.executable, "-m", "prunefield", "cite", "nobody2030"]
    answer = subprocess.run(command, env=environment_with_paper, capture_output=True, text=True, check=True)
    assert "@misc{nobody2030" in answer.stdout
