"""Allocation, floors, existing masks, reductions and the defensive mixture."""

import itertools
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.masks import selection
from prunefield.masks.mask import Mask
from prunefield.masks.selection import allocate_weights, compute_probabilities, count_kept

SHAPES = {"conv": (8, 4, 3, 3), "shortcut": (8, 4, 1, 1), "head": (10, 32)}
shapes = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5)


def noise(seed=0, shapes=SHAPES):
    return {name: torch.rand(shape, generator=generator(seed, name)) for name, shape in shapes.items()}


@given(shapes, st.data(), st.sampled_from(["uniform", "erk"]))
def test_allocation_is_exact_and_proportional_where_it_is_free(sides, data, scope):
    layers = {str(k): shape for k, shape in enumerate(sides)}
    room = {name: data.draw(st.integers(0, a * b)) for name, (a, b) in layers.items()}
    floor = data.draw(st.integers(0, 3))
    least = sum(min(floor, free) for free in room.values())
    number = data.draw(st.integers(least, max(least, sum(room.values()))))
    counts = allocate_weights(layers, number, scope=scope, room=room, floor=floor)
    assert sum(counts.values()) == number
    assert all(min(floor, room[name]) <= counts[name] <= room[name] for name in layers)
    share = {name: a * b if scope == "uniform" else a + b for name, (a, b) in layers.items()}
    free = [name for name in layers if min(floor, room[name]) < counts[name] < room[name]]
    for one, other in itertools.combinations(free, 2):
        assert abs(Fraction(counts[one], share[one]) - Fraction(counts[other], share[other])) <= Fraction(
            1, share[one]
        ) + Fraction(1, share[other])


@pytest.mark.parametrize("scope", ["global", "layer", "uniform", "erk"])
def test_every_scope_keeps_the_largest_of_each_layer(scope):
    scores = noise()
    mask = Mask.keep(scores, 0.3, scope=scope)
    sampled = Mask.sample(scores, 0.3, scope=scope, generator=generator(0, "mask"))
    assert sampled.counts() == mask.counts()
    if scope != "layer":
        assert sum(mask.counts().values()) == count_kept(mask.total, 0.3)
    for name, kept in mask.items():
        assert scores[name][kept].min() > scores[name].masked_fill(kept, -1).max()


def test_uniform_and_erk_densities():
    wide = {"a": (100, 100), "b": (100, 200), "c": (20, 20, 5, 5)}
    uniform = Mask.keep(noise(0, wide), 0.1, scope="uniform").per_layer()
    assert all(abs(density - 0.1) < 1e-4 for density in uniform.values())
    erk = Mask.keep(noise(0, wide), 0.1, scope="erk").per_layer()
    ratio = {name: sum(shape) / torch.Size(shape).numel() for name, shape in wide.items()}
    sizes = {name: torch.Size(shape).numel() for name, shape in wide.items()}
    level = 4000 / sum(ratio[name] * size for name, size in sizes.items())  # 0.1 of 40,000 weights
    assert all(abs(erk[name] - level * ratio[name]) < 1 / sizes[name] for name in wide)


def test_a_floor_keeps_the_best_of_each_layer_and_the_total():
    scores = noise()
    scores["shortcut"] *= 1e-6
    plain, floored = Mask.keep(scores, 0.05), Mask.keep(scores, 0.05, floor=3)
    assert plain.counts()["shortcut"] == 0
    assert floored.counts()["shortcut"] == 3
    assert sum(floored.counts().values()) == sum(plain.counts().values())
    best = scores["shortcut"].flatten().topk(3).values.min()
    assert torch.equal(floored["shortcut"], scores["shortcut"] >= best)
    assert Mask.keep(scores, 0.05, floor=0) == plain
    with pytest.raises(UsageError, match="floor 20 in each of 3 layers is more than the 32"):
        Mask.keep(scores, 0.05, floor=20)


def test_what_is_pruned_stays_pruned_even_with_the_largest_scores():
    scores = noise()
    old = Mask.keep({name: -score for name, score in scores.items()}, 0.5)
    for scope in ("global", "uniform", "erk"):
        new = Mask.keep(scores, 0.2, scope=scope, start=old)
        drawn = Mask.sample(scores, 0.2, scope=scope, start=old, generator=generator(0, "m"))
        for mask in (new, drawn):
            assert mask & old == mask
            assert sum(mask.counts().values()) == count_kept(mask.total, 0.2)
    with pytest.raises(UsageError, match="asks for 384 weights, but the mask leaves only 320"):
        Mask.keep(scores, 0.6, start=old)
    with pytest.raises(UsageError, match=r"asks for .* weights of"):
        Mask.keep(scores, 0.6, scope="layer", start=old)
    with pytest.raises(UsageError, match="another architecture"):
        Mask.keep(scores, 0.1, start=Mask({"head": torch.ones(3) > 0}))


def test_reductions_of_signed_scores():
    signed = {"w": torch.tensor([-4.0, 1.0, 1.0, 3.0])}
    assert compute_probabilities(signed["w"], "w", "rank", 0.0).tolist() == [1, 3, 2, 4]
    for reduce in ("abs", "shift", "rank", "positive"):
        assert Mask.sample(signed, 0.5, reduce=reduce, generator=generator(0, "m")).counts() == {"w": 2}
    with pytest.raises(UsageError, match="'w' has negative ones; choose reduce='abs'"):
        Mask.sample(signed, 0.5, generator=generator(0, "m"))
    with pytest.raises(UsageError, match="unknown reduction 'ab'; did you mean 'abs'"):
        Mask.sample(signed, 0.5, reduce="ab", generator=generator(0, "m"))  # type: ignore[arg-type]


def test_the_mixture_draws_with_its_chances():
    score, alpha, repeats = torch.tensor([3.0, 1.0, 0.0]), 0.3, 3000
    stream, seen = generator(1, "m"), torch.zeros(3)
    for _ in range(repeats):
        seen += Mask.sample({"w": score}, Fraction(1, 3), alpha=alpha, generator=stream)["w"]
    expected = repeats * ((1 - alpha) * score / 4 + alpha / 3)
    assert ((seen - expected).abs() < 4.5 * (expected * (1 - expected / repeats)).sqrt()).all()
    with pytest.raises(UsageError, match="between 0 and 1"):
        Mask.sample({"w": score}, 0.5, alpha=2.0, generator=stream)


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=60), min_size=1, max_size=3), st.data())
def test_a_sample_finds_the_same_threshold_as_a_sort(layers, data):
    flat = [torch.tensor(layer, dtype=torch.float32) for layer in layers]
    lives = [torch.tensor(data.draw(st.lists(st.booleans(), min_size=len(x), max_size=len(x)))) for x in flat]
    alive, joined = torch.cat(lives), torch.cat(flat)
    order = sorted(torch.nonzero(alive).flatten().tolist(), key=lambda k: (-joined[k].item(), k))
    number = data.draw(st.integers(0, len(order)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "MANY", 0)
        patch.setattr(selection, "STRIDE", data.draw(st.integers(1, 5)))
        kept = torch.cat(selection.rank_scores(flat, number, lives))
    assert torch.nonzero(kept).flatten().tolist() == sorted(order[:number])


def test_a_sample_of_a_million_finds_the_same_threshold_as_a_sort():
    values = torch.rand(1_200_000, generator=generator(0, "scores")) ** 4
    alive = torch.rand(len(values), generator=generator(1, "scores")) < 0.4
    for number in (1, 20_000, 300_000, int(alive.sum()) - 7_000, int(alive.sum())):
        threshold = values[alive].sort(descending=True).values[number - 1]
        assert torch.equal(selection.keep_largest(values, number, alive), alive & (values >= threshold))


def test_a_floor_counts_for_each_layer_where_each_has_its_own_count():
    scores = {"a": torch.arange(1.0, 11), "b": torch.arange(1.0, 11)}
    assert Mask.keep(scores, 0.1, scope="layer", floor=3).counts() == {"a": 3, "b": 3}
    within = Mask({"a": torch.arange(10) < 2, "b": torch.ones(10) > 0})
    assert Mask.keep(scores, 0.1, scope="layer", floor=3, start=within).counts() == {"a": 2, "b": 3}


@pytest.mark.parametrize("scope", ["global", "layer", "uniform", "erk"])
def test_an_empty_layer_does_no_harm(scope):
    scores = {"a": torch.arange(1.0, 11).reshape(2, 5), "b": torch.empty(0, 0)}
    assert Mask.keep(scores, 0.5, scope=scope).counts() == {"a": 5, "b": 0}
    drawn = Mask.sample(scores, 0.5, scope=scope, alpha=0.5, generator=generator(0, "mask"))
    assert drawn.counts() == {"a": 5, "b": 0}


def test_complex_scores_are_refused():
    with pytest.raises(UsageError, match="'a' are complex numbers"):
        Mask.keep({"a": torch.ones(3, dtype=torch.complex64)}, 0.5)
