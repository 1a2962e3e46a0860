"""The evidence for hypothesis H* on one table: widths, kurtoses, cavity scores and greedy pruning."""

from collections.abc import Iterable, Mapping

import pandas

from prunefield.papers import Frame, gather
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._cavities import name_next, read_next
from prunefield.papers.redman2025._fates import READINGS
from prunefield.papers.redman2025._ideal import ROUNDS, Case, fill_table, trace_curves
from prunefield.papers.redman2025._nets import inputs_of, make_row
from prunefield.papers.redman2025._pictures import GOALS
from prunefield.runs import Result, Run
from prunefield.runs.greedy import Greedy
from prunefield.runs.imp import METHODS
from prunefield.runs.kurtosis import Kurtosis
from prunefield.runs.widths import Widths

COLUMNS = {
    Widths: {"method": "method", "density": "density", "width": "median_x_top"},
    Kurtosis: {"method": "method", "kurtosis": "within"},
    Greedy: {"density": "density", "width": "median_x_top", "kurtosis": "within", "own": "scored"},
}
NEXT = {name_next(name, by): score for name in READINGS for by, score in (("fate", 0.3), ("shuffled", -0.02))}
KEYS = ["data", "inputs", "seed", "method", "round"]


def read_evidence(results: Mapping[Run, Result]) -> Frame:
    """One row per data set, kind of inputs, seed, method and round; next: N_W times the next group's score."""

    def read(run: Widths | Kurtosis | Greedy, result: Result) -> list[Row]:
        more = {"inputs": inputs_of(run.of.task)} | ({"method": GOALS[run.goal]} if isinstance(run, Greedy) else {})
        return [make_row(run.of, record, "round", **COLUMNS[type(run)]) | more for record in result.records]

    after = read_next(results).assign(method="imp", inputs="data")
    parts = [*(gather(results, read, kind) for kind in (Widths, Kurtosis, Greedy)), after]
    assert not any(part.duplicated(KEYS).any() for part in parts), "two runs have the same place in the table"
    return pandas.concat(parts).groupby(KEYS, as_index=False).first()


def fill_evidence(**axes: Iterable) -> Frame:
    """Figs 3 to 5 as printed, and greedy methods that reach what IMP reaches, and no more."""

    def fill(case: Case) -> Case:
        found = trace_curves(case)
        scored = (case["inputs"], case["method"]) == ("data", "imp") and case["round"] < ROUNDS
        return found | {"own": found["kurtosis"]} | (NEXT if scored else {})

    methods = (*METHODS, *GOALS.values())
    return fill_table(fill, inputs=("data", "clone"), method=methods, round=range(ROUNDS + 1), **axes)
