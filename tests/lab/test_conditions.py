"""Bits do not depend on what the caller has set in its process, and the caller finds it as it was."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits
from toy import Toy

from prunefield.lab.conditions import fixed_conditions
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store
from prunefield.runs.imp import Imp

IMP = Imp(hidden=(512, 512), steps=6, rewind=2, rounds=1, held_out=40)  # two threads gave it another digest


@pytest.fixture
def restore():
    yield
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)


def test_one_digest_for_any_number_of_threads(tmp_path, restore):
    digests = set()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        store = Store(tmp_path / str(threads))
        digests.add(obtain(store, IMP).digest)
        assert torch.get_num_threads() == threads
    assert len(digests) == 1
    assert store.folder(IMP).table("made")["threads"] == 1


def test_the_callers_defaults_neither_change_the_bits_nor_are_lost(tmp_path, restore):
    expected = obtain(Store(tmp_path / "plain"), Toy()).digest
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.inference_mode():
            assert obtain(Store(tmp_path / "odd"), Toy()).digest == expected
            assert torch.is_inference_mode_enabled()
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert torch.get_default_dtype() == torch.float64


def test_a_failed_run_restores_them_too(store, restore):
    torch.set_num_threads(2)
    with pytest.raises(Exception, match="the walk broke"):
        obtain(store, Toy(fail_at=3))
    assert torch.get_num_threads() == 2


def count_threads():
    np.ones((2, 2)) @ np.ones((2, 2))  # numpy's own library is loaded
    return {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}


def test_every_numerical_library_has_one_thread_inside_and_what_it_had_outside(restore):
    with threadpool_limits(2):
        before = count_threads()
        assert 2 in before.values()
        with fixed_conditions(), fixed_conditions():
            assert set(count_threads().values()) == {1}
        assert count_threads() == before


def test_runs_in_several_threads_of_the_caller_end_as_they_began(restore):
    """The one that begins first ends first: what the other computes after that still has one thread.

    And the first, which does not restore what belongs to the process, has its own number of threads again.
    """
    torch.set_num_threads(2)
    first_ended, second_began, seen = threading.Event(), threading.Event(), []

    def second():
        with fixed_conditions():
            second_began.set()
            first_ended.wait(30)
            seen.append(set(count_threads().values()) | {torch.get_num_threads()})

    other = threading.Thread(target=second)
    with fixed_conditions():
        other.start()
        second_began.wait(30)
    assert torch.get_num_threads() == 2
    first_ended.set()
    other.join()
    assert seen == [{1}]
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("surroundings", [lambda: torch.autocast("cpu", torch.bfloat16), lambda: torch.device("meta")])
def test_a_context_of_the_caller_does_not_reach_into_a_run(tmp_path, surroundings):
    """Under autocast, a toy came out with other bits and was marked as done."""
    expected = obtain(Store(tmp_path / "plain"), Toy()).digest
    with surroundings():
        assert obtain(Store(tmp_path / "odd"), Toy()).digest == expected


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="torch before 2.9")
def test_the_precision_of_one_library_is_fixed_and_restored():
    """torch refuses to say its one precision after that."""
    knob = torch.backends.mkldnn.matmul  # pyright: ignore[reportAttributeAccessIssue]
    knob.fp32_precision = "bf16"
    try:
        with fixed_conditions():
            assert knob.fp32_precision == "ieee"
        assert knob.fp32_precision == "bf16"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_plan_does_not_wait_for_scipy_and_a_run_limits_it_all_the_same():
    """In another process: here somebody has loaded it."""
    code = (
        "import sys, prunefield.lab.study; print('scipy' in sys.modules)\n"
        "from prunefield.lab.conditions import fixed_conditions\n"
        "with fixed_conditions():\n"
        "    from threadpoolctl import threadpool_info\n"
        "    print({pool['num_threads'] for pool in threadpool_info()}, 'scipy.linalg' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["False", "{1} True"]


def test_a_process_that_only_executes_runs_stays_in_them_and_corrects_what_a_run_has_changed():
    code = (
        "import torch\n"
        "from prunefield.lab.conditions import fixed_conditions, keep_conditions\n"
        "keep_conditions()\n"
        "print(torch.get_num_threads())\n"
        "with fixed_conditions():\n"
        "    torch.set_num_threads(2), torch.set_default_dtype(torch.float64), torch.set_grad_enabled(False)\n"
        "    torch.set_float32_matmul_precision('medium')\n"
        "with fixed_conditions():\n"
        "    print(torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled())\n"
        "    print(torch.get_float32_matmul_precision())\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (found.stdout.split(), found.stderr) == (["1", "1", "torch.float32", "True", "highest"], "")
