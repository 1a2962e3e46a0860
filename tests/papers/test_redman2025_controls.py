"""The controls of redman2025: greedy pruning counts only where it works, and clones are compared on the same net."""

import pytest

from prunefield.papers import rows
from prunefield.papers.redman2025.fig3 import PAIR, Fig3
from prunefield.papers.redman2025.hypothesis import Hypothesis

DATA = ("leaves", "images", "tiny-imagenet")
OPEN = "not testable at this scale"


def check(table, words):
    return [claim.check(table) for claim in Hypothesis.parts if words in claim.text]


def with_greedy(shift):
    """The ideal table, greedy pruning so much above random masks at the last round."""
    table = Hypothesis().ideal()
    greedy = table["method"].isin(["greedy", "cavity"])
    chance = rows(table, method="random").set_index(["data", "inputs", "seed", "round"])["kurtosis"]
    keys = table.set_index(["data", "inputs", "seed", "round"]).index
    return table.assign(kurtosis=table["kurtosis"].mask(greedy, keys.map(chance) + shift))


@pytest.mark.parametrize(
    ("shift", "status"), [(-0.2, OPEN), (0.01, OPEN), (0.95, "reproduced"), (1.6, "not reproduced")]
)
def test_imp_is_not_maximal_because_greedy_pruning_fails(shift, status):
    """In the ideal table IMP is 0.9 above random masks."""
    assert [verdict.status for verdict in check(with_greedy(shift), "(d) IMP increases the kurtosis maximally (")] == [
        status
    ] * len(DATA)


@pytest.mark.parametrize(
    ("shift", "status"), [(-0.2, OPEN), (0.0001, OPEN), (0.05, "reproduced"), (1.6, "not reproduced")]
)
def test_the_first_round_is_decided_where_greedy_pruning_is_above_chance(shift, status):
    """In the ideal table IMP is 0.05 above random masks after round 1."""
    found = check(with_greedy(shift), "(d) In the first round")
    assert [verdict.status for verdict in found] == [status] * len(DATA)


def test_one_seed_of_a_control_is_said():
    table = Hypothesis().ideal()
    part = table[(table["seed"] == 0) | ~table["method"].isin(["greedy", "cavity"])]
    assert all(verdict.note.endswith("one seed of greedy pruning") for verdict in check(part, "enough to localise"))
    alone = rows(Fig3().ideal(), data="leaves")
    alone = alone[(alone["seed"] == 0) | (alone["inputs"] == "data")]
    assert [claim.check(alone).note for claim in Fig3.claims[:1]] == ["one seed of the clone"]


def test_clones_of_full_rank_are_compared_with_the_same_net(smoke):
    item = Fig3()
    table = item.table({run: smoke.folder(run).read() for run in item.runs("smoke")})
    full, pair = (rows(table, inputs=inputs, method="imp", round=5) for inputs in ("full clone", PAIR))
    assert len(full) == len(pair) == 1
    assert float(pair["width"].iloc[0]) in set(rows(table, inputs="clone", data="leaves", method="imp")["width"])
    laptop = [run.of for run in item.runs("laptop")]
    for run in (run for run in laptop if getattr(run.task, "per_class", 0) == 2_000):
        same = [net for net in laptop if (net.hidden, net.seed, net.steps) == (run.hidden, run.seed, run.steps)]
        assert [net.task.per_class for net in same] == [2_000, 100]
