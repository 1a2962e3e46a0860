"""Data of the dynamics player: names of what is shown, and where peaks agree."""

import pytest

from prunefield.lab.execution import obtain
from prunefield.report.page.catalogue import select_runs
from prunefield.report.page.dynamics import describe_dynamics
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.nlgp import Nlgp

TASK = Nlgp()


def _compare(first, second):
    """Whether the largest weights of each pair of fields are at one site, with the same sign."""
    first, second = first.astype(float), second.astype(float)
    places = abs(first).argmax(1)
    signs = [one[place] * other[place] > 0 for one, other, place in zip(first, second, places, strict=True)]
    return [bool(same) for same in (places == abs(second).argmax(1)) & signs]


@pytest.fixture
def stored(store):
    for run in (
        Neuron(task=TASK, inits=2, steps=4, batch_size=4),
        Flow(task=TASK, inits=2, time=2.0, record_every=1.0),
        Flow(task=TASK, inits=2, time=1.0, record_every=1.0),
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
    assert names[:2] == ["simulated", "flow, exact φ"]  # whose end is nearest to that of the simulation


def test_runs_beyond_the_most_that_are_shown_are_a_problem(stored):
    obtain(stored, Flow(task=TASK, inits=2, time=1.0, record_every=1.0, seed=1))
    assert select_runs(stored, Flow, 4).problems == {}
    listed = select_runs(stored, Flow, 3)
    assert [run.seed for run in listed.runs] == [0, 0, 0]
    assert listed.problems["other flow runs"].startswith("1 of 4 are not on the page, which takes at most 3: ")


def test_of_the_same_seed_those_with_the_largest_weight_are_shown(stored):
    listed = select_runs(stored, Flow, 1, weigh=lambda run: run.amplifier == "cubic")
    assert [run.amplifier for run in listed.runs] == ["cubic"]
    assert select_runs(stored, Flow, 2, weigh=lambda run: int(run.time)).runs[0].time == 2


def test_peaks_agree_where_site_and_sign_do_when_the_simulation_ends(store):
    task = Nlgp(g=0.01)
    neuron = Neuron(task=task, inits=8, steps=100, lr=0.1, batch_size=200, symmetric=True, record_every=50)
    flow = Flow(task=task, inits=8, time=400.0, record_every=10.0)
    for run in (neuron, flow):
        obtain(store, run)
    summary, islands = describe_dynamics(store)
    (entry,), (island,) = summary["entries"], islands.values()
    simulated, integrated = island["sources"]
    assert integrated["times"][1] == simulated["times"][-1] == 10
    agree = [_compare(simulated["weights"][-1], integrated["weights"][place]) for place in (1, -1)]
    assert entry["agree"] == agree[0] != agree[1]


def test_the_cubic_is_not_what_a_simulation_is_compared_with(store):
    obtain(store, Neuron(task=TASK, inits=2, steps=4, batch_size=4))
    obtain(store, Flow(task=TASK, inits=2, time=1.0, record_every=1.0, amplifier="cubic"))
    (entry,) = describe_dynamics(store)[0]["entries"]
    assert entry["agree"] == []
