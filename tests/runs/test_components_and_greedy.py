"""Components and greedy pruning as runs: counts, and what greedy removes, found by enumeration."""

from itertools import pairwise

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import unpack_bits
from prunefield.measures.cavity import score_weights
from prunefield.measures.kurtosis import kurtosis_per_class
from prunefield.runs import Result, Run, State
from prunefield.runs.components import PARTS, Components
from prunefield.runs.greedy import Greedy, read_fields
from prunefield.runs.imp import Imp, read_masks
from prunefield.runs.kurtosis import Kurtosis, rewound_weight
from prunefield.tasks import draw_balanced
from prunefield.tasks.kur import Kur
from prunefield.tasks.leaves import Leaves

TASK = Leaves(side=6, count=8, largest=3, categories=2)
IMP = Imp(task=TASK, hidden=(5, 4), steps=30, rewind=7, rounds=3, held_out=40, batch_size=10)
RUNS = [
    Components(task=TASK, components=6, samples=200, iterations=50),
    Greedy(of=IMP, scored=30, per_class=20, top=3, parts=2),
    Greedy(of=IMP, scored=30, per_class=20, top=3, goal="excess"),
    Greedy(of=IMP, scored=30, per_class=20, top=3, goal="corrected"),
]


@pytest.fixture(scope="module")
def read():
    records = [record for record in IMP(State()) if record is not None]
    return lambda run: Result(records)


def masks(run, read):
    return [unpack_bits(record.tensors["mask"], (5, 108)) for record in run(State(read=read))]


@pytest.mark.parametrize("run", RUNS[1:], ids=["greedy", "excess", "corrected"])
def test_greedy_masks_are_nested_with_the_counts_of_imp(run, read):
    found = masks(run, read)
    theirs = [mask["layers.0.weight"] for mask in read_masks(IMP, read(IMP).records, "imp")]
    assert [int(mask.sum()) for mask in found] == [int(mask.sum()) for mask in theirs]
    assert all(not bool((later & ~earlier).any()) for earlier, later in pairwise(found))
    assert read_fields(run, Result(list(run(State(read=read))))).shape == (5, 3, 6, 6)


def test_what_goes_first_raises_the_kurtosis_most(read):
    run = RUNS[2].model_copy(update={"goal": "kurtosis"})
    batch = draw_balanced(TASK, 30, generator=generator(0, "greedy"), training=True)
    weight = rewound_weight(IMP, read(IMP).records[0].tensors, batch.x).double()
    before = kurtosis_per_class(batch.x.double() @ weight.T, batch.y, 2).mean(0)
    rise = torch.empty(5, 108, dtype=torch.float64)
    for column in range(108):
        without = weight.clone()
        without[:, column] = 0
        rise[:, column] = kurtosis_per_class(batch.x.double() @ without.T, batch.y, 2).mean(0) / before - 1
    gone = ~masks(run, read)[1]
    assert rise[gone].min() >= rise[~gone].max() - 1e-5
    assert run.scored == 30


def test_with_corrected_scores_what_goes_first_has_the_highest_of_them(read):
    batch = draw_balanced(TASK, 30, generator=generator(0, "greedy"), training=True)
    weight = rewound_weight(IMP, read(IMP).records[0].tensors, batch.x)
    scores = score_weights(weight, batch.x, batch.y, columns=("exact", "corrected"))
    gone, printed = (~masks(run, read)[1] for run in (RUNS[3], RUNS[2]))
    assert scores["corrected"][gone].min() >= scores["corrected"][~gone].max()
    assert not torch.equal(gone, printed)


def test_the_dense_net_has_the_kurtosis_of_the_other_run(read):
    dense, other = (next(iter(run(State(read=read)))) for run in (RUNS[1], Kurtosis(of=IMP, per_class=20)))
    assert dense is not None
    assert other is not None
    assert dense["within"] == other["within"]
    assert dense["density"] == 1


def test_components_have_three_parts_of_one_space(read):
    records = list(RUNS[0](State(read=read)))
    assert tuple(record["part"] for record in records) == PARTS
    spaces = [torch.linalg.qr(record.tensors["components"].T)[0] for record in records]
    assert all(torch.allclose(spaces[0].T @ q @ q.T @ spaces[0], torch.eye(6).double(), atol=1e-6) for q in spaces)


def test_components_of_what_is_no_image_are_refused():
    with pytest.raises(UsageError, match=r"components need a task of images .* not inputs of shape \(40,\)"):
        Run.parse({"kind": "components", "task": Kur().settings(), "components": 4})
    with pytest.raises(UsageError, match=r"components must be at most 108, .*got 200"):
        Run.parse({"kind": "components", "task": TASK.settings(), "components": 200})
