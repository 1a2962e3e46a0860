"""What the sections on linear models share: sizes, and one table row per model."""

from collections.abc import Iterator, Mapping

from prunefield.papers import Frame, Scale, gather
from prunefield.papers._kit import Row
from prunefield.papers.bar2023._cases import unfold
from prunefield.runs import Result, Run
from prunefield.runs.linear_scores import LinearScores

CASES: dict[Scale, int] = {"smoke": 8, "laptop": 100, "paper": 2000}


def tabulate_models(results: Mapping[Run, Result]) -> Frame:
    """One row per model of all `LinearScores`."""

    def describe(run: LinearScores, result: Result) -> Iterator[Row]:
        return unfold(result, **run.model_dump(exclude={"cases", "seed"}))

    return gather(results, describe, LinearScores)
