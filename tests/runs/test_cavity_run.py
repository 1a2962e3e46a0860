"""Cavity scores of a small pruning run: groups and controls."""

import pytest
import torch
from scipy import stats

from prunefield.core.seeds import generator
from prunefield.measures.cavity import COLUMNS, score_weights
from prunefield.runs import Result, State
from prunefield.runs.cavity import Cavity, average_scores
from prunefield.runs.imp import Imp, read_masks
from prunefield.runs.kurtosis import rewound_weight
from prunefield.tasks import draw_balanced
from prunefield.tasks.leaves import Leaves

TASK = Leaves(side=8, count=8, largest=4, categories=3)
IMP = Imp(task=TASK, hidden=(12, 10), steps=50, rewind=7, rounds=3, held_out=60, batch_size=10)
RUN = Cavity(of=IMP, per_class=20, pairs=50)


@pytest.fixture(scope="module")
def read():
    records = [record for record in IMP(State()) if record is not None]
    return lambda run: Result(records)


@pytest.fixture(scope="module")
def found(read):
    return list(RUN(State(read=read)))


def rows(found, by, n):
    return [record for record in found if record["by"] == by and record["round"] == n]


def test_groups_hold_all_kept_weights_and_only_later_fates(found, read):
    for method, by in (("imp", "fate"), ("imp", "shuffled"), ("imp", "magnitude"), ("oneshot", "oneshot")):
        for n, mask in enumerate(read_masks(IMP, read(IMP).records, method)[:-1]):
            groups = rows(found, by, n)
            kept = int(mask["layers.0.weight"].sum())
            assert sum(record["count"] + record["excluded"] for record in groups) == kept
            assert [record["group"] for record in groups] == list(range(n + 1, 5))
            assert all(record["per_unit"] == kept / 12 for record in groups)


def test_controls_have_the_sizes_of_the_fates_and_the_same_total(found):
    for n in range(3):
        sizes = [record["count"] for record in rows(found, "fate", n)]
        total = sum(record["count"] * record["exact"] for record in rows(found, "fate", n))
        for by in ("shuffled", "magnitude"):
            assert [record["count"] for record in rows(found, by, n)] == sizes
            assert sum(r["count"] * r["exact"] for r in rows(found, by, n)) == pytest.approx(total, abs=1e-9)


def test_a_mean_is_that_of_the_scores(found, read):
    records = read(IMP).records
    masks = [mask["layers.0.weight"] for mask in read_masks(IMP, records, "imp")]
    batch = draw_balanced(TASK, 20, generator=generator(0, "cavity"))
    weight = rewound_weight(IMP, records[0].tensors, batch.x)
    scores = score_weights(weight, batch.x, batch.y, mask=masks[1], columns=COLUMNS)
    going = masks[1] & ~masks[2]
    assert rows(found, "fate", 1)[0]["exact"] == scores["exact"][going].mean().item()
    assert rows(found, "fate", 1)[0]["first"] == scores["first"][going].mean().item()
    whole = rows(found, "all", 1)[0]
    start = records[0].tensors["rewind:layers.0.weight"][masks[1]].abs().double()
    assert whole["spearman_abs_w"] == pytest.approx(
        stats.spearmanr(start, scores["exact"][masks[1]]).statistic, abs=1e-6
    )
    assert whole["pearson_abs_w"] == pytest.approx(stats.pearsonr(start, scores["exact"][masks[1]]).statistic, abs=1e-6)
    assert len(whole.tensors["weight"]) == 50


def test_fates_are_shuffled_within_each_unit(read):
    fates = torch.arange(24).view(4, 6) // 6 * 10 + torch.arange(6)  # tens: the unit
    kept = torch.rand(4, 6, generator=generator(0, "kept")) < 0.7
    mixed = RUN._groups(0, fates, kept, torch.zeros(4, 6))["shuffled"]
    assert torch.equal(mixed // 10, fates[kept] // 10)
    assert torch.equal(mixed.sort().values, fates[kept].sort().values)
    assert not torch.equal(mixed, fates[kept])


def test_what_has_no_score_is_counted():
    column = torch.tensor([1.0, torch.nan, 3.0, torch.nan])
    group = torch.tensor([1, 1, 1, 2])
    names = ("exact", "pooled")
    found = average_scores(dict.fromkeys(names, column), group, torch.ones(2, 2, dtype=torch.bool))
    assert [(row["count"], row["excluded"], row["exact"]) for row in found] == [(2, 1, 2.0), (0, 1, None)]
