"""Benchmarks: ratios to what a user would write instead and to the limit of the hardware, measured in one run.

`python -m benchmarks [NAME ...] [--json]`. A benchmark is one file here with a function `cases()` that yields `Case`s.
Ours, the peer and the limit are timed in turn in the same process, and the best of several rounds counts, so ratios
can be compared between machines; seconds cannot.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """What to time: `ours`, and a `peer`, a `limit` or both, each with a name.

    A function that returns a float has timed itself.
    """

    case: str
    ours: Callable[[], object]
    peer: Callable[[], object] | None = None
    peer_name: str = ""
    limit: Callable[[], object] | None = None
    limit_name: str = ""
    rounds: int = 5
    target: str = ""


def peak_mb() -> float:
    """The peak memory of this process so far; `getrusage` would include that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure_case(name: str, case: Case) -> dict[str, object]:
    """One row: the best times of a case, their ratios and the peak memory of the process so far."""
    best = dict.fromkeys(("ours", "peer", "limit"), float("inf"))
    for _ in range(case.rounds):
        for key in best:
            work = getattr(case, key)
            if work is not None:
                gc.collect()
                begin = time.perf_counter()
                own = work()
                seconds = own if isinstance(own, float) else time.perf_counter() - begin
                best[key] = min(best[key], seconds)
    found = {key: value if value < float("inf") else None for key, value in best.items()}
    return {
        "name": name,
        "case": case.case,
        "ours_s": found["ours"],
        "peer": case.peer_name,
        "peer_s": found["peer"],
        "limit": case.limit_name,
        "limit_s": found["limit"],
        "peer_ratio": best["ours"] / best["peer"] if case.peer else None,
        "limit_ratio": best["ours"] / best["limit"] if case.limit else None,
        "peak_mb": peak_mb(),
        "target": case.target,
    }
