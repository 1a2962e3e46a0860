"""One file adds a thing: it then appears everywhere, without another edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prunefield

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


@pytest.fixture(params=["in the tree", "in a package of its own"])
def environment(request, tmp_path):
    """The score `distance-to-mean`, once as a file of prunefield and once as a file of another package."""
    if request.param == "in the tree":
        shutil.copytree(Path(prunefield.__file__).parent, tmp_path / "prunefield")
        (tmp_path / "prunefield" / "scores" / "distance_to_mean.py").write_text(SCORE)
    else:
        (tmp_path / "distance_to_mean.py").write_text(SCORE)
        info = tmp_path / "other-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[prunefield.scores]\ndistance-to-mean = distance_to_mean\n")
    return {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}"}


@pytest.mark.parametrize("command", [["list", "scores"], ["list", "--help"], ["run", "--help"]])
def test_it_is_listed_and_in_the_help(environment, command):
    answer = subprocess.run(
        [sys.executable, "-m", "prunefield", *command], env=environment, capture_output=True, text=True, check=True
    )
    assert "distance-to-mean" in answer.stdout


def test_it_can_be_used(environment):
    subprocess.run([sys.executable, "-c", USE], env=environment, check=True)


def test_it_is_held_to_the_contract(environment):
    contract = Path(__file__).parent / "contract" / "test_each_score.py"
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "distance-to-mean", str(contract)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout
    assert " passed" in answer.stdout or "." in answer.stdout
