"""Pruning at initialisation, tickets and their shuffled masks as runs: identities and bad settings."""

import math
from itertools import pairwise

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks.mask import Mask, count_kept, unpack_bits
from prunefield.runs import Result, Run, State
from prunefield.runs.pruned import Pruned
from prunefield.runs.shuffles import Shuffles
from prunefield.runs.tickets import Tickets
from prunefield.scores import Score, find_prunable

BASE = {
    "task": {"kind": "leaves", "side": 8, "count": 10, "categories": 3},
    "images": 24,
    "net": {"kind": "resnet", "width": 4, "stages": [1, 1]},
    "recipe": {"epochs": 2, "batch_size": 12},
    "held_out": 30,
}
TICKETS = Tickets.model_validate(BASE | {"density": 0.1, "levels": 3, "rewind": 1})


def execute(run, read=None, state=None):
    return [record for record in run(state or State(read=read)) if record is not None]


@pytest.fixture(scope="module")
def read():
    records = execute(TICKETS)
    return lambda run: Result(records)


def masks_of(records, shapes):
    return [Mask({n: unpack_bits(r.tensors[f"mask:{n}"], shape) for n, shape in shapes.items()}) for r in records]


def test_tickets_hit_their_density_exactly_and_are_nested(read):
    records = read(TICKETS).records
    shapes = {name: weight.shape for name, weight in find_prunable(TICKETS.build()).items()}
    masks = masks_of(records, shapes)
    assert sum(masks[-1].counts().values()) == count_kept(masks[0].total, 0.1)
    assert [round(mask.density, 2) for mask in masks[:3]] == [1, round(0.1 ** (1 / 3), 2), round(0.1 ** (2 / 3), 2)]
    assert all((new & old) == new for old, new in pairwise(masks))
    last = records[-1].tensors
    for name in shapes:
        assert last[f"trained:{name}"][~masks[-2][name]].eq(0).all()
        assert torch.equal(records[0].tensors[f"first:{name}"], find_prunable(TICKETS.build())[name])
        assert not torch.equal(records[0].tensors[f"first:{name}"], last[f"start:{name}"])  # one step was taken
    kept = torch.cat([last[f"trained:{name}"].abs()[masks[-1][name]] for name in shapes])
    gone = torch.cat([last[f"trained:{name}"].abs()[~masks[-1][name]] for name in shapes])
    assert kept.min() >= gone.max()


def test_a_shuffled_mask_keeps_the_counts_of_its_layers_and_nothing_else():
    shared = BASE | {"density": 0.2, "score": "magnitude", "shown": 5, "recipe": {"epochs": 0}}
    plain, shuffled = (Pruned.model_validate(shared | {"shuffle": flag}) for flag in (False, True))
    (first,), (second,) = execute(plain), execute(shuffled)
    layers = [name for name in first.values if name.startswith("density:")]
    assert [first[name] for name in layers] == [second[name] for name in layers]
    assert any(not torch.equal(part, second.tensors[name]) for name, part in first.tensors.items() if "mask:" in name)
    assert second["bias_within"] < first["bias_within"]
    assert "shuffle" not in plain.settings()  # ids of earlier runs stay as they are


def test_too_few_held_out_images_are_refused_before_training():
    few = {"kind": "noise", "of": BASE["task"], "images": 29}
    run = Pruned.model_validate(BASE | {"task": few, "density": 0.5, "score": "random"})
    with pytest.raises(UsageError, match="29 test examples, but 30 were requested"):
        next(run(State(read=None)))
    assert next(run.model_copy(update={"held_out": 29})(State(read=None)))


def test_the_head_has_a_density_of_its_own():
    run = Tickets.model_validate(BASE | {"density": 0.3, "levels": 2, "head": 0.5, "scope": "layer"})
    records = execute(run)
    shapes = {name: weight.shape for name, weight in find_prunable(run.build()).items()}
    counts = [mask.counts() for mask in masks_of(records, shapes)]
    for name, shape in shapes.items():
        share = 0.5 if name == "head.weight" else 0.3
        assert counts[-1][name] == count_kept(shape.numel(), share)
        assert counts[1][name] == count_kept(shape.numel(), math.sqrt(share))


def test_ranked_weights_of_imp_are_its_last_ticket(read):
    ranked = Pruned.model_validate(BASE | {"density": 0.1, "of": TICKETS, "shown": 5})
    record = execute(ranked, read)[0]
    last = read(TICKETS).records[-1].tensors
    names = [name for name in record.tensors if name.startswith("mask:")]
    assert names
    assert all(torch.equal(record.tensors[name], last[name]) for name in names)


def test_the_summary_of_a_mask_is_that_of_the_mask():
    run = Pruned.model_validate(BASE | {"density": 0.3, "shown": 10_000})
    record, *epochs = execute(run)
    first = find_prunable(run.net.build(run.task.shape, 3, generator=generator(0, "init")))
    (mask,) = masks_of([record], {name: weight.shape for name, weight in first.items()})
    scores = {name: weight.detach().abs() for name, weight in first.items()}
    assert mask == Mask.keep(scores, 0.3)
    assert record["kept"] == sum(mask.counts().values())
    assert {name: record[f"density:{name}"] for name in mask} == mask.per_layer()
    kept = torch.cat([score[mask[name]] for name, score in scores.items()])
    assert record["bias"] == pytest.approx(
        float(kept.mean() / torch.cat([s.flatten() for s in scores.values()]).mean())
    )
    assert torch.allclose(record.tensors["weights"].abs().sort().values, kept.sort().values)
    chosen, shown = record.tensors["chosen"], record.tensors["scores"]
    assert shown[chosen].min() >= shown[~chosen].max()
    assert [r["epoch"] for r in epochs] == [1, 2]
    assert epochs[0]["accuracy"] is None
    assert 0 <= epochs[1]["accuracy"] <= 1


def test_norms_of_shuffled_masks_have_the_moments_of_a_draw_without_replacement(read):
    """The sum of k of N squares has the mean k·mean and the variance k(1 − k/N)·S²."""
    last = [record for record in execute(Shuffles(of=TICKETS, masks=2000), read) if record["level"] == 3]
    assert last
    for record in last:
        squares = read(TICKETS).records[0].tensors[f"first:{record['layer']}"].double().square().flatten()
        k, n = record["kept"], record["weights"]
        drawn = record.tensors["norms"].square()
        spread = math.sqrt(k * (1 - k / n) * float(squares.var()))
        assert record["expected"] == pytest.approx(math.sqrt(k * float(squares.mean())))
        assert abs(float(drawn.mean()) - record["expected"] ** 2) < 5 * spread / math.sqrt(2000) + 1e-12
        assert float(drawn.std()) == pytest.approx(spread, rel=0.1, abs=1e-9)
        assert record["below"] == float((drawn.sqrt() < record["norm"]).double().mean())


def test_bad_settings_are_refused_in_one_line():
    with pytest.raises(UsageError, match=r"rewind \(9\) must be less than the steps \(4\)"):
        Run.parse({"kind": "tickets", **BASE, "density": 0.1, "levels": 2, "rewind": 9})
    other = {**BASE, "net": {"kind": "lenet", "width": 5}}
    with pytest.raises(UsageError, match="have the same net"):
        Run.parse({"kind": "pruned", **other, "density": 0.1, "of": TICKETS.settings()})
    with pytest.raises(UsageError, match=r"inputs must have the shape \(3, 8, 8\) of the task, not \(5,\)"):
        Run.parse({"kind": "pruned", **BASE, "density": 0.1, "inputs": {"kind": "chi", "shape": [5]}})
    with pytest.raises(UsageError, match="density"):
        Run.parse({"kind": "pruned", **BASE, "density": 0})


def test_a_continued_net_takes_as_many_steps_as_one_that_is_pruned_at_initialisation(read):
    shared = BASE | {"density": 0.1, "score": "magnitude", "of": TICKETS.settings()}
    again, continued = (Pruned.model_validate(shared | more) for more in ({}, {"continued": True}))
    assert again.id != continued.id
    steps = [sum(record is None for record in run(State(read=read))) + 2 for run in (again, continued)]
    assert steps == [4, 3]  # the two of an epoch's end are records; rewind = 1
    assert execute(continued, read)[-1]["epoch"] == 2
    late = {**TICKETS.settings(), "rewind": 3}
    short = Pruned.model_validate(shared | {"of": late, "continued": True, "recipe": {"epochs": 1, "batch_size": 12}})
    with pytest.raises(UsageError, match=r"needs more steps \(2\) than the rewind point of `of` \(3\)"):
        execute(short, read)
    with pytest.raises(UsageError, match="set `of`, too"):
        Run.parse(BASE | {"kind": "pruned", "density": 0.1, "continued": True})


def test_an_option_of_sampling_without_sampling_is_refused():
    with pytest.raises(UsageError, match="reduce is for sampled masks"):
        Run.parse(BASE | {"kind": "pruned", "density": 0.1, "score": "grasp", "reduce": "positive"})


def test_iterations_are_those_of_the_score_unless_they_are_stated():
    base = {"kind": "pruned", "task": "leaves", "net": "fcn", "recipe": {}, "density": 0.1}
    synflow = Run.parse(base | {"score": "synflow"})
    assert (Run.parse(base).iterations, synflow.iterations) == (1, Score.parse("synflow").iterations)
    assert Run.parse(synflow.settings()) == synflow
    assert Run.parse(base | {"score": "synflow", "iterations": 1}).id == "0ff162429ddeb221"  # as before
