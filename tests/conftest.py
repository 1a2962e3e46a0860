"""What the tests share: the package `toy` of another author, and the three papers at smoke scale, run once."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a loaded machine is no failure
settings.load_profile("untimed")

EXTENSION = str(Path(__file__).parent / "extension")
sys.path.insert(0, EXTENSION)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (EXTENSION, os.environ.get("PYTHONPATH"))))


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """As in every run: the numbers depend on it."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def data_folder(tmp_path_factory):
    """An empty data folder: no test may depend on what its user has fetched."""
    os.environ["PRUNEFIELD_DATA"] = str(tmp_path_factory.mktemp("data"))
    return Path(os.environ["PRUNEFIELD_DATA"])


@pytest.fixture(scope="session")
def datasets(data_folder, tmp_path_factory):
    """All published data sets, a few images each, converted from files in the official formats."""
    from official_files import WRITERS, write_own
    from prunefield.tasks import Task

    for kind, write in WRITERS.items():
        Task.parse(kind).get(write(tmp_path_factory.mktemp(kind)), lambda have, size: None)
    write_own(data_folder)
    return data_folder


@pytest.fixture
def store(tmp_path):
    from prunefield.lab.store import Store

    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """A store with all items at smoke scale. Processes of pytest-xdist share it: the store keeps them apart."""
    from prunefield.engines.local import Local
    from prunefield.lab.execution import carry_out
    from prunefield.lab.store import Store
    from prunefield.report.ledger import items

    base = tmp_path_factory.getbasetemp()
    shared = Store((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smoke")
    runs = [run for item in items() for run in item.runs("smoke")]
    # Each process begins with a part of its own: all in one order would wait for each other's runs.
    first = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    part = runs[first :: int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]
    failures = carry_out(shared, part, Local(jobs=1)) | carry_out(shared, runs, Local(jobs=1))
    assert failures == {}
    return shared
