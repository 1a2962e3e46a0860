"""The time of `prunefield --help`, relative to an interpreter that does nothing."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Case


def cases() -> Iterator[Case]:
    program = Path(sys.executable).with_name("prunefield")

    def help_() -> None:
        subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)

    def nothing() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)

    yield Case(
        "prunefield --help", help_, limit=nothing, limit_name="python -c pass", rounds=20, target="at most 4 × limit"
    )
