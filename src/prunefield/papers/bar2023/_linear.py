"""What the sections on linear models share: sizes, and one table row per model."""

from collections.abc import Mapping

from prunefield.papers import Scale
from prunefield.papers.bar2023._cases import Frame
from prunefield.runs import Result, Run
from prunefield.runs.linear_scores import LinearScores

CASES: dict[Scale, int] = {"smoke": 8, "laptop": 100, "paper": 2000}


def tabulate(results: Mapping[Run, Result]) -> Frame:
    """One row per model of all `LinearScores`."""
    import pandas as pd

    parts = []
    for run, result in results.items():
        if isinstance(run, LinearScores):
            found = {name: tensor.numpy() for name, tensor in result.records[-1].tensors.items()}
            known = {name: getattr(run, name) for name in ("dimension", "examples", "data", "label", "density")}
            parts.append(pd.DataFrame(found).assign(**known))
    return pd.concat(parts, ignore_index=True)
