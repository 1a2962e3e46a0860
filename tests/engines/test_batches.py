"""Batches of small runs, and what an engine asks of a cluster for each run; no cluster is needed."""

import json
import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunefield.core.errors import UsageError
from prunefield.engines import Engine, Notice, Outcome, Retry, choose_engine
from prunefield.engines._batches import pack_batches
from prunefield.engines._slurm_commands import JobTask, _explain
from prunefield.engines._slurm_queue import Place, Queue, make_pieces, read_events, write_event
from prunefield.engines._slurm_task import share_gpus
from prunefield.engines._slurm_watch import watch_pieces
from prunefield.engines.ray import Ray, _find_shortage, attempt_batch
from prunefield.engines.slurm import Slurm


@given(st.lists(st.floats(0, 100), max_size=50), st.floats(0, 50), st.integers(1, 8))
def test_batches_have_everything_once_in_order_and_are_small(seconds, target, slots):
    batches = pack_batches(seconds, target, slots)
    assert [index for batch in batches for index in batch] == list(range(len(seconds)))
    assert all(batches)
    for batch in batches:
        assert len(batch) == 1 or sum(seconds[index] for index in batch) <= target * (1 + 1e-6)
    for one, other in pairwise(batches):  # no two neighbours would have fitted into one
        size = min(target, max(sum(seconds) / slots, max(seconds)))
        assert sum(seconds[index] for index in [*one, other[0]]) > size


def test_ten_thousand_runs_of_ten_milliseconds_are_few_tasks():
    batches = pack_batches([0.01] * 10_000, 1.0, 8)
    assert {len(batch) for batch in batches} == {100}


def test_a_batch_whose_estimate_was_too_low_gives_the_rest_back():
    assert [outcome.value for outcome, _ in attempt_batch(abs, [(0, -1), (1, -2)], 60)] == [1, 2]
    assert [outcome.value for outcome, _ in attempt_batch(abs, [(0, -1), (1, -2)], -1)] == [1]


def test_what_a_run_takes_of_a_ray_cluster():
    assert Ray()._list_needs("cpu") == {"num_cpus": 1, "num_gpus": 0, "resources": {}}
    assert Ray()._list_needs("cuda")["num_gpus"] == 0.25
    assert Engine.parse("ray,num_gpus=2,resources.fast=1")._list_needs("cuda") == {  # pyright: ignore
        "num_cpus": 1, "num_gpus": 2, "resources": {"fast": 1},
    }  # fmt: skip
    nodes = [{"CPU": 4.0}, {"CPU": 4.0, "GPU": 1.0}]
    assert list(_find_shortage(nodes, Ray()._list_needs("cuda"))) == []
    (notice,) = _find_shortage(nodes, Ray(num_gpus=2)._list_needs("cuda"))
    assert isinstance(notice, Notice)
    assert "(CPU 1, GPU 2)" in notice.text


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("ray,resources.fast=-1", "resources.fast: Ray takes 0, a fraction"),
        ("ray,resources.fast=2.5", "resources.fast: Ray takes 0, a fraction"),
        ("ray,num_gpus=1.5", "num_gpus: Ray takes 0, a fraction from 0.0001 to 1 or a whole number"),
        ("ray,num_gpus=1e-9", "num_gpus: Ray takes 0, a fraction"),
        ("ray,resources.CPU=1", "resources.CPU: 'CPU' is not a custom resource"),
    ],
)
def test_amounts_that_ray_refuses_are_refused_in_one_line(engine, message):
    with pytest.raises(UsageError) as caught:
        Engine.parse(engine)
    assert message in str(caught.value)


def test_retry_is_one_word_for_all_engines():
    assert [choose_engine(kind, retry=7).settings()["retry"] for kind in ("local", "ray", "slurm")] == [7, 7, 7]
    assert [Engine.parse(kind).settings()["retry"] for kind in ("local", "ray", "slurm")] == [0, 3, 3]


def test_options_of_sbatch(tmp_path):
    engine = Engine.parse(
        "slurm,partition=gpu,account=maths,time=10:00:00,memory=8G,cpus=2,jobs=6,options='--qos=low -C \"a b\"'"
    )
    assert isinstance(engine, Slurm)
    options = engine._list_options(Queue(tmp_path / "50%"), "token", 9, 2, "cpu")
    assert {"--partition=gpu", "--account=maths", "--time=10:00:00", "--mem=8G", "--array=0-8%3"} < set(options)
    assert options[-3:] == ["--qos=low", "-C", "a b"]
    assert f"--output={tmp_path}/50%%/token/%a.log" in options
    assert not any("gres" in option for option in options)
    assert "--gres=gpu:1" in engine._list_options(Queue(tmp_path), "token", 9, 2, "cuda:0")


@pytest.mark.parametrize(("gres", "per_gpu", "expected"), [(None, 4, 4), ("gpu:a100:2", 3, 6), ("gpu:4,tmp:9", 1, 4)])
def test_several_runs_share_a_gpu(gres, per_gpu, expected):
    assert Slurm(gres=gres, per_gpu=per_gpu)._count_processes("cuda") == expected
    assert Slurm(gres=gres, per_gpu=per_gpu)._count_processes("cpu") == 1


def test_each_process_of_a_job_sees_one_of_its_gpus(monkeypatch):
    seen = []
    for number in range(1, 6):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
        monkeypatch.delenv("PRUNEFIELD_OWN_GPU", raising=False)
        monkeypatch.setattr("multiprocessing.process._current_process._name", f"SpawnProcess-{number}")
        for _ in range(2):  # the second run of a process keeps what the first one got
            share_gpus()
        seen.append(os.environ["CUDA_VISIBLE_DEVICES"])
        monkeypatch.delenv("PRUNEFIELD_OWN_GPU", raising=False)
    assert seen == ["3", "5", "3", "5", "3"]


def test_results_survive_a_line_that_is_half_written(tmp_path):
    path = tmp_path / "0.jsonl"
    write_event(path, {"key": "a", "value": 1})
    with path.open("ab") as file:
        file.write(b'{"key": "b", "val')  # killed here
    events, place = read_events(path)
    assert events == [{"key": "a", "value": 1}]
    write_event(path, {"key": "b", "value": 2})
    assert read_events(path, place)[0] == [{"key": "b", "value": 2}]
    assert read_events(tmp_path / "none", 7) == ([], 7)


def test_equal_work_has_equal_keys_and_what_json_cannot_hold_is_refused():
    first, second, third = make_pieces("a:b", [{"x": 1}, {"x": 1}, {"x": 2}], (), (), ())
    assert len({first.key, second.key, third.key}) == 3
    assert make_pieces("a:b", [json.loads('{"x": 1}')], (), (), ())[0].key == first.key
    assert make_pieces("a:c", [{"x": 1}], (), (), ())[0].key != first.key
    with pytest.raises(UsageError, match="which cannot hold item 0"):
        make_pieces("a:b", [object()], (), (), ())


def test_a_function_that_a_job_cannot_import_is_refused():
    with pytest.raises(UsageError, match="functions that a job can import"):
        list(Slurm().map(lambda item: item, [1]))


@pytest.mark.parametrize(
    ("complaint", "line"),
    [
        ("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (submit limit)", "`minutes`"),
        ("sbatch: error: Batch job submission failed: Invalid account", "Slurm refuses a job without an account"),
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", "scontrol ping"),
        ("sbatch: fatal: Could not establish a configuration source", "Slurm is not configured on this machine"),
        ("sbatch: unrecognized option '--nosuch'\nTry \"sbatch --help\" for more information", "option '--nosuch'"),
        ("", "it gave no reason"),
    ],
)
def test_complaints_of_slurm_are_one_line(complaint, line):
    said = str(_explain(["sbatch"], complaint))
    assert line in said
    assert "\n" not in said


@pytest.mark.parametrize("state", ["TIMEOUT", "PREEMPTED", "NODE_FAIL"])
def test_deaths_that_are_nobodys_fault_do_not_count(tmp_path, monkeypatch, state):
    """A run of ten time limits continues ten times, as long as each leaves a new safe point; other deaths count."""
    mark, queue = tmp_path / "mark", Queue(tmp_path / "slurm")
    (piece,) = make_pieces("a:b", [1], (), [str(mark)], ())
    tokens = []

    def submit(these, alone=False):
        tokens.append(queue_array(queue, these))
        mark.touch()
        os.utime(mark, (len(tokens), len(tokens)))  # a safe point that is newer each time
        return {one.key: Place(tokens[-1], 0) for one in these}

    def list_tasks(names):
        return [JobTask("7", 0, state if len(tokens) <= 10 else "CANCELLED", "None", name, "n1") for name in names]

    monkeypatch.setattr("prunefield.engines._slurm_watch.list_job_tasks", list_tasks)
    events = [event for event in watch_pieces(queue, [piece], submit, retry=2, poll=1e-3) if event is not None]
    retries = [event.reason for event in events if isinstance(event, Retry)]
    assert len(retries) == (2 if state == "NODE_FAIL" else 10)
    assert retries[0].endswith("; retry 1 of 2" if state == "NODE_FAIL" else "; retry")
    assert isinstance(events[-1], Outcome)
    assert ("its node died on n1 (retry: 2)" if state == "NODE_FAIL" else "was cancelled") in (events[-1].error or "")


def test_an_array_that_is_cancelled_is_read_a_few_times_not_once_for_each_of_its_tasks(tmp_path, monkeypatch):
    queue, number, read = Queue(tmp_path / "slurm"), 200, []
    pieces = make_pieces("a:b", list(range(number)), (), (), ())
    with queue.hold():
        token = queue.write_array([[piece] for piece in pieces], 1, 0)

    def list_tasks(names):
        return [JobTask("7", task, "CANCELLED", "None", name, "n1") for name in names for task in range(number)]

    monkeypatch.setattr("prunefield.engines._slurm_watch.list_job_tasks", list_tasks)
    monkeypatch.setattr(
        "prunefield.engines._slurm_watch.read_events", lambda *place: read.append(place) or read_events(*place)
    )
    places = {piece.key: Place(token, piece.index) for piece in pieces}
    events = list(watch_pieces(queue, pieces, lambda these, alone=False: places, retry=0, poll=1e-3))
    assert sum(isinstance(event, Outcome) for event in events) == number
    assert len(read) <= 10 * number


def queue_array(queue: Queue, pieces) -> str:
    """An array whose job began and printed nothing."""
    with queue.hold():
        token = queue.write_array([pieces], 1, 0)
    queue.log_path(Place(token, 0)).touch()
    write_event(queue.result_path(Place(token, 0)), {"key": pieces[0].key, "start": True})
    return token
