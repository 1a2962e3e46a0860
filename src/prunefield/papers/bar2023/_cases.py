"""What the lemmas share: their runs, one table row per case, and a null."""

from collections.abc import Iterator, Mapping

from pandas import DataFrame

from prunefield.papers import Frame, Scale, gather
from prunefield.papers._kit import Row
from prunefield.runs import Result, Run
from prunefield.runs.outcomes import Outcomes

SHAPES = ((2, 1, 1), (3, 2, 2), (4, 3, 3), (6, 4, 3))  # d, n, s
LADDER = (10, 100, 1000)  # dimensions too large to enumerate
CASES: dict[Scale, int] = {"smoke": 50, "laptop": 1000, "paper": 10_000}
EXACT = 1e-10  # what counts as equal in double precision
SMALL = ("Sizes: the lemmas are stated for any; d, n, s = " + "; ".join(f"{d}, {n}, {s}" for d, n, s in SHAPES)) + (
    " were chosen so that all dˢ sequences of draws can be summed; X and w0 are Gaussian"
)


def outcomes(scale: Scale, *, tau: float = 0.0, fresh: bool = False) -> list[Run]:
    """Drawn cases in all small shapes."""
    return [Outcomes(dimension=d, examples=n, kept=s, tau=tau, fresh=fresh, cases=CASES[scale]) for d, n, s in SHAPES]


def ladder(scale: Scale, *, tau: float = 0.0, fresh: bool = False) -> list[Run]:
    """Drawn cases in dimensions where only the identity gives the error."""
    return [
        Outcomes(dimension=d, examples=8, kept=8, rivals=1, tau=tau, fresh=fresh, cases=CASES[scale]) for d in LADDER
    ]


def support(kept: tuple[int, ...] = (1, 2, 3)) -> list[Run]:
    """w0 = (1, 0), w⋆ = (1, 1), X = I: a weight that the mask never keeps."""
    return [
        Outcomes(dimension=2, examples=2, kept=s, cases=1, start=(1, 0), end=(1, 1), inputs=((1, 0), (0, 1)))
        for s in kept
    ]


def unfold(result: Result, **known: object) -> Iterator[Row]:
    """One row per case, of tensors that hold one number per case each."""
    for record in result.records:
        names = sorted(record.tensors)  # a store reads them in an order that varies
        for found in zip(*(record.tensors[name].tolist() for name in names), strict=True):
            yield known | dict(zip(names, found, strict=True))


def tabulate_cases(results: Mapping[Run, Result]) -> Frame:
    """One row per case of all `Outcomes`; `made` marks hand-made cases."""

    def describe(run: Outcomes, result: Result) -> Iterator[Row]:
        known = {name: getattr(run, name) for name in ("dimension", "examples", "kept", "tau")}
        return unfold(result, **known, made=bool(run.start), start=str(run.start), end=str(run.end))

    return gather(results, describe, Outcomes)


def outcome_cases(**columns: float) -> Frame:
    """One drawn and one hand-made case for each s = 1, 2, 3, with the same values: for `ideal`."""
    cases = [{"dimension": 2, "examples": 2, "kept": s, "made": made} for s in (1, 2, 3) for made in (False, True)]
    return DataFrame(cases).assign(**columns)


def swap_errors_and_bounds(table: Frame, failures: Mapping[str, str]) -> Frame:
    """The null of a bound: every bound that held is violated.

    `failures` maps the column of each bound to the column that counts how many of the `draws` violate it.
    """
    swapped = dict.fromkeys(failures, table["enumerated"])
    counts = {count: table["draws"] - table[count] for count in failures.values()}
    return table.assign(enumerated=table[list(failures)].max(axis=1), **swapped, **counts)
