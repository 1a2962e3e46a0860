"""The lemmas, Theorem 7.2 and Sections 5 and 6 of bar2023 at smoke scale: verdicts, shared runs, times."""

import pytest
import torch

from prunefield.papers.bar2023 import _cases, _linear
from prunefield.papers.bar2023.theorem4_4 import Theorem4_4
from prunefield.report.ledger import find_items, read_finding
from prunefield.runs import Record, Result
from prunefield.runs.linear_scores import LinearScores
from prunefield.runs.outcomes import Outcomes

YES, NO, FIXED = "reproduced", "not reproduced", "corrected"
EXPECTED = {
    "algorithm1": [YES] * 4,
    "lemma4.1": [FIXED, FIXED, YES],
    "lemma4.2": [FIXED, FIXED, YES],
    "lemma4.3": [YES, YES, FIXED],
    "lemma4.5": [YES] * 3,
    "lemmaB.1": [YES, FIXED],
    "lemmaB.2": [YES] * 2,
    "theorem7.2": [YES, NO, YES, YES],
    "section5": [YES, NO, NO],
    "section6": [YES, FIXED, YES],
}


@pytest.fixture(scope="module")
def findings(smoke):
    return {name: read_finding(smoke, *find_items([f"bar2023/{name}"]), "smoke") for name in EXPECTED}


@pytest.mark.parametrize("name", EXPECTED)
def test_verdicts(name, findings):
    assert [row.verdict.status for row in findings[name].rows] == EXPECTED[name]


def test_the_counterexamples_are_the_hand_made_ones(findings):
    assert "error 0, printed 12" in findings["lemma4.1"].rows[0].verdict.observed
    assert "error 0, printed -0.16" in findings["lemma4.1"].rows[0].verdict.observed
    assert "n=4: error 5.3014, printed 3" in findings["lemma4.2"].rows[0].verdict.observed
    assert "error 1/1/1" in findings["lemma4.3"].rows[2].verdict.observed


def test_runs_are_shared():
    runs = {name: {run.id for run in find_items([f"bar2023/{name}"])[0].runs("smoke")} for name in EXPECTED}
    theorem = {run.id for run in Theorem4_4().runs("smoke")}
    assert runs["algorithm1"] < runs["lemma4.1"]
    assert runs["lemmaB.2"] < runs["lemmaB.1"]
    assert runs["lemma4.5"] < theorem
    assert len(runs["lemma4.2"] & theorem) == 3
    assert len(runs["section5"] & runs["section6"]) == 1


@pytest.mark.parametrize(
    ("tabulate", "run"), [(_cases.tabulate_cases, Outcomes()), (_linear.tabulate_models, LinearScores())]
)
def test_columns_do_not_depend_on_the_order_in_which_a_store_reads_tensors(tabulate, run):
    tensors = {name: torch.arange(3.0) for name in ("power", "bound", "exact")}
    first, second = (
        tabulate({run: Result([Record({}, dict(pairs))])}) for pairs in (tensors.items(), [*tensors.items()][::-1])
    )
    assert first.equals(second)
    assert list(first.columns[-3:]) == ["bound", "exact", "power"]
