"""Phases and placements: laws of the kurtosis asked for, the flow of `Flow`, patches from the right places."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.measures.localisation import compute_ipr
from prunefield.runs import Run, State
from prunefield.runs.flow import Flow
from prunefield.runs.phases import Phases, find_parameter
from prunefield.runs.placement import Placement, cut_patches
from prunefield.tasks.leaves import Leaves


@pytest.mark.parametrize(("laws", "excess"), [("nlgp", -1.9), ("nlgp", -0.1), ("kur", -1.0), ("kur", 3.0)])
def test_laws_have_the_kurtosis_that_is_asked_for(laws, excess):
    task = Phases(laws=laws, size=12, longest=0.9).make_task(excess, 3.0)
    assert task.kurtosis() - 3 == pytest.approx(excess, abs=1e-4)
    assert task.lengthscales == pytest.approx((0.3, 0.9))
    x = task.sample(200_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64).x[:, 0]
    if excess < 0:  # otherwise the fourth moment of a sample says little
        assert float((x**4).mean() / x.square().mean() ** 2) - 3 == pytest.approx(excess, abs=0.05)


def test_a_kurtosis_that_no_law_has_is_refused():
    with pytest.raises(UsageError, match="nlgp cannot have the excess kurtosis 1"):
        find_parameter("nlgp", 1.0)


def test_a_law_is_integrated_as_by_flow():
    run = Phases(excesses=(-1.5,), ratios=(2.0,), size=20, longest=1.0, inits=2, time=20.0)
    (record,) = (record for record in run(State()) if record)
    flow = Flow(task=run.make_task(-1.5, 2.0), inits=2, time=20.0, record_every=20.0)
    end = [record for record in flow(State()) if record][-1].tensors["weights"]
    assert torch.allclose(record.tensors["weights"], end[0], atol=1e-4)
    assert record["width"] == pytest.approx(float((1 / compute_ipr(end)).median()), rel=1e-3)


def test_leaves_at_half_resolution_have_a_shorter_lengthscale():
    (record,) = (record for record in Placement(task=Leaves(), side=8, examples=300)(State()) if record)
    assert 1.0 < record["ratio"] < 3.0
    assert record["low"] < record["excess"] < record["high"]
    assert record.tensors["weights"].shape == (8, 8)


def test_patches_come_from_different_images():
    near, far = cut_patches(torch.stack([torch.zeros(3, 8, 8), torch.ones(3, 8, 8)]), 4)
    assert near.shape == far.shape == (1, 4, 4)
    assert not near.any()
    assert far.all()


@pytest.mark.parametrize("task", ["leaves,side=31", "nlgp"])
def test_placement_refuses_images_that_are_too_small_for_its_patches(task):
    with pytest.raises(UsageError, match="at least twice the side of 16 pixels, not"):
        Run.parse({"kind": "placement", "task": task})
    assert Placement(task=Leaves(side=32)).side == 16


def test_placement_estimates_seconds_and_not_half_a_minute():
    assert 1 < Placement(side=8, examples=300).seconds() < 5
    assert 5 < Placement().seconds() < 20
    assert Placement(task=Leaves(side=64), side=32).seconds() == Placement().seconds()
