"""What the tests share: the package `toy` of another author, and a store of the papers' runs at smoke scale."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples every time. To look for new ones: pytest --hypothesis-profile=search
settings.register_profile("same", deadline=None, derandomize=True)  # no deadline: a loaded machine is not a failure
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("same")

EXTENSION = str(Path(__file__).parent / "extension")
sys.path[:0] = [EXTENSION, str(Path(__file__).parent / "engines")]
os.environ.pop("COLUMNS", None)  # the library readline sets it for the workers of pytest-xdist
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


@pytest.fixture(scope="session")
def slurm():
    """A real Slurm (`make test-engines` installs it); where it cannot be started, tests are skipped and say why."""
    from slurm_cluster import Unavailable, start_slurm

    running = start_slurm()
    try:
        cluster = running.__enter__()
    except Unavailable as error:
        pytest.skip(f"NO SLURM TESTS: {error}")
    try:
        yield cluster
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(scope="module")
def workers():
    """The processes of the engine `local` serve all tests of a file, as starting one takes seconds."""
    from prunefield.engines.local import keep_workers

    with keep_workers():
        yield


@pytest.fixture
def store(tmp_path):
    from prunefield.lab.store import Store

    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """A store that executes a run when it is first asked for: a test waits for the runs of its own item alone.

    Processes of pytest-xdist share it; a run that another process is executing is waited for.
    """
    from prunefield.lab.execution import obtain
    from prunefield.lab.store import Store

    base = tmp_path_factory.getbasetemp()
    shared = Store((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smoke")

    class OnDemand(Store):
        def folder(self, run):
            if not shared.folder(run).is_done:
                obtain(shared, run)
            return shared.folder(run)

    return OnDemand(shared.root)
