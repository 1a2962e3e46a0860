"""The paper's curves, for the tables of `ideal`: ten rounds of 30% and three seeds, the same on all data sets."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pandas

from prunefield.papers import Frame
from prunefield.papers.redman2025._fates import CONTROLS, READING
from prunefield.papers.redman2025._nets import DATA
from prunefield.runs.cavity import SCORES

Case = dict[str, Any]
ROUNDS = 10
FULL_WIDTH, GAUSSIAN = 14.43, 2.882  # σx of a full mask of 32 × 32 pixels; kurtosis of 50 Gaussian numbers


def fill_table(fill: Callable[[Case], Case], **axes: Iterable) -> Frame:
    """One row for each combination of data set, seed and the named axes, with the columns that `fill` gives it."""
    axes = {"data": DATA, "seed": range(3), **axes}
    cases = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    return pandas.DataFrame([case | fill(case) for case in cases])


def trace_width(case: Case) -> float:
    """Fig. 4A: random masks stay as wide as a full one, IMP's are narrower than one-shot pruning's from round 7 on.

    On a Gaussian clone all are as wide as a full one (Fig. 3C).
    """
    if case.get("inputs", "data") != "data":
        return FULL_WIDTH
    n = case["round"]
    drop = {"random": 0.0, "oneshot": 0.6 * n}.get(case["method"], 0.6 * n + 0.8 * max(0, n - 6))
    return FULL_WIDTH - drop + _vary(case)


def trace_kurtosis(case: Case) -> float:
    """Fig. 4B: flat for random masks, otherwise rising until round 8; IMP's is the largest from round 4 on."""
    n = min(8, case["round"])
    rise = {"random": 0.0, "oneshot": 0.05 * n}.get(case["method"], 0.05 * n + 0.1 * max(0, n - 3))
    return 3 + rise + _vary(case)


def trace_curves(case: Case) -> Case:
    """Fig. 4: density, width and kurtosis."""
    return {"density": 0.7 ** case["round"], "width": trace_width(case), "kurtosis": trace_kurtosis(case)}


def fill_scores(**axes: Iterable) -> Frame:
    """Fig. 5: the next group is positive and later ones negative, group 3 near zero at n = 0; in the controls all are
    slightly below zero.
    """

    def fill(case: Case) -> Case:
        n, group, later = case["round"], case["group"], case["group"] - case["round"] - 1
        score = 0.3 - 0.14 * later if n == 0 or later == 0 else -0.14 * later
        share = {"survives": group > ROUNDS, "before": 0.7 ** (group - 1), "after": 0.7**group}
        if case["by"] == "fate":
            return share | dict.fromkeys(SCORES, score)
        return share | dict.fromkeys(SCORES, -0.05) | {READING: -0.01}

    table = fill_table(fill, by=CONTROLS, round=range(ROUNDS), group=range(1, ROUNDS + 2), **axes)
    return table[table["group"] > table["round"]]


def _vary(case: Case) -> float:
    """Small differences between seeds and rounds: no line is constant, and growth is only almost monotonic."""
    return 0.01 * case["seed"] - 0.003 * (case["round"] % 2)
