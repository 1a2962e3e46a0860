"""A few faults of `make faults`, which has sixty: those that need no cluster and no small disk."""

import random

import pytest
from process_faults import FAULTS as PROCESSES
from storage_faults import FAULTS as STORAGE
from storage_faults import NEEDS_DISK
from workplace import Workplace

pytestmark = pytest.mark.long
NAMES = ["kill -9 of the command", "kill -9 at eight random moments", "two equal commands at once"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("name", [*NAMES, *(name for name in STORAGE if name not in NEEDS_DISK)])
def test_the_same_command_ends_with_the_same_digests_after(name, place):
    assert {**PROCESSES, **STORAGE}[name][0](place, random.Random(1))
