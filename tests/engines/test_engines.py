"""Engines: the same bits everywhere, no work lost, no process left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from toy import Toy

from prunefield.engines import Engine
from prunefield.engines._workers import _inherited
from prunefield.engines.local import Local, keep_workers
from prunefield.lab.execution import carry_out
from prunefield.lab.store import Store
from prunefield.runs.imp import Imp
from prunefield.tasks.leaves import Leaves
from prunefield.training.compact import is_worth_it

COMPACT = Imp(task=Leaves(categories=3), hidden=(96,), steps=12, rewind=3, rounds=2, held_out=40, batch_size=10)
STUDY = [*(Toy(seed=seed, of=Toy(seed=9)) for seed in range(3)), COMPACT]


def digests(root: Path, engine: Engine) -> list[str]:
    store = Store(root)
    assert carry_out(store, STUDY, engine) == {}
    return [store.folder(run).read().digest for run in STUDY]


def test_local_gives_the_same_bits_for_any_number_of_jobs(tmp_path):
    assert is_worth_it(3072 * 96, 0.7, COMPACT.compact)  # so that the other engines train compact layers, too
    assert digests(tmp_path / "one", Local(jobs=1)) == digests(tmp_path / "two", Local(jobs=2))


def name_process(item):
    return os.getpid()


def test_kept_workers_serve_several_maps_and_end_with_the_block():
    with keep_workers():
        first = {outcome.value for outcome in Local(jobs=1).map(name_process, [0, 1]) if outcome}
        with keep_workers():
            second = {outcome.value for outcome in Local(jobs=1).map(name_process, [0]) if outcome}
        assert first == second
        assert len(multiprocessing.active_children()) == 1
    assert multiprocessing.active_children() == []
    assert {outcome.value for outcome in Local(jobs=1).map(name_process, [0]) if outcome} != first


@pytest.mark.long
def test_a_ray_cluster_gives_the_same_bits(tmp_path):
    """One that is started here, and an existing one that is found by its address."""
    ray = pytest.importorskip("ray")
    from prunefield.engines.ray import Ray

    expected = digests(tmp_path / "local", Local(jobs=2))
    assert digests(tmp_path / "started", Ray(jobs=2)) == expected
    cluster = ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    address = cluster.address_info["gcs_address"]
    try:
        code = (
            "import sys; sys.path.insert(0, sys.argv[3]); from pathlib import Path; from test_engines import digests; "
            "from prunefield.engines.ray import Ray; "
            "print(*digests(Path(sys.argv[1]), Ray(address=sys.argv[2])))"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "found"), address, str(Path(__file__).parent)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    finally:
        ray.shutdown()
    assert answer.stdout.split() == expected, answer.stderr


@pytest.mark.slow
def test_a_paper_has_the_same_bits_on_a_ray_cluster(tmp_path):
    pytest.importorskip("ray")
    from prunefield.engines.ray import Ray
    from prunefield.report.ledger import find_items

    runs = [run for item in find_items(["bar2023"]) for run in item.runs("smoke")]
    stores = {Local(jobs=1): Store(tmp_path / "local"), Ray(jobs=2): Store(tmp_path / "ray")}
    assert all(carry_out(store, runs, engine) == {} for engine, store in stores.items())
    first, second = ([store.folder(run).read().digest for run in runs] for store in stores.values())
    assert first == second


def test_a_cluster_that_is_not_there_gets_one_line():
    pytest.importorskip("ray")
    from prunefield.core.errors import RunError
    from prunefield.engines.ray import Ray

    with pytest.raises(RunError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
        list(Ray(address="127.0.0.1:1").map(len, ["a"]))


def test_a_worker_that_dies_fails_only_its_own_run(tmp_path):
    store = Store(tmp_path)
    dead, well = Toy(die_at=20), [Toy(seed=seed) for seed in range(3)]
    failures = carry_out(store, [dead, *well], Local(jobs=2), report=lambda line: None)
    assert list(failures) == [dead]
    assert "its process died" in failures[dead]
    assert all(store.folder(run).status == "done" for run in well)


def test_closing_the_iterator_ends_the_workers():
    outcomes = Local(jobs=2).map(time.sleep, [60, 60])
    assert next(outcomes) is None
    children = multiprocessing.active_children()
    assert len(children) == 2
    outcomes.close()
    assert not any(child.is_alive() for child in children)


# A shell that starts jobs in the background has them ignore SIGINT, which they would pass on.
COMMAND = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); \
from toy import Toy; from prunefield.engines.local import Local; \
from prunefield.lab.execution import carry_out; from prunefield.lab.store import Store; \
carry_out(Store(sys.argv[1]), [Toy(seed=s, gate=sys.argv[1] + '/gate') for s in range(2)], Local(jobs=2))"


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_orphans_however_the_command_ends(tmp_path, how):
    process = subprocess.Popen([sys.executable, "-c", COMMAND, str(tmp_path)], stderr=subprocess.DEVNULL)
    store = Store(tmp_path)
    deadline = time.monotonic() + 600
    while sum((folder.path / "checkpoint.safetensors").exists() for folder in store) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    workers = [pid for pid in descendants(process.pid) if "spawn_main" in command_line(pid)]
    assert len(workers) == 2
    process.send_signal(how)
    process.wait(timeout=600)
    while any("spawn_main" in command_line(pid) for pid in workers) or {folder.status for folder in store} != {
        "stopped"
    }:
        assert time.monotonic() < deadline + 600
        time.sleep(0.05)
    assert all(folder.saved()[0]["step"] > 0 for folder in store)


def descendants(pid: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    direct = [child for child, parent in parents.items() if parent == pid]
    return direct + [other for child in direct for other in descendants(child)]


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except (OSError, ProcessLookupError):
        return ""


def test_the_environment_is_left_as_it_was():
    before = dict(os.environ)
    assert [outcome.value for outcome in Local(jobs=1).map(len, ["abc"]) if outcome] == [3]
    assert dict(os.environ) == before


def test_work_that_cannot_be_loaded_is_told_and_nothing_hangs():
    """As for a function of a script that a new process cannot import."""
    import types

    module = types.ModuleType("nowhere")
    exec("def work(item):\n    return item", module.__dict__)
    sys.modules["nowhere"] = module
    try:
        outcomes = [outcome for outcome in Local(jobs=1).map(module.work, [1, 2]) if outcome]
    finally:
        del sys.modules["nowhere"]
    assert [outcome.index for outcome in outcomes] == [0, 1]
    assert all("its process died" in (outcome.error or "") for outcome in outcomes)


def test_a_script_without_a_guard_is_not_executed_again_in_each_process(tmp_path):
    """Nor must there be a file of it: people pipe programs into Python, and forget `if __name__ == "__main__"`."""
    script = "from prunefield.engines.local import Local; print(list(Local(jobs=1).map(len, ['abc'])))"
    found = subprocess.run([sys.executable], input=script, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Outcome(index=0, value=3, error=None)" in found.stdout
    assert "Error" not in found.stderr


def test_an_interrupt_while_a_process_starts_is_kept_until_then():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append("interrupted"))
    try:
        with _inherited(print):
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # to this thread: others do not block it
            assert not seen
        assert seen == ["interrupted"]
    finally:
        signal.signal(signal.SIGINT, before)
