"""Fig. 4: when a gap begins, its table and its drawing."""

import io
from itertools import product

import pandas
import pytest
from matplotlib.figure import Figure

from prunefield.papers.redman2025._curves import find_onset
from prunefield.papers.redman2025.fig4 import Fig4
from prunefield.runs import Result, State
from prunefield.runs.imp import Imp
from prunefield.runs.kurtosis import Kurtosis
from prunefield.runs.widths import Widths
from prunefield.tasks.imagenet32 import Imagenet32
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.photos import Photos


def test_onset_wants_every_seed_until_the_end():
    holds = pandas.DataFrame({0: [False, True, True, True], 1: [False, False, True, True]})
    assert find_onset(holds) == 2
    assert find_onset(holds.iloc[:2]) is None
    assert find_onset(holds.iloc[:3]) is None  # one round is not lasting
    assert find_onset(holds.iloc[::-1].reset_index(drop=True)) is None


@pytest.fixture(scope="module")
def results():
    tasks = (Leaves(side=8, count=8, largest=4), Photos(side=8))
    found = {}

    def read(run):
        if run not in found:
            found[run] = Result([record for record in run(State(read=read)) if record is not None])
        return found[run]

    for task, seed in product(tasks, range(2)):
        imp = Imp(task=task, hidden=(30, 12), steps=30, rewind=5, rounds=3, held_out=50, batch_size=10, seed=seed)
        read(Widths(of=imp, top=5))
        read(Kurtosis(of=imp, per_class=10))
    return found


def test_the_table_is_tidy_and_checkable(results):
    table = Fig4().table(results)
    assert len(table) == 2 * 2 * 3 * 4
    assert not table.drop(columns="accuracy").isna().any().any()
    claims = [claim for claim in Fig4.claims if claim.concerns(table)]
    assert len(claims) == 2 * len(Fig4.claims) / 3  # the test has two of the three data sets
    for claim in claims:
        assert claim.null is not None
        verdict = claim.check(table)
        assert verdict.n > 0
        assert verdict.observed
        assert claim.check(claim.null(table)).status == "not reproduced"


def test_the_drawing_is_a_small_svg(results):
    item, figure = Fig4(), Figure(figsize=Fig4.size)
    item.draw(figure, item.table(results), results)
    assert len(figure.axes) == 4
    file = io.BytesIO()
    figure.savefig(file, format="svg")
    assert len(file.getvalue()) < 1_000_000


def test_scales_grow_and_the_paper_is_the_papers_net():
    runs = {scale: Fig4().runs(scale) for scale in Fig4.scales}
    cost = [sum(run.seconds() + run.of.seconds() for run in found) for found in runs.values()]
    assert cost == sorted(cost)
    imp = next(run.of for run in runs["paper"] if isinstance(run.of.task, Imagenet32))
    assert (imp.widths, imp.steps, imp.rewind, imp.rounds, imp.batch_norm) == (
        (3072, 1024, 1024, 1000),
        40_000,
        1000,
        10,
        True,
    )
