"""Slurm: a real cluster of one node. What dies continues from its last safe point, with the same bits."""

import getpass
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from slurm_cluster import SlurmCluster
from slurm_faults import FAULTS
from toy import Toy

from prunefield.engines import Engine
from prunefield.engines.local import Local
from prunefield.engines.slurm import Slurm
from prunefield.lab.execution import carry_out, obtain
from prunefield.lab.store import Store

pytestmark = pytest.mark.engines
LONG = 600.0  # seconds; a busy machine is not a failure
COMMAND = (sys.executable, "-m", "prunefield")


class Sweep:
    """`carry_out` in a thread, so that something can happen meanwhile."""

    def __init__(self, store: Store, runs: list[Toy], engine: Engine) -> None:
        self.said: list[str] = []
        self.failures: dict | None = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._carry_out, args=(store, runs, engine), daemon=True)
        self.thread.start()

    def _carry_out(self, store: Store, runs: list[Toy], engine: Engine) -> None:
        try:
            self.failures = carry_out(store, runs, engine, report=self.said.append)
        except BaseException as error:
            self.error = error

    def wait(self) -> dict:
        self.thread.join(LONG)
        assert self.error is None, self.error
        assert self.failures is not None, f"it did not end: {self.said}"
        return self.failures


def quick(**settings) -> Slurm:
    return Slurm(poll=0.5, **settings)


def read_digests(store: Store, runs: list[Toy]) -> list[str]:
    return [store.folder(run).read().digest for run in runs]


def is_at_the_gate(store: Store, run: Toy) -> bool:
    with suppress(OSError):
        return store.folder(run).saved()[0].get("step") == run.steps // 2
    return False


@pytest.fixture(autouse=True)
def no_jobs(request):
    """A test leaves no jobs to the next one."""
    yield
    if "slurm" in request.fixturenames:
        cluster = request.getfixturevalue("slurm")
        cluster.ask("scancel", f"--user={getpass.getuser()}")
        cluster.wait_for(lambda: not cluster.jobs(), "the end of all jobs")


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


@pytest.fixture
def gated(gate, tmp_path):
    """A run that waits in its middle until the gate is there, and the digest that it must have."""
    run = Toy(gate=str(gate))
    gate.touch()
    expected = obtain(tmp_path / "local", run).digest
    gate.unlink()
    gate.with_name("gate.log").unlink()
    return run, [expected]


def read_starts(gate: Path) -> list[int]:
    """The step at which each attempt began."""
    with suppress(OSError):
        return [int(line.split()[1]) for line in gate.with_name("gate.log").read_text().splitlines()]
    return []


def test_the_same_bits_and_failures_with_a_name_in_a_folder_with_an_odd_name(slurm, tmp_path):
    runs = [Toy(seed=seed, of=Toy(seed=9)) for seed in range(4)]
    broken, dead = Toy(fail_at=7), Toy(die_at=8)
    here, there = Store(tmp_path / "local"), Store(tmp_path / "a 'name' with %a, $HOME")
    assert carry_out(here, runs, Local(jobs=1)) == {}
    said: list[str] = []
    failures = carry_out(there, [*runs, broken, dead], quick(cpus=2, retry=1), report=said.append)
    assert failures == {broken: "the walk broke at step 7", dead: "its process died (exit status 9)"}
    assert said == [f"{dead.folder}: its process died (exit status 9); retry 1 of 1"]
    assert read_digests(there, runs) == read_digests(here, runs)
    log = (there.root / "engines" / "slurm" / "logs" / f"{broken.folder}.log").read_text()
    assert log.startswith("--- ")
    assert "the walk broke at step 7" in log


def test_the_same_command_with_another_engine_has_the_same_bits(slurm, tmp_path):
    pytest.importorskip("ray", reason="NO RAY TESTS: ray is not installed")
    study, found = tmp_path / "study.toml", {}
    study.write_text('kind = "toy"\n[sweep]\nseed = [0, 1, 2]\nof = ["toy", "toy,seed=9"]\n')
    # its first layer becomes compact
    compact = tmp_path / "compact.toml"
    compact.write_text(
        'kind = "imp"\nhidden = [96]\nsteps = 12\nrewind = 3\nrounds = 2\nheld_out = 40\n[sweep]\nseed = [0, 1]\n'
    )
    for engine in ("local", "ray", "slurm,poll=0.5"):
        options = ["--jobs", "2", "--store", str(tmp_path / engine.partition(",")[0]), "--engine", engine, "--json"]
        found[engine] = {}
        for file in (study, compact):
            command = [*COMMAND, "sweep", str(file), *options]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=True)
            found[engine] |= {run["run"]: run["digest"] for run in json.loads(answer.stdout)["runs"]}
    first, *others = found.values()
    assert len(first) == 8
    assert others == [first, first]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_happens_to_a_job_changes_no_bits(slurm: SlurmCluster, gate, gated, store, fault):
    run, expected = gated
    sweep = Sweep(store, [run], quick())
    slurm.wait_for(lambda: is_at_the_gate(store, run), "the middle of the run", LONG)
    FAULTS[fault](slurm)
    if fault == "scancel":
        (reason,) = sweep.wait().values()
        assert "was cancelled" in reason
        sweep = Sweep(store, [run], quick())
    starts = [0] if "daemon" in fault or "controller" in fault else [0, run.steps // 2]
    slurm.wait_for(lambda: read_starts(gate) == starts, "the second start", LONG)
    gate.touch()
    assert sweep.wait() == {}
    assert read_digests(store, [run]) == expected
    assert read_starts(gate) == starts


def test_a_run_that_reaches_the_time_limit_continues_from_its_safe_point(slurm, gate, gated, store):
    """Slurm's own signal, up to a minute before the limit, which is set late: there must be a safe point by then."""
    run, expected = gated
    began = time.monotonic()
    sweep = Sweep(store, [run], quick(margin=1))
    slurm.wait_for(lambda: is_at_the_gate(store, run), "the middle of the run", LONG)
    (job,) = slurm.jobs()
    minutes = int(time.monotonic() - began) // 60
    slurm.ask("scontrol", "update", f"jobid={job}", f"timelimit={minutes + 2}").check_returncode()
    slurm.wait_for(lambda: read_starts(gate) == [0, run.steps // 2], "the second start", LONG)
    gate.touch()
    assert sweep.wait() == {}
    assert read_digests(store, [run]) == expected


def test_a_run_without_a_safe_point_before_the_time_limit_is_told(slurm, store):
    run = Toy(steps=2, pause=LONG)
    sweep = Sweep(store, [run], quick())
    slurm.wait_for(lambda: store.folder(run).status == "running", "the run", LONG)
    FAULTS["the time limit is near"](slurm)
    (reason,) = sweep.wait().values()
    assert "without a new safe point; give it more time, as in --engine slurm,time=" in reason


def write_study(folder: Path, gate: Path) -> Path:
    study = folder / "study.toml"
    study.write_text(f'kind = "toy"\ngate = {json.dumps(str(gate))}\n[sweep]\nseed = [0, 1]\n')
    return study


def start_command(study: Path, store: Path) -> subprocess.Popen:
    command = [*COMMAND, "sweep", str(study), "--store", str(store), "--engine", "slurm,poll=0.5", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_command_that_is_killed_and_two_at_once_find_the_jobs_of_the_first(slurm, gate, questions, tmp_path):
    study, store = write_study(tmp_path, gate), Store(tmp_path / "store")
    before = len(slurm.jobs(ended=True))
    first = start_command(study, store.root)
    slurm.wait_for(lambda: any(has_a_safe_point(folder) for folder in store), "a safe point", LONG)
    first.kill()
    first.communicate()
    commands = [start_command(study, store.root) for _ in range(3)]
    interrupted = commands.pop()
    slurm.wait_for(lambda: questions.read_text().split().count(str(interrupted.pid)) > 1, "its questions", LONG)
    interrupted.send_signal(signal.SIGINT)
    _, complaint = interrupted.communicate(timeout=LONG)
    assert complaint.splitlines()[-1].startswith("prunefield: interrupted; the jobs continue in Slurm; run the same")
    gate.touch()
    answers = [command.communicate(timeout=LONG) for command in commands]
    assert [command.returncode for command in commands] == [0, 0], answers
    first_answer, second = (json.loads(out) for out, _ in answers)
    assert len(first_answer["runs"]) == 2
    assert first_answer == second
    assert len(slurm.jobs(ended=True)) == before + 1  # one job with two small runs


def has_a_safe_point(folder) -> bool:
    with suppress(OSError):
        return bool(folder.saved()[0])
    return False


@pytest.fixture
def questions(tmp_path, monkeypatch):
    """A file with the process that asks each time that `squeue` is called."""
    log, program = tmp_path / "questions", tmp_path / "programs" / "squeue"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho $PPID >> {log}\nexec {shutil.which("squeue")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    log.touch()
    return log


def test_cancel_ends_the_jobs_of_one_store(slurm: SlurmCluster, gate, tmp_path):
    study, root = write_study(tmp_path, gate), tmp_path / "store"
    command = start_command(study, root)
    slurm.wait_for(lambda: root.exists() and any(map(has_a_safe_point, Store(root))), "a safe point", LONG)
    other = slurm.ask("sbatch", "--parsable", "--output=/dev/null", "--wrap", "sleep 600").stdout.strip()
    said = subprocess.run([*COMMAND, "cancel", "--store", str(root)], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("cancelled: Slurm job ")
    _, complaint = command.communicate(timeout=LONG)
    assert command.returncode == 1
    assert "was cancelled; the same command submits it again" in complaint
    assert set(slurm.jobs()) == {other}
    slurm.ask("scancel", other)
    said = subprocess.run([*COMMAND, "cancel", "--store", str(root)], capture_output=True, text=True, check=True)
    assert said.stdout == f"no jobs of {root} in any queue\n"


def test_a_store_that_the_nodes_do_not_share(slurm: SlurmCluster, tmp_path):
    slurm.kill("slurmd")
    slurm.start_node(hidden=tmp_path)
    try:
        (reason,) = carry_out(Store(tmp_path / "store"), [Toy()], quick()).values()
    finally:
        slurm.restart_node()
    assert "the store must be in a folder that all nodes share, and localhost does not have it" in reason


def test_a_python_that_the_nodes_do_not_have(slurm, store, monkeypatch):
    monkeypatch.setattr("prunefield.engines.slurm.sys.executable", "/nowhere/python")
    (reason,) = carry_out(store, [Toy()], quick()).values()
    assert re.match(
        r"its job \d+_0 failed before the run began: its job died \(exit status 127\) on localhost: ", reason
    )
    assert "/nowhere/python" in reason


def test_gpus_are_shared_by_several_runs_of_one_job(slurm: SlurmCluster, store):
    """Two GPUs that do not exist: Slurm counts them, and runs on the CPU do not look at them."""
    engine = quick(per_gpu=2, gres="gpu:2")
    assert engine._count_processes("cuda") == 4
    assert engine._count_processes("cpu") == 1
    assert Slurm()._choose_gres("cuda") == "gpu:1"
    assert Slurm()._choose_gres("cpu") is None
    assert carry_out(store, [Toy(seed=seed) for seed in range(2)], engine) == {}
    said = slurm.ask("scontrol", "show", "job", max(slurm.jobs(ended=True), key=lambda job: int(job.split("_")[0])))
    assert "gres:gpu:2" in said.stdout.replace("gres/gpu", "gres:gpu").replace("=", ":"), said.stdout


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"partition": "gpuu"}, r"Slurm has no partition 'gpuu' \(partitions: closed, high, low\)"),
        ({"partition": "closed", "account": "maths"}, r"Slurm refuses the account 'maths' in partition 'closed' \("),
        ({"partition": "closed"}, r"Slurm refuses a job without an account in partition 'closed' \("),
        ({"time": "soon"}, "Slurm refuses the job: Invalid --time specification"),
        ({"memory": "900T"}, "Slurm refuses the job: "),
        ({"cpus": 1000}, "Slurm refuses the job: "),
        ({"gres": "gpu:9"}, "Slurm refuses the job: "),
        ({"options": "--nonsense"}, "Slurm refuses the job: "),
        ({"options": "'"}, "cannot be split into words"),
    ],
)
def test_what_slurm_refuses_is_one_line(slurm, store, settings, complaint):
    from prunefield.core.errors import Error

    with pytest.raises(Error, match=complaint) as caught:
        carry_out(store, [Toy()], quick(**settings))
    assert len(str(caught.value).splitlines()) == 1
    assert [path.name for path in (store.root / "engines" / "slurm").iterdir() if path.is_dir()] == ["logs"]


def test_a_job_that_waits_for_an_odd_reason_is_reported_once(slurm: SlurmCluster, store):
    sweep = Sweep(store, [Toy()], quick(options="--hold"))
    slurm.wait_for(lambda: sweep.said, "the reason", LONG)
    (job,) = slurm.jobs()
    assert sweep.said == [f"job {job} waits in Slurm's queue: JobHeldUser"]
    slurm.ask("scontrol", "release", job)
    assert sweep.wait() == {}
    assert len(sweep.said) == 1


def test_munge_down_and_controller_down_are_one_line(slurm: SlurmCluster, store):
    from prunefield.core.errors import RunError

    slurm.kill("munged")
    try:
        with pytest.raises(RunError, match="cannot authenticate with Slurm: munge does not answer"):
            carry_out(store, [Toy()], quick())
    finally:
        slurm.start_munge()
    slurm.kill("slurmctld", signal.SIGTERM)  # then it saves its state, so that no job id is given twice
    try:
        with pytest.raises(RunError, match="the controller of Slurm does not answer"):
            carry_out(store, [Toy()], quick())
    finally:
        slurm.start_controller()


def test_no_sbatch_on_the_path(store, monkeypatch):
    from prunefield.core.errors import RunError

    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(RunError, match="is not on this machine's PATH; run the command on a login node"):
        carry_out(store, [Toy()], quick())
