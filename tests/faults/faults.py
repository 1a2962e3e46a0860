"""Faults of every kind, one after the other; after each, the same command must end with the same digests.

    python tests/faults/faults.py [--count 60] [--seed 0] [--minutes 60] [--only TEXT]

Prints one line per fault and a table. Faults for which something is missing on this machine (root, Ray, Slurm) are
skipped, said so loudly and counted. With fewer than 60, the kinds are taken in turn, in an order drawn by the seed.
"""

import argparse
import itertools
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for folder in (TESTS / "extension", TESTS / "engines", TESTS / "faults"):
    sys.path.insert(0, str(folder))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TESTS / "extension"), os.environ.get("PYTHONPATH"))))

import cluster_faults  # noqa: E402
import process_faults  # noqa: E402
import storage_faults  # noqa: E402
from workplace import Workplace, Wrong  # noqa: E402

ALL = 60


def plan_faults(count: int, seed: int, only: str = "") -> list[str]:
    """The names of the faults: all of them as often as their number says, or the first `count` of a drawn order."""
    numbers = {**process_faults.FAULTS, **storage_faults.FAULTS, **cluster_faults.FAULTS}
    names = [name for name in numbers if only in name]
    random.Random(seed).shuffle(names) if count < ALL else None
    rounds = itertools.zip_longest(*([name] * numbers[name][1] for name in names))
    every = [name for one in rounds for name in one if name is not None]
    while len(every) < count and names:
        every += names
    return sorted(every[:count], key=list(numbers).index)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=ALL, help="number of faults")
    parser.add_argument("--seed", type=int, default=0, help="decides moments, files and bits")
    parser.add_argument("--minutes", type=float, default=60, help="after which no new fault is begun")
    parser.add_argument("--only", default="", help="only faults whose name has this text")
    args = parser.parse_args()
    begin = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="faults-"))
    rows: list[tuple[str, str, str]] = []
    try:
        place = Workplace(root)
        with cluster_faults.Clusters() as clusters:
            for number, name in enumerate(plan_faults(args.count, args.seed, args.only)):
                if time.monotonic() - begin > 60 * args.minutes:
                    rows.append((name, "skipped", "out of time"))
                    continue
                rows.append((name, *try_fault(name, place, clusters, random.Random(f"{args.seed} {number}"))))
                print(f"{number + 1:3} {rows[-1][1]:8} {name}: {rows[-1][2]}", flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print_table(rows, time.monotonic() - begin)
    return 1 if any(what == "WRONG" for _, what, _ in rows) else 0


def try_fault(name: str, place: Workplace, clusters: "cluster_faults.Clusters", draw: random.Random) -> tuple[str, str]:
    """What came of a fault: `survived`, `WRONG` or `skipped`, and what there is to say."""
    reason = storage_faults.why_not() if name in storage_faults.NEEDS_DISK else clusters.why_not(name)
    if reason:
        return "skipped", f"SKIPPED, NOT TRIED: {reason}"
    try:
        if name in cluster_faults.FAULTS:
            return "survived", cluster_faults.FAULTS[name][0](place, clusters, draw)
        fault, _ = {**process_faults.FAULTS, **storage_faults.FAULTS}[name]
        return "survived", fault(place, draw)
    except Wrong as error:
        return "WRONG", str(error)
    except Exception:
        return "WRONG", traceback.format_exc(limit=-3).replace("\n", " | ")


def print_table(rows: list[tuple[str, str, str]], seconds: float) -> None:
    """The table of docs/reliability.md."""
    print("\n| fault | tried | survived | skipped |\n|---|---|---|---|")
    for name in dict.fromkeys(name for name, _, _ in rows):
        own = [what for other, what, _ in rows if other == name]
        print(f"| {name} | {len(own) - own.count('skipped')} | {own.count('survived')} | {own.count('skipped')} |")
    found = [what for _, what, _ in rows]
    print(f"| **all** | {len(found) - found.count('skipped')} | {found.count('survived')} | {found.count('skipped')} |")
    print(f"\n{found.count('survived')} of {len(found)} faults survived in {seconds / 60:.0f} minutes")
    if skipped := found.count("skipped"):
        print(f"WARNING: {skipped} faults were NOT TRIED on this machine")


if __name__ == "__main__":
    sys.exit(main())
