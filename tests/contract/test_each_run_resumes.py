"""Every run, present and future, ends with the digest that it had before, also when it is killed after each of its safe
points.
"""

from itertools import count

import pytest
from kept_results import check_result

from prunefield.core.names import modules
from prunefield.lab.execution import Pace, obtain, order_runs
from prunefield.lab.folder import RunFolder
from prunefield.lab.store import Store
from prunefield.report.ledger import find_items
from prunefield.runs import Run, State
from prunefield.runs.cavity import Cavity
from prunefield.runs.committee import Committee
from prunefield.runs.committee_flow import CommitteeFlow
from prunefield.runs.components import Components
from prunefield.runs.draws import Draws
from prunefield.runs.enumeration import Enumeration
from prunefield.runs.flow import Flow
from prunefield.runs.gabors import Gabors
from prunefield.runs.gradient import Gradient
from prunefield.runs.greedy import Greedy
from prunefield.runs.ica import Ica
from prunefield.runs.imp import Imp
from prunefield.runs.kurtosis import Kurtosis
from prunefield.runs.linear_scores import LinearScores
from prunefield.runs.neuron import Neuron
from prunefield.runs.outcomes import Outcomes
from prunefield.runs.pruned import Pruned
from prunefield.runs.shuffles import Shuffles
from prunefield.runs.sketch import Sketch
from prunefield.runs.steady import Steady
from prunefield.runs.tangent import Tangent
from prunefield.runs.tickets import Tickets
from prunefield.runs.widths import Widths
from prunefield.tasks.gaussian import Gaussian
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.nlgp import Nlgp

FIELD = {"size": 12, "lengthscales": (0.5, 1.5)}
SHORT = {"batch_size": 30, "steps": 11, "record_every": 4}
LEAVES = Leaves(side=8, count=8, largest=4, categories=3)
PRUNING = {"task": LEAVES, "hidden": (12, 10), "steps": 30, "rewind": 7, "rounds": 2, "held_out": 40, "batch_size": 10}
IMP, FLOW = Imp(**PRUNING), Flow(task=Ising(size=10), inits=3, time=20.0, record_every=5.0, init_scale=1.0)
IMAGES = {
    "task": {"kind": "leaves", "side": 8, "count": 10, "categories": 3},
    "images": 24,
    "net": {"kind": "resnet", "width": 4, "stages": [1, 1]},
    "recipe": {"epochs": 2, "batch_size": 12},
    "held_out": 30,
}
TICKETS = Tickets.model_validate(IMAGES | {"density": 0.1, "levels": 3, "rewind": 1})
SMALL: list[Run] = [
    IMP,
    Imp(batch_norm=False, **PRUNING),
    Imp(images=30, **PRUNING),
    Imp(labels="random", **PRUNING),
    Imp(**{**PRUNING, "rewind": 0}),
    Imp(**{**PRUNING, "task": Leaves(categories=3), "hidden": (96,), "steps": 12}),  # its first layer becomes compact
    Widths(of=IMP),
    Kurtosis(of=IMP),
    Cavity(of=IMP, per_class=20, pairs=50),
    Gabors(of=IMP, top=5),
    Greedy(of=IMP, scored=30, per_class=20, top=3, parts=2),
    Greedy(of=IMP, scored=30, per_class=20, top=3, goal="excess"),
    Components(task=LEAVES, components=6, samples=200, iterations=50),
    TICKETS,
    Tickets.model_validate(IMAGES | {"density": 0.3, "levels": 2, "head": 0.5, "scope": "layer"}),
    Pruned.model_validate(
        IMAGES | {"density": 0.2, "score": {"kind": "synflow", "inputs": "batch"}, "inputs": "chi", "iterations": 5,
                  "sample": "every", "shown": 40}
    ),
    Pruned.model_validate(IMAGES | {"density": 0.1, "of": TICKETS, "sample": "last"}),
    Shuffles(of=TICKETS, masks=50),
    Neuron(task=Ising(size=12), inits=3, batch_size=40, steps=23, record_every=5),
    Neuron(task=Kur(**FIELD), inits=2, dtype="float32", **SHORT),
    Neuron(task=Nlgp(**FIELD), inits=2, fresh=False, **SHORT),
    FLOW,
    Flow(task=Kur(**FIELD), inits=2, time=1.0, record_every=0.09, amplifier="cubic"),
    Gradient(of=FLOW, task=Kur(size=10, lengthscales=(0.5, 1.5)), samples=16_000, times=(0.0, 20.0)),
    Committee(task=Ising(size=12), hidden=3, inits=2, lr=1.0, **SHORT),
    Committee(task=Kur(**FIELD), hidden=4, second="learnt", activation="relu", lr=0.5, dtype="float32", **SHORT),
    Committee(task=Nlgp(**FIELD), hidden=2, bias=False, activation="erf", fresh=False, lr=0.5, **SHORT),
    Ica(task=Kur(k=3.0, **FIELD), components=4, samples=500),
    Draws(task=Gaussian(size=9, lengthscales=(0.5, 1.0)), number=2500, seed=3),
    Steady(size=80),
    CommitteeFlow(task=Ising(size=40, couplings=(0.3, 0.7)), inits=4, hidden=2, together=False, time=40.0),
    Sketch(dimension=3000, draws=200, tau=0.5),
    Enumeration(start=(1, -0.5, 0.2), end=(0.5, 1, -1), examples=3, kept=2, nodes=24, draws=5000),
    Outcomes(dimension=8, kept=3, cases=300, tau=1.0, fresh=True),
    LinearScores(dimension=20, examples=16, cases=4),
    Tangent(width=8, kept=6, steps=6, every=2),
]  # fmt: skip
USED = [run for item in find_items() for run in order_runs(item.runs("smoke"))]
OTHERS = {run.kind(): run for run in sorted(USED, key=lambda run: -run.seconds())}  # the shortest of each kind
KINDS = [kind for kind, module in modules("runs").items() if module.startswith("prunefield.")]
RUNS = SMALL + [OTHERS[kind] for kind in KINDS if kind not in {run.kind() for run in SMALL}]


class Killed(BaseException):
    """As if the process had died after it had written a safe point."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A store in which what a run needs is executed once."""
    return Store(tmp_path_factory.mktemp("resuming"))


@pytest.mark.parametrize("run", RUNS, ids=[f"{run.kind()}-{index}" for index, run in enumerate(RUNS)])
def test_a_run_that_is_killed_again_and_again_gives_the_same_digest(run, shared, monkeypatch):
    monkeypatch.setattr("prunefield.runs.shuffles.CHUNK", 20)
    ended, snapshot = [], State.snapshot
    monkeypatch.setattr(State, "snapshot", lambda state: ended.append(state.done) or snapshot(state))
    for need in run.needs():
        obtain(shared, need)
    expected = obtain(shared, run).digest
    assert ended[-1] == 1
    folder = shared.folder(run)
    check_result(folder)
    folder.remove()
    save, lives = RunFolder.save, 0

    def die(*arguments):
        save(*arguments)
        raise Killed

    monkeypatch.setattr(RunFolder, "save", die)
    while not folder.is_done:
        lives += 1
        # Each of the first twenty safe points, then longer lives, for runs that have hundreds of them.
        left = count(max(0, lives - 21), -1)
        monkeypatch.setattr(Pace, "is_due", lambda self, now, left=left: next(left) <= 0)
        try:
            obtain(shared, run)
        except Killed:
            continue
    assert folder.read().digest == expected
    assert lives > 1
