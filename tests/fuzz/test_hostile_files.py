"""No file takes more than 500 MB, or more than one line, to refuse."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST = 500_000_000


def check_files(*options: str) -> None:
    """In a process of its own: that of the tests is larger than what is measured."""
    script = Path(__file__).with_name("hostile_files.py")
    answer = subprocess.run([sys.executable, script, "--json", *options], capture_output=True, text=True, check=True)
    for row in json.loads(answer.stdout):
        assert row["status"] == 2, row
        assert row["said"].startswith("prunefield: "), row
        assert row["said"].count("\n") == 1, row
        assert row["peak"] < MOST, row


def test_files_of_a_megabyte_do_not_take_a_gigabyte():
    check_files()


@pytest.mark.slow
def test_no_hostile_file_takes_much_memory():
    check_files("--all")
