"""Data of the dynamics player: names of what is shown, and where peaks agree."""

import pytest

from prunefield.lab.execution import obtain
from prunefield.report.page.catalogue import select_runs
from prunefield.report.page.dynamics import describe_dynamics
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.nlgp import Nlgp

TASK = Nlgp()


@pytest.fixture
def stored(store):
    for run in (
        Neuron(task=TASK, inits=2, steps=4, batch_size=4),
        Flow(task=TASK, inits=2, time=1.0, record_every=1.0),
        Flow(task=TASK, inits=2, time=2.0, record_every=1.0),
        Flow(task=TASK, inits=2, time=1.0, record_every=1.0, amplifier="cubic"),
    ):
        obtain(store, run)
    return store


def test_sources_have_names_of_their_own(stored):
    summary, islands = describe_dynamics(stored)
    (entry,), (island,) = summary["entries"], islands.values()
    names = [source["name"] for source in island["sources"]]
    assert names == list(entry["ends"])
    assert sorted(names) == ["flow, cubic φ", "flow, exact φ", "flow, exact φ, time 2", "simulated"]


def test_runs_beyond_the_most_that_are_shown_are_a_problem(stored):
    obtain(stored, Flow(task=TASK, inits=2, time=1.0, record_every=1.0, seed=1))
    assert select_runs(stored, Flow, 4).problems == {}
    listed = select_runs(stored, Flow, 3)
    assert [run.seed for run in listed.runs] == [0, 0, 0]
    assert listed.problems["other flow runs"].startswith("1 of 4 are not on the page, which takes at most 3: ")


def test_peaks_agree_where_site_and_sign_do(stored):
    summary, islands = describe_dynamics(stored)
    (entry,), (island,) = summary["entries"], islands.values()
    simulated, flow = (source["weights"][-1].astype(float) for source in island["sources"][:2])
    for agrees, one, other in zip(entry["agree"], simulated, flow, strict=True):
        place = abs(one).argmax()
        assert agrees == (place == abs(other).argmax() and one[place] * other[place] > 0)
