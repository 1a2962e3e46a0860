"""What the lemmas on given inputs share: their runs, and one table row per case."""

from collections.abc import Mapping
from typing import Any

from prunefield.papers import Scale
from prunefield.runs import Result, Run
from prunefield.runs.outcomes import Outcomes

Frame = Any  # a DataFrame; pandas' own types cannot follow a selection of a selection
SHAPES = ((2, 1, 1), (3, 2, 2), (4, 3, 3), (6, 4, 3))  # d, n, s
CASES: dict[Scale, int] = {"smoke": 50, "laptop": 1000, "paper": 10_000}
EXACT = 1e-10  # what counts as equal in double precision
SMALL = ("Sizes: the lemmas hold for any; d, n, s = " + "; ".join(f"{d}, {n}, {s}" for d, n, s in SHAPES)) + (
    " were chosen so that all dˢ sequences of draws can be summed; X and w0 are Gaussian"
)


def outcomes(scale: Scale, *, tau: float = 0.0, fresh: bool = False) -> list[Run]:
    """Drawn cases in all small shapes."""
    return [Outcomes(dimension=d, examples=n, kept=s, tau=tau, fresh=fresh, cases=CASES[scale]) for d, n, s in SHAPES]


def support(kept: tuple[int, ...] = (1, 2, 3)) -> list[Run]:
    """w0 = (1, 0), w⋆ = (1, 1), X = I: a weight that the mask never keeps."""
    return [
        Outcomes(dimension=2, examples=2, kept=s, cases=1, start=(1, 0), end=(1, 1), inputs=((1, 0), (0, 1)))
        for s in kept
    ]


def tabulate(results: Mapping[Run, Result]) -> Frame:
    """One row per case of all `Outcomes`; `made` marks hand-made cases."""
    import pandas as pd

    parts = []
    for run, result in results.items():
        if isinstance(run, Outcomes):
            known = {"dimension": run.dimension, "examples": run.examples, "kept": run.kept, "tau": run.tau}
            known |= {"made": bool(run.start), "start": str(run.start), "end": str(run.end)}
            for record in result.records:
                parts.append(pd.DataFrame({name: tensor.numpy() for name, tensor in record.tensors.items()}))
                parts[-1] = parts[-1].assign(**known)
    return pd.concat(parts, ignore_index=True)


def outcome_cases(**columns: float) -> Frame:
    """One drawn and one hand-made case for each s = 1, 2, 3, with the same values: for `ideal`."""
    import pandas as pd

    rows = [{"dimension": 2, "examples": 2, "kept": s, "made": made} for s in (1, 2, 3) for made in (False, True)]
    return pd.DataFrame(rows).assign(**columns)


def exchange(table: Frame, failures: Mapping[str, str]) -> Frame:
    """Errors and bounds swapped, so that every bound that held is violated: a null.

    `failures` maps the column of each bound to the column that counts how many of the `draws` violate it.
    """
    swapped = dict.fromkeys(failures, table["enumerated"])
    counts = {count: table["draws"] - table[count] for count in failures.values()}
    return table.assign(enumerated=table[list(failures)].max(axis=1), **swapped, **counts)
