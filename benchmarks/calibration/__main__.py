"""Prints the table of docs/reliability.md: python -m benchmarks.calibration [--sites N] [--examples N] [--seed N] …"""

import argparse
import json
import sys
from pathlib import Path

import torch

from benchmarks.calibration import EXAMPLES, LAWS, SIZES, Case, try_cases


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--sites", type=int, action="append", help="on the ring; may be repeated [default: 40, 100]")
    parser.add_argument("--examples", type=int, action="append", help="may be repeated [default: 500 to 100,000]")
    parser.add_argument("--seed", type=int, default=0, help="of the samples [default: 0]")
    parser.add_argument("--cases", type=Path, help="a file to which every case is written, one JSON line each")
    args = parser.parse_args()
    torch.set_num_threads(1)
    cases: list[Case] = []
    sizes, counts = tuple(args.sites or SIZES), tuple(args.examples or EXAMPLES)
    for case in try_cases(LAWS, sizes, counts, args.seed):
        cases.append(case)
        if args.cases:
            with args.cases.open("a") as file:
                file.write(json.dumps(case._asdict()) + "\n")
        print(f"\r{len(cases)} of {len(LAWS) * len(sizes) * len(counts)}", end="", file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    print("\n".join(describe_cases(cases)))
    return 0


def describe_cases(cases: list[Case]) -> list[str]:
    """A Markdown table: for each number of examples, how many answers were sure, and how many of those were wrong."""
    lines = [
        "| examples | cases | sure | of these wrong | undecided | law on the border |",
        "|---|---|---|---|---|---|",
    ]
    for count in (*sorted({case.examples for case in cases}), None):
        part = [case for case in cases if count in (case.examples, None)]
        clear = [case for case in part if case.truth != "undecided"]
        sure = [case for case in clear if case.answer != "undecided"]
        wrong = sum(case.wrong for case in sure)
        share = f" ({wrong / len(sure):.1%})" if sure else ""
        lines.append(
            f"| {f'{count:,}' if count else 'all'} | {len(part)} | {len(sure)} | {wrong}{share} | "
            f"{len(clear) - len(sure)} | {len(part) - len(clear)} |"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
