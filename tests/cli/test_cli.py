"""The command line as a user meets it: one clear line for every mistake, JSON alone on stdout, honest exit statuses."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy import Toy

from prunefield.cli import main
from prunefield.core.errors import RunError
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store

pytestmark = pytest.mark.usefixtures("workers")

STUDY = 'kind = "toy"\nseed = 1\n'
PATIENCE = 600  # seconds; a busy machine is not a failure
SWEEP = 'kind = "toy"\n' + "[sweep]\nseed = [1, 2]\nscale = [1.0, 3.0]\n"


@pytest.fixture
def study(tmp_path):
    def write(text: str = STUDY):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def out(tmp_path):
    return ["--store", str(tmp_path / "store")]


def fails(capsys, arguments: list[str], status: int = 2) -> str:
    """The one line that a wrong command prints."""
    assert main(arguments) == status
    answer = capsys.readouterr()
    assert answer.out == ""
    lines = [line for line in answer.err.splitlines() if line.startswith("prunefield: ")]
    assert len(lines) == 1
    assert "Traceback" not in answer.err
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reprodce"], "did you mean 'reproduce'?"),
        (["reproduce", "lufkn2024"], "did you mean 'lufkin2024'?"),
        (["reproduce", "lufkin2024/fg3"], "did you mean 'lufkin2024/fig3'?"),
        (["reproduce", "--scale", "smok"], "did you mean 'smoke'?"),
        (["reproduce", "--engine", "lokal"], "did you mean 'local'?"),
        (["reproduce", "--engine", "local,jbs=2"], "did you mean 'jobs'?"),
        (["reproduce", "--jobs", "0"], "greater than or equal to 1"),
        (["reproduce", "--jobs", "two"], "invalid int value: 'two'"),
        (["reproduce", "--strct"], "did you mean '--strict'?"),
        (["reproduce", "--device", "gpu"], "no device 'gpu' here"),
        (["list", "task"], "did you mean 'tasks'?"),
        (["data", "lst"], "did you mean 'list'?"),
        (["cite", "redman"], "did you mean 'redman2025'?"),
        (["runs", "lst"], "did you mean 'list'?"),
        (["runs", "list"], "no store in"),
        (["claims"], "no store in"),
        (["report"], "no store in"),
        (["run"], "the following arguments are required"),
        (["run", "absent.toml"], "cannot read absent.toml: no such file"),
    ],
)
def test_a_mistake_gets_one_line(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = ", "is not TOML"),
        ('kind = "toi"', "did you mean 'toy'?"),
        ('kind = "toy"\nsed = 1', "did you mean 'seed'?"),
        ('kind = "toy"\nsteps = "x"', "steps: input should be a valid integer"),
        ('kind = "toy"\nof = { kind = "toy", steps = 0 }', "steps: input should be greater than or equal to 1 (got 0)"),
        ('kind = "imp"\nfraction = 1.5', "fraction"),
        ('kind = "imp"\ntask = "leafs"', "did you mean 'leaves'?"),
        (STUDY + "[sweep]\nseed = 3", "takes non-empty lists"),
        (SWEEP, "use: prunefield sweep"),
    ],
)
def test_a_bad_study_gets_one_line(capsys, study, out, text, message):
    assert message in fails(capsys, ["run", study(text), *out])


def test_a_sweep_needs_a_grid(capsys, study, out):
    assert "use: prunefield run" in fails(capsys, ["sweep", study(), *out])


def test_the_verb_that_is_named_instead_takes_the_same_changes(capsys, study, out):
    """Without them it would name the first one again."""
    command = fails(capsys, ["sweep", study(SWEEP), "--set", "seed=3", "--set", "scale=1.0", *out]).partition(
        "use: prunefield "
    )[2]
    assert "--set seed=3" in command
    assert main([*command.split(), *out]) == 0


def test_a_folder_that_is_a_file_gets_one_line(capsys, study, tmp_path):
    (tmp_path / "file").write_text("")
    assert "not a directory" in fails(capsys, ["run", study(), "--store", str(tmp_path / "file" / "x")])


def test_a_newer_store_gets_one_line(capsys, study, tmp_path):
    (tmp_path / "store.json").write_text('{"format": 7}')
    assert "upgrade it" in fails(capsys, ["run", study(), "--store", str(tmp_path)])


def test_a_study_runs_and_its_settings_can_be_changed(capsys, study, out):
    assert main(["run", study(), "--set", "steps=20", "--set", "of=toy", "--set", "of.seed=5", "--json", *out]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["settings"]["of"]["seed"] == 5
    assert [record["step"] for record in run["records"]] == [9, 19]


def test_a_sweep_runs_every_combination(capsys, study, out):
    assert main(["sweep", study(SWEEP), "--json", *out]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["settings"]["seed"], run["settings"]["scale"]) for run in runs] == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert len({run["digest"] for run in runs}) == 4


def test_a_sweep_prints_one_row_per_run_with_what_was_swept(capsys, study, out):
    assert main(["sweep", study(SWEEP), *out]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["run", "seed", "scale", "step", "mean"]
    assert [line.split()[1:4] for line in lines[2:6]] == [
        ["1", "1", "49"],
        ["1", "3", "49"],
        ["2", "1", "49"],
        ["2", "3", "49"],
    ]
    assert all(Path(line).is_file() for line in lines[7:])
    assert [Path(line).suffix for line in lines[7:]] == [".csv", ".svg"]


def test_a_dry_run_executes_nothing(capsys, study, tmp_path):
    assert main(["sweep", study(SWEEP), "--dry-run", "--json", "--store", str(tmp_path / "absent")]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in plan["runs"]] == ["to do"] * 4
    assert plan["core_hours"] == pytest.approx(sum(row["seconds"] for row in plan["runs"]) / 3600)
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_every_scale_can_be_planned(capsys, tmp_path, scale):
    assert main(["reproduce", "--scale", scale, "--dry-run", "--store", str(tmp_path / "absent")]) == 0
    assert "core-hours" in capsys.readouterr().out


def test_a_failed_run_exits_with_1(capsys, study, out):
    assert main(["run", study(), "--set", "fail_at=3", *out]) == 1
    assert "the walk broke at step 3" in capsys.readouterr().err


def test_a_run_is_shown_for_people(capsys, tmp_path, monkeypatch):
    store, out = Store(tmp_path), ["--store", str(tmp_path)]
    obtain(store, Toy())
    with pytest.raises(RunError):
        obtain(store, Toy(fail_at=3))
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["runs", "show", Toy().folder, *out]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{Toy().folder}: done, ")
    assert {"settings", "made", "last record (all of them: --json)"} <= set(lines)
    assert any(line.split() == ["seed", str(Toy().seed)] for line in lines)
    assert max(map(len, lines)) <= 80  # a digest is not broken
    assert main(["runs", "show", Toy(fail_at=3).folder, *out]) == 0
    text = capsys.readouterr().out
    assert "failed, 0 records" in text
    assert text.splitlines()[-1].strip().endswith("the walk broke at step 3")
    assert "\n    File " in text  # the traceback, line by line


def test_runs_are_listed_shown_verified_and_removed(capsys, tmp_path):
    store, out = Store(tmp_path), ["--store", str(tmp_path)]
    for seed in (1, 2):
        obtain(store, Toy(seed=seed))
    assert main(["runs", "list", "--json", *out]) == 0
    assert {row["status"] for row in json.loads(capsys.readouterr().out)["runs"]} == {"done"}
    name = Toy(seed=1).folder
    assert main(["runs", "show", name, "--json", *out]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["settings"]["seed"] == 1
    assert main(["runs", "verify", *out]) == 0
    capsys.readouterr()
    (tmp_path / "runs" / name / "records.json").write_text("[]")
    assert main(["runs", "verify", *out]) == 1
    answer = capsys.readouterr().out
    assert f"{name}: records.json was truncated or edited" in answer
    assert f"prunefield runs remove {name}" in answer
    assert "needs names" in fails(capsys, ["runs", "remove", *out])
    assert main(["runs", "remove", "--damaged", *out]) == 0
    assert [folder.name for folder in store] == [Toy(seed=2).folder]


def test_cite_prints_bibtex(capsys):
    assert main(["cite"]) == 0
    text = capsys.readouterr().out
    assert text.count("@") >= 4
    assert text.count("{") == text.count("}")
    assert "@software{prunefield" in text


def test_data_are_listed(capsys):
    assert main(["data", "list", "--json"]) == 0
    rows = {row["data"]: row for row in json.loads(capsys.readouterr().out)["data"]}
    assert rows["leaves"]["shape"] == [3, 32, 32]


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("prunefield 0.")


@pytest.mark.long
def test_ctrl_c_leaves_a_store_that_resumes(tmp_path):
    """SIGINT to the whole group, as a terminal sends it."""
    (tmp_path / "study.toml").write_text('kind = "toy"\nsteps = 400\npause = 0.01\n')
    command = [sys.executable, "-m", "prunefield", "run", "study.toml", "--store", "store"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    run = Toy(steps=400, pause=0.01)
    point = tmp_path / "store" / "runs" / run.folder / "checkpoint.safetensors"
    while not point.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "run the same command to continue from here" in errors
    assert "Traceback" not in errors
    store = Store(tmp_path / "store")
    assert store.folder(run).saved()[0]["step"] > 0
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=PATIENCE).returncode == 0
    assert store.folder(run).read().digest == obtain(Store(tmp_path / "whole"), run).digest


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("delay", [0.1, 0.6, 1.4, 2.4, 4.0])
def test_ctrl_c_at_any_time_is_told_in_one_line(tmp_path, delay):
    """While libraries are loaded, while processes start, while they work."""
    (tmp_path / "study.toml").write_text('kind = "toy"\nsteps = 3000\npause = 0.01\n[sweep]\nseed = [1, 2]\n')
    code = "import sys; from prunefield.cli import main; print('started', flush=True); sys.exit(main())"
    command = [sys.executable, "-c", code, "sweep", "study.toml", "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"  # Python itself answers before that
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in out + errors
    assert errors.splitlines()[-1] == "prunefield: interrupted; run the same command to continue from here"
    deadline = time.monotonic() + PATIENCE
    while living(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def living(group: int) -> list[str]:
    """The processes of a group that are not dead, though perhaps not yet buried."""
    stats = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stats.append(path.read_text().rpartition(")")[2].split())
        except OSError:
            continue
    return [state for state, _, pgrp, *_ in stats if int(pgrp) == group and state != "Z"]
