"""What a small run of each kind has found before, so that a change which alters results is noticed.

`kept_results.json` has, by the name of the run, its digest and a hash of the names, types and shapes in its result, in
their order (the outline).
The outline must be the same everywhere. The digest depends on the last bits of sums, so it is compared
only where processor and libraries are those of the machine that wrote the file. After a change that is meant to alter
results (say which in the commit, and raise `version`), write it anew:

    PRUNEFIELD_KEEP=1 pytest tests/contract/test_each_run_resumes.py
"""

import hashlib
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from prunefield.lab.folder import RunFolder

FILE = Path(__file__).with_name("kept_results.json")
LIBRARIES = ("torch", "numpy", "scipy", "numba", "scikit-learn")


def check_result(folder: RunFolder) -> None:
    """Fails if a finished run has another outline, or on the same machine another digest, than before."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {"machine": "", "runs": {}}
    found = {"outline": outline(folder), "digest": folder.read().digest}
    if os.environ.get("PRUNEFIELD_KEEP"):
        runs = {**kept["runs"], folder.name: found} if kept["machine"] == describe_machine() else {folder.name: found}
        table = {"machine": describe_machine(), "runs": dict(sorted(runs.items()))}
        FILE.write_text(json.dumps(table, indent=1) + "\n")
    before = kept["runs"].get(folder.name) if not os.environ.get("PRUNEFIELD_KEEP") else found
    assert before, f"{folder.name} has not been kept: its settings or their hash are new; see kept_results.py"
    assert found["outline"] == before["outline"]
    if kept["machine"] == describe_machine():
        assert found["digest"] == before["digest"], "the same settings give other numbers than before"


def outline(folder: RunFolder) -> str:
    """A hash of the names, types and shapes in a result, in their order; values count only as present or not."""
    parts: list[Any] = [list(folder.table("settings"))]
    parts += [[(name, type(value).__name__) for name, value in row.items()] for row in folder.read_values()]
    for file in ("tensors.safetensors", "state.safetensors"):
        content = (folder.path / file).read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        values = json.loads(header.pop("__metadata__", {}).get("values", "{}"))
        parts += [list(values), [(name, entry["dtype"], entry["shape"]) for name, entry in header.items()]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def describe_machine() -> str:
    """A hash of what the last bits of a sum depend on: processor, caches and libraries."""
    lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if Path("/proc/cpuinfo").exists() else []
    names = ("vendor_id", "cpu family", "model", "stepping", "flags", "cache size")
    parts = [platform.machine(), platform.python_version()]
    parts += [line for line in lines if line.partition("\t")[0].strip() in names]
    parts += [f"{name} {version(name)}" for name in LIBRARIES]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
