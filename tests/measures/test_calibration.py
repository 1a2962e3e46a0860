"""Sure predictions are correct, for exact flows and neurons. The whole grid: python -m benchmarks.calibration."""

import pytest
from benchmarks.calibration import LAWS, try_cases

from prunefield import Task
from prunefield.core import seeds
from prunefield.measures.localisation import compute_ipr
from prunefield.measures.prediction import predict
from prunefield.runs import State
from prunefield.runs.neuron import Neuron


@pytest.mark.slow
def test_sure_answers_are_wrong_in_at_most_five_percent():
    cases = list(try_cases(LAWS, (40,), (500, 2000, 20_000), seed=2))
    clear = [case for case in cases if case.truth != "undecided"]
    sure = [case for case in clear if case.answer != "undecided"]
    wrong = [case for case in sure if case.wrong]
    assert len(wrong) <= 0.05 * len(sure), wrong
    assert len(sure) >= 0.5 * len(clear)  # to be undecided about everything would be no art
    large = [case for case in sure if case.examples == 20_000]
    assert len(large) >= 0.8 * sum(case.examples == 20_000 for case in clear)


@pytest.mark.slow
@pytest.mark.parametrize("law", [{"kind": "kur", "k": 10.0}, {"kind": "nlgp", "g": 0.5}, {"kind": "kur", "k": 5.0}])
def test_neurons_behave_as_predicted(law):
    """A neuron that learns online, at ξ = (0.3, 0.7), where sampled covariances once gave a sure and false answer."""
    task = Task.parse({**law, "lengthscales": (0.3, 0.7)})
    run = Neuron(task=task, inits=5, steps=8000, batch_size=1000, record_every=8000)
    last = [record for record in run(State()) if record is not None][-1]
    local = float((1 / compute_ipr(last.tensors["weights"])).median()) < 10  # of 40 sites
    x, y = task.sample(20_000, generator=seeds.generator(0, "data"))
    assert predict(x, y).answer == ("yes" if local else "no")
    assert local == (law.get("k") != 5.0)
