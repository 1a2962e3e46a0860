"""A store that may only be read, or that belongs to somebody else, can be listed, read, verified and reported."""

import ctypes
import fcntl
import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack

import pytest
from toy import Toy

from prunefield.core.errors import RunError
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store
from prunefield.report.ledger import find_items

pytestmark = pytest.mark.usefixtures("workers")

ITEM = "bar2023/lemma4.1"
STORED, UNFINISHED, RUNNING = Toy(steps=20), Toy(seed=1), Toy(seed=2)
COMMANDS = {
    "runs list": 0,
    "runs list --json": 0,
    "runs list --unfinished": 0,
    "runs list --damaged": 0,
    f"runs show {STORED.folder}": 0,
    f"runs show {UNFINISHED.folder}": 0,
    "runs table --csv -": 0,
    "runs verify": 0,
    "runs verify --json": 0,
    f"runs remove {STORED.folder}": 2,
    f"claims {ITEM} --json": 0,
    f"report {ITEM}": 2,
    f"report {ITEM} --out page.html": 0,
    f"reproduce {ITEM} --dry-run": 0,
    "run stored.toml": 0,
    "obtain": 2,
}
DRAWS = [command for command in COMMANDS if command.startswith("report")]  # takes seconds: on one of the stores only
CHILD = """
import contextlib, io, json, sys, traceback
from prunefield.cli import main
from prunefield.core.errors import UsageError
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store
from toy import Toy
answers = {}
for root, commands in json.loads(sys.argv[1]).items():
    for command in commands:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                if command == "obtain":
                    obtain(Store(root), Toy(seed=1))
                status = main([*command.split(), "--store", root])
            except UsageError as error:
                status = error.status
                print(f"prunefield: {error}", file=sys.stderr)
            except BaseException:
                status = traceback.format_exc()
        answers.setdefault(root.rpartition("/")[2], {})[command] = status, out.getvalue(), err.getvalue()
print(json.dumps(answers))
"""


def obey_permissions():
    """Root may write everywhere, unless it gives up the right to override permissions (CAP_DAC_OVERRIDE and _READ)."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
                raise OSError("cannot drop a capability")


def look(root):
    return {path: path.stat().st_mtime_ns for path in root.rglob("*")}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Where the user sits."""
    path = tmp_path_factory.mktemp("desk")
    (path / "stored.toml").write_text('kind = "toy"\nsteps = 20\n')
    return path


@pytest.fixture(scope="module")
def answers(tmp_path_factory, desk):
    """What every command says of a store that is read-only, and of one that belongs to another user."""
    store = Store(tmp_path_factory.mktemp("stores") / "read-only")
    for run in (STORED, *find_items([ITEM])[0].runs("smoke")):
        obtain(store, run)
    for run in (UNFINISHED, RUNNING):
        store.folder(run).begin(run)
        with store.folder(run).hold():
            pass
    roots = [store.root]
    if os.geteuid() == 0:
        roots.append(shutil.copytree(store.root, store.root.with_name("foreign")))
    for path in (store.root, *store.root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in (path for root in roots[1:] for path in (root, *root.rglob("*"))):
        os.chown(path, 65534, 65534)
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = [look(root) for root in roots]
    with ExitStack() as stack:
        for root in roots:
            lock = stack.enter_context((root / "locks" / RUNNING.folder).open())
            fcntl.flock(lock, fcntl.LOCK_EX)
        asked = {str(root): [name for name in COMMANDS if root is store.root or name not in DRAWS] for root in roots}
        command = [sys.executable, "-c", CHILD, json.dumps(asked)]
        answer = subprocess.run(
            command, cwd=desk, capture_output=True, text=True, check=False, preexec_fn=obey_permissions
        )
    store.root.chmod(0o755)
    for path in store.root.rglob("*/"):  # so that pytest can remove it
        path.chmod(0o755)
    assert answer.returncode == 0, answer.stderr
    assert [look(root) for root in roots] == before
    return json.loads(answer.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_without_a_traceback(answers, command):
    for status, _, err in (found[command] for found in answers.values() if command in found):
        assert status == COMMANDS[command], err
        if status:
            (line,) = err.strip().splitlines()[-1:]
            assert line.startswith("prunefield: ")
            assert "permission denied" in line


def test_what_is_listed(answers):
    for found in answers.values():
        rows = {row["run"]: row["status"] for row in json.loads(found["runs list --json"][1])["runs"]}
        assert rows.pop(STORED.folder) == "done"
        assert rows.pop(UNFINISHED.folder) == "stopped"
        assert rows.pop(RUNNING.folder) == "running"
        assert set(rows.values()) == {"done"}


def test_the_page_may_be_put_elsewhere(answers, desk):
    assert (desk / "page.html").stat().st_size > 10_000
    assert "choose another folder with --out" in answers["read-only"][f"report {ITEM}"][2]


LIST = """
import json, sys
from prunefield.cli import main
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
assert main(["runs", "list", "--store", sys.argv[1]]) == 0
heavy = sorted({"torch", "numpy", "rich", "safetensors"} & set(sys.modules))
print(json.dumps([heavy, [path for path in opened if path.startswith(sys.argv[1])]]), file=sys.stderr)
"""


def test_listing_opens_only_what_it_shows(store):
    """No locks and no results of finished runs, no torch. Counted, not timed: `benchmarks/store.py` has the times."""
    done, stopped, failed = [Toy(seed=seed) for seed in range(3)], Toy(seed=3), Toy(fail_at=1)
    for run in done:
        obtain(store, run)
    store.folder(stopped).begin(stopped)
    with store.folder(stopped).hold(), pytest.raises(RunError):
        obtain(store, failed)
    command = [sys.executable, "-c", LIST, store.root]
    # Its environment as Python sees it: the library readline, if loaded, puts COLUMNS into that of the process.
    answer = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=True)
    heavy, opened = json.loads(answer.stderr)
    assert heavy == []
    expected = [f"runs/{run.folder}/made.json" for run in done] + ["store.json", f"locks/{stopped.folder}"]
    expected += [f"runs/{run.folder}/progress" for run in (stopped, failed)]
    expected += [f"runs/{run.folder}/settings.json" for run in (*done, stopped, failed)]
    assert sorted(opened) == sorted(f"{store.root}/{name}" for name in expected)
    head = ["run", "seed", "date", "size", "status", "seconds", "what", "varies"]
    assert answer.stdout.splitlines()[0].split() == head
    assert len(answer.stdout.splitlines()) == 6
