"""Masks: counts, order, files and architectures."""

import copy
import itertools
import time
from fractions import Fraction
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

from prunefield.core.errors import Error, UsageError
from prunefield.masks.mask import Mask, count_kept


def _net(width: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 2))


def _scores(net: nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().abs() for name, weight in net.named_parameters() if name.endswith("weight")}


layers = st.lists(st.integers(1, 40), min_size=1, max_size=4).flatmap(
    lambda sizes: st.tuples(
        *[arrays("float64", size, elements=st.sampled_from([0.25, 0.5, 1.0, 2.5])) for size in sizes]
    )
)
scores_with_ties = layers.map(lambda parts: {f"layer{k}": torch.from_numpy(part) for k, part in enumerate(parts)})
densities = st.integers(1, 1000).map(lambda k: k / 1000)


@given(scores_with_ties, densities)
def test_keep_is_the_start_of_a_stable_sort(scores, density):
    flat = torch.cat(list(scores.values()))
    number = len(flat) - int((1 - Fraction(str(density))) * len(flat))
    order = sorted(range(len(flat)), key=lambda k: (-flat[k].item(), k))
    kept = torch.cat(list(Mask.keep(scores, density).values()))
    assert set(torch.nonzero(kept).flatten().tolist()) == set(order[:number])


@given(scores_with_ties, densities, densities)
def test_masks_nest_in_density_and_compose(scores, one, other):
    sparse, dense = Mask.keep(scores, min(one, other)), Mask.keep(scores, max(one, other))
    assert sparse & dense == sparse == dense & sparse


@given(scores_with_ties, densities)
def test_layer_scope_keeps_the_count_of_each_layer(scores, density):
    mask = Mask.keep(scores, density, scope="layer")
    assert mask.counts() == {name: count_kept(score.numel(), density) for name, score in scores.items()}


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        (20_024_000, (2_002_400, 1_001_200, 400_480)),
        (276_656, (27_666, 13_833, 5_534)),
        (1_092_960, (109_296, 54_648, 21_860)),
        (11_261_632, (1_126_164, 563_082, 225_233)),
    ],
)
def test_counts_of_the_networks_of_the_paper(size, kept):
    assert tuple(count_kept(size, density) for density in (0.1, 0.05, 0.02)) == kept


def test_counts_are_those_of_the_written_decimal():
    for size, thousandths in itertools.product((10, 1000, 12_345), range(1, 1001)):
        assert count_kept(size, thousandths / 1000) == -(-thousandths * size // 1000)
    assert count_kept(3, Fraction(1, 3)) == 1


@pytest.mark.parametrize("density", [0, -0.1, 1.1, float("nan"), float("inf")])
def test_a_density_outside_is_refused(density):
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        Mask.keep({"w": torch.ones(3)}, density)


def test_bad_scores_are_refused_with_the_name_of_the_layer():
    with pytest.raises(UsageError, match=r"'b\.weight' are not all finite"):
        Mask.keep({"a.weight": torch.ones(3), "b.weight": torch.tensor([1.0, float("nan")])}, 0.5)
    with pytest.raises(UsageError, match="no weights"):
        Mask.keep({}, 0.5)
    with pytest.raises(UsageError, match="unknown scope 'layr'; did you mean 'layer'"):
        Mask.keep({"a": torch.ones(3)}, 0.5, scope="layr")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'a' has negative"):
        Mask.sample({"a": torch.tensor([1.0, -1.0])}, 0.5, generator=torch.Generator())
    with pytest.raises(UsageError, match="boolean"):
        Mask({"a": torch.ones(3)})


def test_a_layer_without_scores_is_refused_by_rank_and_by_chance_but_not_behind_a_mask():
    scores = {"a": torch.ones(3), "b": torch.zeros(2), "c": torch.tensor([1.0, -1.0])}
    for choose in (Mask.keep, partial(Mask.sample, generator=torch.Generator(), reduce="abs")):
        with pytest.raises(UsageError, match=r"all scores of 'b' are zero.*skip='b'"):
            choose(scores, 0.5)
        whole = Mask({name: torch.ones(len(part)) > 0 for name, part in scores.items()})
        assert sum(choose(scores, Fraction(3, 7), start=whole).counts().values()) == 3
        assert choose({"a": torch.ones(3), "c": scores["c"]}, 1.0).density == 1  # a sum of zero means nothing


@given(scores_with_ties, densities, st.integers(0, 2**32))
def test_sampling_and_shuffling_keep_the_counts_of_each_layer(scores, density, seed):
    hard = Mask.keep(scores, density)
    positive = {name: score + 0.25 for name, score in scores.items()}
    before = copy.deepcopy(positive)
    sampled = Mask.sample(positive, density, generator=torch.Generator().manual_seed(seed))
    assert sampled.counts() == hard.counts() == hard.shuffled(torch.Generator().manual_seed(seed)).counts()
    assert sampled == Mask.sample(positive, density, generator=torch.Generator().manual_seed(seed))
    assert all(torch.equal(positive[name], before[name]) for name in before)


def test_sampled_weights_have_the_chances_of_successive_draws():
    score, number, repeats = torch.tensor([4.0, 2.0, 1.0, 0.5, 0.0]), 3, 8_000
    chance = dict.fromkeys(itertools.combinations(range(5), number), 0.0)
    for order in itertools.permutations(range(4), number):  # Plackett–Luce; the last one has no chance
        left, product = score.sum().item(), 1.0
        for k in order:
            product *= score[k].item() / left
            left -= score[k].item()
        chance[tuple(sorted(order))] += product
    assert sum(chance.values()) == pytest.approx(1)
    generator = torch.Generator().manual_seed(1)
    seen = dict.fromkeys(chance, 0)
    for _ in range(repeats):
        kept = Mask.sample({"w": score}, Fraction(3, 5), generator=generator)["w"]
        seen[tuple(torch.nonzero(kept).flatten().tolist())] += 1
    for subset, p in chance.items():
        assert abs(seen[subset] - repeats * p) <= 4.5 * (repeats * p * (1 - p)) ** 0.5


def test_too_few_positive_scores_are_topped_up_by_index_with_a_warning():
    with pytest.warns(UserWarning, match="only 1 of 4 scores are positive, so 2 weights are kept by index"):
        mask = Mask.sample({"w": torch.tensor([0.0, 0.0, 0.0, 1.0])}, 0.75, generator=torch.Generator())
    assert mask["w"].tolist() == [True, True, False, True]


def test_extreme_scores_are_sampled_without_overflow():
    for large, small in ((1e300, 1e-300), (1e-280, 1e-310), (1e300, 1e200)):
        score = torch.tensor([large, large, small, 0.0], dtype=torch.float64)
        mask = Mask.sample({"w": score}, 0.5, generator=torch.Generator().manual_seed(0))
        assert mask["w"].tolist() == [True, True, False, False]


@settings(max_examples=30)
@given(scores_with_ties, densities)
def test_files_give_the_same_mask_with_one_bit_per_weight(tmp_path_factory, scores, density):
    path = tmp_path_factory.mktemp("masks") / "mask.safetensors"
    mask = Mask.keep({name: score.reshape(1, -1) for name, score in scores.items()}, density)
    mask.save(path)
    first = path.read_bytes()
    assert Mask.load(path) == mask
    assert list(Mask.load(path)) == list(mask)
    header = 8 + int.from_bytes(first[:8], "little")
    assert len(first) - header == sum(-(-kept.numel() // 8) for kept in mask.values())
    mask.save(path)
    assert path.read_bytes() == first
    assert list(path.parent.iterdir()) == [path]


def test_damaged_and_foreign_files_are_refused_in_one_line(tmp_path):
    from safetensors.torch import save_file

    path = tmp_path / "mask.safetensors"
    Mask.keep({"w": torch.arange(64.0)}, 0.5).save(path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(UsageError, match=r"truncated|cannot read"):
            Mask.load(path)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(UsageError, match="damaged"):
        Mask.load(path)
    save_file({"w": torch.ones(3)}, path)
    with pytest.raises(UsageError, match="not a mask"):
        Mask.load(path)
    for other in (tmp_path / "missing", tmp_path):
        with pytest.raises(UsageError, match="cannot read") as caught:
            Mask.load(other)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="cannot write"):
        Mask.keep({"w": torch.ones(2)}, 0.5).save(tmp_path / "nowhere" / "mask")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "mask"
    old, new = (Mask.keep({"w": torch.arange(8.0)}, density) for density in (0.5, 0.25))
    old.save(path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("prunefield.core.files.os.fsync", fail)
    with pytest.raises(Error, match="no space left"):
        new.save(path)
    assert Mask.load(path) == old
    assert list(tmp_path.iterdir()) == [path]


def test_apply_zeroes_the_pruned_weights_only():
    net = _net()
    before = copy.deepcopy(net.state_dict())
    mask = Mask.keep(_scores(net), 0.3)
    mask.apply_(net)
    for name, weight in net.named_parameters():
        kept = mask.get(name, torch.ones_like(weight, dtype=torch.bool))
        assert torch.equal(weight.detach(), torch.where(kept, before[name], 0))
    assert Mask.from_module(net) == mask
    assert Mask.from_module(copy.deepcopy(net)) == mask == copy.deepcopy(mask)


@pytest.mark.parametrize("use", ["apply_", "to_torch_prune"])
def test_a_mask_of_another_architecture_changes_nothing(use):
    net, mask = _net(), Mask.keep(_scores(_net(5)), 0.5)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(UsageError, match=r"0\.weight is \(5, 3\) in the mask, \(4, 3\) in the network; 2\.weight"):
        getattr(mask, use)(net)
    with pytest.raises(UsageError, match=r"9\.weight is \(2,\) in the mask, missing in the network"):
        getattr(Mask({"0.weight": torch.zeros(4, 3) > 0, "9.weight": torch.ones(2) > 0}), use)(net)
    assert before.keys() == net.state_dict().keys()
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items())
    with pytest.raises(UsageError, match="another architecture"):
        _ = mask & Mask.keep(_scores(net), 0.5)


def test_torch_prune_in_both_directions():
    from torch.nn.utils import prune

    net, x = _net(), torch.randn(7, 3)
    mask = Mask.keep(_scores(net), 0.4)
    twin = copy.deepcopy(net)
    mask.apply_(twin)
    mask.to_torch_prune(net)
    assert Mask.from_module(net) == mask
    assert torch.equal(net(x), twin(x))

    second = mask.shuffled(torch.Generator().manual_seed(3))
    second.to_torch_prune(net)  # torch composes masks by intersection
    assert Mask.from_module(net) == mask & second

    other = _net()
    second.to_torch_prune(other)
    other.load_state_dict(net.state_dict())
    assert Mask.from_module(other) == mask & second

    pruned = _net()
    parameters = [(pruned[0], "weight"), (pruned[2], "weight")]
    ours = Mask.keep(_scores(pruned), 0.5)
    prune.global_unstructured(parameters, prune.L1Unstructured, amount=0.5)
    assert Mask.from_module(pruned) == ours


def test_a_mask_is_a_value():
    source = {"w": torch.tensor([True, False])}
    mask = Mask(source)
    source["w"][0] = False
    assert mask["w"].tolist() == [True, False]
    assert mask != Mask(source)
    assert mask != "mask"
    assert mask.per_layer() == {"w": 0.5}
    assert repr(mask) == "Mask(1 layer, 1 of 2 weights, density 0.5)"


def test_selecting_among_twenty_million_scores_takes_seconds():
    scores = {"w": torch.rand(20_070_080, generator=torch.Generator().manual_seed(0))}
    start = time.process_time()
    mask = Mask.keep(scores, 0.1)
    assert time.process_time() - start < 5  # under 2 s alone on a core; the machine may be shared
    assert mask.counts() == {"w": 2_007_008}


def test_an_optimiser_that_cannot_hold_a_mask_is_refused():
    net = _net()
    mask = Mask.keep(_scores(net), 0.5)
    with pytest.raises(UsageError, match="updates no weight of this mask"):
        mask.hold_(copy.deepcopy(net), torch.optim.SGD(net.parameters(), lr=0.1))
    with pytest.raises(UsageError, match="LBFGS evaluates losses inside its step"):
        mask.hold_(net, torch.optim.LBFGS(net.parameters()))
    Mask({}).hold_(net, torch.optim.SGD(net.parameters(), lr=0.1))  # nothing to hold


def test_torch_prune_of_a_compiled_network():
    net = _net()
    mask = Mask.keep(_scores(net), 0.5)
    mask.to_torch_prune(torch.compile(net, backend="eager"))
    assert Mask.from_module(torch.compile(net, backend="eager")) == Mask.from_module(net) == mask


def test_a_mask_of_one_number_is_written_and_read(tmp_path):
    mask = Mask({"gain": torch.tensor(True)})
    mask.save(tmp_path / "mask.safetensors")
    assert Mask.load(tmp_path / "mask.safetensors") == mask


def test_a_network_that_torch_prunes_is_not_another_architecture():
    net = nn.Sequential(nn.Linear(4, 3))
    mask = Mask({"0.weight": torch.eye(3, 4) > 0})
    mask.to_torch_prune(net)
    with pytest.raises(UsageError, match=r"0\.weight is computed from 0\.weight_orig in the network"):
        mask.hold_(net, torch.optim.SGD(net.parameters()))
    mask.to_torch_prune(net)
    assert Mask.from_module(net) == mask


@pytest.mark.parametrize("shape", [4, "4", (4.0,)])
def test_the_shape_of_a_summary_is_whole_numbers(shape):
    net = nn.Linear(4, 3)
    with pytest.raises(UsageError, match=r"shape must be whole numbers, as in \(3, 32, 32\), not"):
        Mask.from_module(net).summary(net, shape=shape)


def test_autograd_notices_that_weights_were_set_to_zero_after_the_forward_pass():
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    loss = net(torch.ones(1, 4)).sum()
    Mask({"1.weight": torch.eye(2, 3) > 0}).apply_(net)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode():
        frozen = nn.Linear(4, 3)
    Mask({"weight": torch.eye(3, 4) > 0}).apply_(frozen)
    assert frozen.weight.count_nonzero() == 3
