"""One file adds a thing: it then appears everywhere, without another edit."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prunefield

CONTRACT = Path(__file__).parent / "contract" / "test_each_score.py"
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


@pytest.fixture
def other_package(tmp_path):
    """The environment of a package with the score `distance-to-mean`, and the file that holds the score."""
    (tmp_path / "distance_to_mean.py").write_text(SCORE)
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[prunefield.scores]\ndistance-to-mean = distance_to_mean\n")
    return with_path(tmp_path), tmp_path / "distance_to_mean.py"


@pytest.fixture(params=["in the tree", "in a package of its own"])
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


def ask_the_contract(environment) -> tuple[set[str], set[str]]:
    """The tests of the contract that the score passed, and those that it failed."""
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-k", "distance-to-mean", str(CONTRACT)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    passed, failed = (
        set(re.findall(rf"^{word} \S+::(test_\w+)\[", answer.stdout, re.MULTILINE)) for word in ("PASSED", "FAILED")
    )
    assert answer.returncode == bool(failed), answer.stdout + answer.stderr
    return passed, failed


def test_it_is_held_to_the_contract(environment):
    passed, failed = ask_the_contract(environment)
    assert failed == set()
    assert passed == set(re.findall(r"def (test_\w+)\(self, kind", CONTRACT.read_text()))


def test_a_score_that_breaks_the_contract_is_found(other_package):
    environment, source = other_package
    source.write_text(SCORE.replace("(weight - weight.mean())", "weight.data.sub_(weight.mean())"))
    _, failed = ask_the_contract(environment)
    assert "test_leaves_the_net_as_it_was" in failed
