"""Ray: what dies begins again from its last safe point, and a cluster says why it refuses."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from slurm_cluster import find_free_ports
from toy import Toy

from prunefield.engines import Outcome, Retry
from prunefield.engines.local import Local
from prunefield.lab.execution import carry_out
from prunefield.lab.store import Store

pytest.importorskip("ray", reason="NO RAY TESTS: ray is not installed; try: pip install 'prunefield[ray]'")
pytestmark = pytest.mark.engines
PATIENCE = 600  # seconds; a busy machine is not a failure
# Each gets a port: for one that it chooses itself Ray waits 15 s, which is too short on a busy machine.
AGENTS = ("dashboard-agent-grpc", "dashboard-agent-listen", "runtime-env-agent")
NETWORK = f"127.{1 + os.getpid() // 250 % 250}.{1 + os.getpid() % 250}"  # other processes of pytest have their own
SWEEP = """
import sys
from prunefield.engines.ray import Ray
from prunefield.lab.execution import carry_out
from prunefield.lab.store import Store
from toy import Toy

address, root, gate = sys.argv[1:]
runs = [Toy(seed=seed, gate=gate) for seed in range(3)]
failures = carry_out(Store(root), runs, Ray(address=address), report=lambda line: print(line, flush=True))
sys.exit("; ".join(failures.values()) or 0)
"""


class Node:
    """One node of a Ray cluster on this machine, with an address of its own in NETWORK."""

    def __init__(self, environment: dict[str, str], *options: str, number: int = 2) -> None:
        ray = Path(sys.executable).with_name("ray")
        ports = [f"--{name}-port={port}" for name, port in zip(AGENTS, find_free_ports(len(AGENTS)), strict=True)]
        command = [
            str(ray), "start", *options, f"--node-ip-address={NETWORK}.{number}", "--num-cpus=1",
            "--object-store-memory=80000000", "--disable-usage-stats", *ports,
        ]  # fmt: skip
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.group = process.pid
        try:
            self.said = process.communicate(timeout=PATIENCE)[0]
            assert process.returncode == 0, self.said
        except BaseException:
            self.kill()
            raise

    def find_address(self) -> str:
        """What a head says others should join."""
        (address,) = set(re.findall(rf"--address='({re.escape(NETWORK)}\.2:\d+)'", self.said))
        return address

    def kill(self) -> None:
        """As when the power fails."""
        with suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)


def make_environment() -> dict[str, str]:
    return {
        **os.environ,
        "RAY_raylet_start_wait_time_s": str(PATIENCE),
        "RAY_health_check_timeout_ms": "60000",  # a node that is slow is not dead; one that is dead refuses at once
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }


@pytest.fixture(scope="module")
def environment():
    """Ray asks for a token: one that is made for these tests."""
    return make_environment()


@pytest.fixture(scope="module")
def head(environment):
    """The first node of a cluster and the address that it says others should join."""
    folder = tempfile.mkdtemp(prefix="ray-")  # short, as it holds sockets
    node = None
    try:
        node = Node(environment, "--head", "--port=0", "--include-dashboard=false", f"--temp-dir={folder}")
        yield node.find_address()
    finally:
        if node is not None:
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_node_that_dies_in_the_middle_of_a_sweep_changes_no_bits(environment, head, tmp_path):
    gate, said, store = tmp_path / "gate", tmp_path / "said", Store(tmp_path / "ray")
    second = Node(environment, f"--address={head}", number=3)
    command = [sys.executable, "-c", SWEEP, head, str(store.root), str(gate)]
    with said.open("w") as out:
        sweep = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: sum(has_reached_the_gate(folder) for folder in store) == 2, sweep)  # one on each node
        second.kill()
        wait_until(lambda: "died" in said.read_text(), sweep)
        gate.touch()
        _, complaints = sweep.communicate(timeout=PATIENCE)
    finally:
        second.kill()
        sweep.kill()
    assert sweep.returncode == 0, complaints
    assert re.fullmatch(r"toy-\w+: its (process|machine) died; retry 1 of 3\n", said.read_text())
    starts = [line.split() for line in gate.with_name("gate.log").read_text().splitlines()]
    assert sorted(step for _, step in starts) == ["0", "0", "0", "25"]  # the fourth, from its safe point

    other, runs = Store(tmp_path / "local"), [Toy(seed=seed, gate=str(gate)) for seed in range(3)]
    assert carry_out(other, runs, Local(jobs=1)) == {}
    assert [store.folder(run).read().digest for run in runs] == [other.folder(run).read().digest for run in runs]


def has_reached_the_gate(folder) -> bool:
    with suppress(OSError):
        return folder.saved()[0].get("step") == 25
    return False


def test_a_wrong_token_is_an_authentication_error(environment, head, tmp_path):
    command = [sys.executable, "-c", SWEEP, head, str(tmp_path), ""]
    wrong = {**environment, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    answer = subprocess.run(command, env=wrong, capture_output=True, text=True, timeout=PATIENCE, check=False)
    *_, line = answer.stderr.splitlines()
    assert line.startswith(f"prunefield.core.errors.RunError: the Ray cluster at {head!r} refuses the connection")
    assert "RAY_AUTH_TOKEN" in line


def test_what_dies_is_retried_and_what_fails_is_not(tmp_path):
    from prunefield.engines.ray import Ray

    def die(times: int) -> int:
        """Ends its process the first `times` times that it is called."""
        if times < 0:
            raise ValueError("less than nothing")
        calls = [tmp_path / f"{times}-{call}" for call in range(9)]
        next(call for call in calls if not call.exists()).touch()
        if sum(call.exists() for call in calls) <= times:
            os._exit(9)
        return times

    events = [event for event in Ray(jobs=1, retry=1).map(die, [-1, 1, 2]) if event is not None]
    outcomes = sorted((event for event in events if isinstance(event, Outcome)), key=lambda outcome: outcome.index)
    assert [outcome.value for outcome in outcomes] == [None, 1, None]
    assert outcomes[0].error == "ValueError: less than nothing"
    assert (outcomes[2].error or "").startswith("its process died (retry: 1): ")
    retries = [event for event in events if isinstance(event, Retry)]
    assert retries == [Retry(index, "its process died; retry 1 of 1") for index in (1, 2)]
    assert Ray().retry == 3


GPUS = """
import os, sys, time
from pathlib import Path
from prunefield.engines import Hints
from prunefield.engines.ray import Ray

def look(folder):
    Path(folder, str(os.getpid())).touch()
    deadline = time.monotonic() + 500
    while len(os.listdir(folder)) < 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    return os.environ["CUDA_VISIBLE_DEVICES"], len(os.listdir(folder))

address, folder = sys.argv[1:]
engine = Ray(address=address, num_gpus=0.5, resources={"fast": 1})
outcomes = [event for event in engine.map(look, [folder] * 4, Hints(device="cuda")) if event is not None]
print(sorted(outcome.value for outcome in outcomes))
"""


def test_runs_share_gpus_and_take_resources_of_the_cluster(tmp_path):
    """Two GPUs that do not exist: Ray counts them, and each run is told which is its own."""
    import ray

    start = {"num_cpus": 4, "num_gpus": 2, "resources": {"fast": 4}}
    cluster = ray.init(**start, include_dashboard=False, logging_level="error", log_to_driver=False)
    try:
        command = [sys.executable, "-c", GPUS, cluster.address_info["gcs_address"], str(tmp_path)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    finally:
        ray.shutdown()
    assert answer.stdout.strip() == "[('0', 4), ('0', 4), ('1', 4), ('1', 4)]", answer.stderr


JOBS = """
import os, sys, time
from pathlib import Path
from prunefield.engines.ray import Ray

def count(folder):
    own = Path(folder, str(os.getpid()))
    own.touch()
    time.sleep(0.3)
    found = len(os.listdir(folder))
    own.unlink()
    return found

address, folder = sys.argv[1:]
engine = Ray(address=address, jobs=2)
print(max(event.value for event in engine.map(count, [folder] * 8) if event is not None))
"""


def test_jobs_limits_the_runs_on_an_existing_cluster(tmp_path):
    """Four cores, of which two are for others."""
    import ray

    cluster = ray.init(num_cpus=4, include_dashboard=False, logging_level="error", log_to_driver=False)
    try:
        command = [sys.executable, "-c", JOBS, cluster.address_info["gcs_address"], str(tmp_path)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    finally:
        ray.shutdown()
    assert answer.stdout.strip() in ("1", "2"), answer.stderr


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:abc", "http://x"])
def test_an_odd_address_is_one_line(address):
    from prunefield.core.errors import RunError
    from prunefield.engines.ray import Ray

    with pytest.raises(RunError, match="no Ray cluster") as caught:
        list(Ray(address=address).map(str, [0]))
    assert len(str(caught.value).splitlines()) == 1


def test_without_an_address_a_cluster_is_started_whatever_else_there_is(monkeypatch):
    from prunefield.engines.ray import Ray

    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert [event.value for event in Ray(jobs=1).map(len, ["abc"]) if isinstance(event, Outcome)] == [3]


def test_small_runs_that_die_together_are_told_apart():
    """Ten in one task, the fifth of which ends its process every time."""
    from prunefield.engines import Hints
    from prunefield.engines.ray import Ray

    def die(item: int) -> int:
        if item == 4:
            os._exit(9)
        return item

    events = list(Ray(jobs=1, retry=0).map(die, list(range(10)), Hints(seconds=[0.001] * 10)))
    outcomes = {event.index: event for event in events if isinstance(event, Outcome)}
    assert [outcomes[index].value for index in range(10)] == [0, 1, 2, 3, None, 5, 6, 7, 8, 9]
    assert (outcomes[4].error or "").startswith("its process died (retry: 0)")
