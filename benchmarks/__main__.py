"""Runs all benchmarks, or the named ones."""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

import torch

from benchmarks import measure_case

FILES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))
NAMES = [file.replace("_", "-") for file in FILES]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"[default: all] {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", help="print one list on stdout and nothing else")
    args = parser.parse_args()
    wrong = [name for name in args.names if name not in NAMES]
    if wrong:
        parser.error(f"unknown benchmark {wrong[0]!r} (allowed: {', '.join(NAMES)})")
    torch.set_num_threads(1)
    rows = []
    for name in args.names or NAMES:
        for case in import_module(f"benchmarks.{name.replace('-', '_')}").cases():
            rows.append(measure_case(name, case))
            if not args.json:
                print(describe_row(rows[-1]), flush=True)
    if args.json:
        print(json.dumps(rows, indent=1))
    return 0


def describe_row(row: dict) -> str:
    """A row as a line of text."""
    parts = [f"{row['name']} {row['case']}: {row['ours_s']:.4g} s"]
    for key in ("peer", "limit"):
        if row[f"{key}_ratio"] is not None:
            parts.append(f"{row[f'{key}_ratio']:.3g} × {row[key]} ({row[f'{key}_s']:.4g} s)")
    parts.append(f"peak {row['peak_mb']:.0f} MB")
    return ", ".join(parts) + (f"  [{row['target']}]" if row["target"] else "")


if __name__ == "__main__":
    sys.exit(main())
