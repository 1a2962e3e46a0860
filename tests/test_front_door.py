"""The front door: prune, measure and predict as a newcomer uses and misuses them."""

import warnings
from contextlib import nullcontext

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import prunefield as pf
from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.lab import bars

pytestmark = pytest.mark.usefixtures("workers")


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(36, 12), nn.ReLU(), nn.Linear(12, 3))


X, Y = torch.randn(60, 36, generator=generator(0, "x")) ** 3, torch.arange(60) % 3


class Dicts(torch.utils.data.Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return {"x": X[index], "labels": Y[index]}


def test_all_forms_of_the_same_data_give_the_same_mask(net):
    whole = pf.prune(net, "snip", density=0.2, data=(X, Y))
    forms = {
        "loader": DataLoader(TensorDataset(X, Y), batch_size=60),
        "dicts": DataLoader(Dicts(), batch_size=60),
        "batches": [(X, Y)],
        "batch": pf.Batch(X, Y),
        "function": lambda: (X, Y),
        "arrays": (X.numpy(), Y.numpy()),
        "tables": (pandas.DataFrame(X.numpy()), pandas.Series(Y.numpy())),
        "int32": (X, Y.int()),
        "zeros and ones": (X, nn.functional.one_hot(Y)),
    }
    for name, data in forms.items():
        assert pf.prune(net, "snip", density=0.2, data=data) == whole, name


def test_what_draws_has_a_seed(net):
    how = {"density": 0.3, "sample": "last"}
    first = pf.prune(net, "magnitude", **how)
    assert first == pf.prune(net, "magnitude", seed=0, **how)
    assert first == pf.prune(net, {"kind": "magnitude"}, generator=generator(0, "mask"), **how)
    assert first != pf.prune(net, pf.Score.parse("magnitude"), seed=1, **how)
    assert first != pf.prune(net, "magnitude", generator=generator(1, "mask"), **how)


def test_scores_that_need_no_data_get_none_and_the_others_ask_for_it(net):
    assert pf.prune(net, "magnitude", density=0.5).density == pytest.approx(0.5, abs=0.01)
    with pytest.raises(UsageError, match=r"needs data, but there are no examples: set data to a DataLoader, a pair"):
        pf.prune(net, "snip", density=0.5)
    with pytest.raises(UsageError, match="synflow needs the shape of an input"):
        pf.prune(net, "synflow", density=0.5)
    with pytest.raises(UsageError, match=r"data must be a DataLoader.* not int"):
        pf.prune(net, "snip", density=0.5, data=3)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_network_of_another_type(net, dtype):
    mask = pf.prune(net.to(dtype), "synflow", density=0.2, data=(X, Y), iterations=5)
    assert mask.summary(net, data=(X, Y)).kept == sum(mask.counts().values())
    assert pf.measure(net, shape=(6, 6), mask=mask, data=(X, Y)).layer == "0.weight"


def test_a_mask_of_another_architecture_is_refused_in_one_line(net):
    other = pf.Mask({f"{layer}.weight": torch.ones(2, 2) > 0 for layer in range(5)})
    for use in (
        lambda: other.summary(net),
        lambda: other.hold_(net, torch.optim.SGD(net.parameters(), lr=0.1)),
        lambda: pf.prune(net, "magnitude", density=0.1, start=other),
    ):
        with pytest.raises(UsageError, match=r"another architecture: 0\.weight is \(2, 2\).*\(and 2 more\)$") as caught:
            use()
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=r"the mask of 0\.weight is \(2, 2\), the weight \(12, 36\)"):
        pf.measure(net, mask=other)


def test_a_summary_counts_prints_and_draws(net):
    mask = pf.prune(net, "magnitude", density=0.25)
    found, dense = mask.summary(net, shape=(36,)), 2 * (36 * 12 + 12 * 3)
    assert found.frame()["kept"].sum() == found.kept == sum(mask.counts().values())
    assert found.operations == (dense, 2 * found.kept)
    assert mask.summary(net, data=DataLoader(TensorDataset(X, Y), batch_size=20)).operations == found.operations
    assert str(found).splitlines()[0] == repr(found).removeprefix("<Summary: ").removesuffix(">")
    assert len(found.plot().axes) == 1
    assert "flops" not in mask.summary(net).frame()
    assert mask.summary().parameters is None
    assert repr(mask) == "Mask(2 layers, 117 of 468 weights, density 0.25)"
    assert "0.weight" in mask._repr_html_()
    with pytest.raises(UsageError, match=r"give it too, as in mask\.summary\(net, shape=…\)"):
        mask.summary(shape=(36,))


def test_a_network_its_state_and_its_files_measure_alike(net, tmp_path):
    mask = pf.prune(net, "magnitude", density=0.3)
    mask.apply_(net)
    mask.save(tmp_path / "mask.safetensors")
    save_file(net.state_dict(), tmp_path / "net.safetensors")
    torch.save(net.state_dict(), tmp_path / "net.pt")
    found = pf.measure(net, layer="0", shape=(6, 6), mask=mask, data=(X, Y))
    assert found.frame().shape == (12, 10)
    kept = {"mask": tmp_path / "mask.safetensors"}
    others = [(net, {}), (nn.DataParallel(net), {}), (net.state_dict(), {"mask": mask}), (tmp_path / "net.pt", kept),
              (str(tmp_path / "net.safetensors"), {}), (net[0].weight, {})]  # fmt: skip
    for other, how in others:
        again = pf.measure(other, shape=(6, 6), data=DataLoader(TensorDataset(X, Y), batch_size=7), **how)
        np.testing.assert_array_equal(again.frame().to_numpy(), found.frame().to_numpy())
    assert found.plot().get_axes()[0].get_title(loc="left") == "0.weight: the 12 units with most kept inputs"
    assert "<table" in found._repr_html_()
    assert repr(found) == f"<Measurement: 0.weight: 12 units, density {mask.per_layer()['0.weight']:.4g}>"


def test_masks_of_torch_are_found_in_a_network(net):
    mask = pf.prune(net, "magnitude", density=0.3)
    expected = pf.measure(net, mask=mask).frame()
    mask.to_torch_prune(net)
    assert pf.measure(net).frame().equals(expected)


def test_layer_and_shape_may_be_left_out(net):
    assert pf.measure(net).shape == (36,)
    assert pf.measure(net, data=X.view(60, 6, 6)).shape == (6, 6)
    conv = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(32, 5))
    found = pf.measure(conv)
    assert (found.layer, found.shape, len(found.plot().axes)) == ("2.weight", (32,), 2)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            {"layer": "0.weigth"},
            r"unknown layer '0\.weigth'; did you mean '0\.weight'\? \(allowed: 0\.w",
        ),
        ({"layer": "1"}, r"unknown layer '1'.*\(allowed: 0\.weight, 2\.weight\)"),
        ({"layer": "2", "shape": (6, 6)}, r"layer 2\.weight has 12 inputs, the shape 6,6 has 36"),
        ({"shape": (5, 5)}, r"no layer in the network has 25 inputs.*layers found: 0\.weight \(12, 36\), 2\.weight"),
        ({"shape": (6, 0)}, "one to three positive sides"),
        ({"shape": (1, 1, 6, 6)}, "one to three positive sides"),
        ({"shape": 36}, "one to three positive sides.*not 36"),
        ({"shape": "6,6"}, "one to three positive sides.*not '6,6'"),
        ({"shape": (6.0, 6.0)}, "one to three positive sides"),
        ({"mask": 3}, "a mask must be a Mask, a matrix or a file of one, not int"),
        ({"mask": torch.ones(2, 2)}, r"the mask of 0\.weight is \(2, 2\), the weight \(12, 36\)"),
        ({"data": (X[:, :5], Y), "shape": (6, 6)}, r"an example of the data has 5 numbers, but 0\.weight has 36"),
        ({"data": (X / 0, Y)}, "numbers that are not finite"),
        ({"data": (X, X)}, r"y must have one class per example, shape \(60,\), not \(60, 36\)"),
        ({"data": {"a": X, "b": X, "y": Y}}, "a batch of the data has 2"),
        ({"data": []}, "there are no examples"),
    ],
)
def test_a_mistake_in_measuring_gets_one_line(net, how, said):
    with pytest.raises(UsageError, match=said) as caught:
        pf.measure(net, **how)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("odd", [3, "none.safetensors", nn.ReLU(), nn.LazyLinear(2), nn.Linear(2, 2, device="meta")])
def test_what_is_not_a_network_is_refused(odd):
    with pytest.raises(
        UsageError, match=r"must be a module|no such file|no layer in the network is linear|no values yet"
    ):
        pf.measure(odd)


def test_arrays_are_matrices_and_masks(net):
    weight, kept = net[0].weight.detach(), torch.rand(12, 36, generator=generator(0, "kept")) < 0.5
    found = pf.measure(weight.numpy(), shape=(6, 6), mask=kept.numpy()).frame()
    assert found.equals(pf.measure(net, shape=(6, 6), mask={"0.weight": kept}).frame())
    assert found.equals(pf.measure(net, shape=(6, 6), mask=kept).frame())


def test_a_prediction_has_a_line_sentences_a_table_and_a_picture():
    spins = pf.Task.parse("ising").sample(1000, generator=generator(0, "data"))
    found = pf.predict(spins.x, spins.y, inits=2, resamples=2, time=20)
    assert repr(found).startswith("<Prediction: Undecided")
    assert str(found).splitlines()[-2:] == found._list_fields()
    assert list(found.frame()["start"]) == [0, 1]
    assert "<table" in found._repr_html_()
    assert len(found.plot().axes) == 3
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_names_from_files_are_shown_and_not_obeyed():
    mask = pf.Mask({"<script>\x1b[31m": torch.ones(2, 2) > 0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "&lt;script&gt;" in mask._repr_html_()
        assert "\x1b" not in str(mask.summary())
        assert "\x1b" not in mask.summary().plot().axes[0].get_yticklabels()[0].get_text()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"net": "net"}, r"a network must be a torch\.nn\.Module, not str"),
        ({"start": {"0.weight": torch.ones(12, 36) > 0}}, "start must be a Mask"),
        ({"iterations": 2.5}, "iterations must be a whole number, not 2.5"),
        ({"floor": -1}, "floor must be a whole number and at least 0, not -1"),
        ({"floor": 1.5}, "floor must be a whole number and at least 0, not 1.5"),
        ({"reduce": "abs"}, "reduce and alpha are for sampled masks, but sample is 'never'"),
    ],
)
def test_a_mistake_in_pruning_gets_one_line(net, how, said):
    with pytest.raises(UsageError, match=said):
        pf.prune(**{"net": net, "score": "magnitude", "density": 0.5, **how})


def test_data_that_are_wrong_get_a_line_that_says_what_is_right(net):
    for data, words in [
        ((X, Y + 1), "Target 3 is out of bounds; labels are whole numbers from 0 to 2"),
        ("nlgp", "not str; draw a task's examples with Task.parse"),
        ((X, np.array(["a"] * 60, dtype=object)), "an array is object"),
    ]:
        with pytest.raises(UsageError, match=words):
            pf.prune(net, "snip", density=0.5, data=data)
    with pytest.raises(UsageError, match=r"x must be an array, not 'data\.npz'"):
        pf.predict("data.npz")


def test_arrays_that_may_not_be_written_are_read_without_a_warning(net):
    frozen = X.numpy().copy()
    frozen.flags.writeable = False
    pf.prune(net, "snip", density=0.5, data=(frozen, Y.numpy()))
    pf.predict(np.broadcast_to(frozen[:, :8], (4, 60, 8)).reshape(240, 8), inits=1, resamples=2)


def test_a_mask_says_what_it_takes(net):
    mask, optimizer = pf.prune(net, "magnitude", density=0.5), torch.optim.SGD(net.parameters(), lr=0.1)
    for call, words in [
        (lambda: mask.hold_(net), "hold_ needs the optimizers"),
        (lambda: mask.hold_(optimizer, net), "a network must be a torch.nn.Module, not SGD"),
        (lambda: mask.summary("net"), "a network must be a torch.nn.Module, not str"),
        (lambda: pf.Mask([True]), "a mask is a table"),
        (lambda: pf.Mask({"a": 1}), "'a' is int"),
        (lambda: pf.Mask.keep({"a": np.ones(3)}, 0.5), "scores must be tensors, 'a' is ndarray"),
    ]:
        with pytest.raises(UsageError, match=words):
            call()
    assert pf.Mask({"a": np.array([True, False])}).counts() == {"a": 1}
    assert repr(pf.Mask({"a": torch.ones(2) > 0})).startswith("Mask(1 layer, ")
    assert mask.frame().equals(mask.summary().frame())
    assert mask.plot().axes


def test_whole_numbers_of_numpy_are_seeds(net):
    assert pf.prune(net, "random", density=0.5, seed=np.int64(3)) == pf.prune(net, "random", density=0.5, seed=3)


def test_no_items_are_not_all_items_and_a_store_is_a_folder():
    for call, words in [
        (lambda: pf.reproduce([]), "leave it out for all"),
        (lambda: pf.reproduce(3), "not 3; leave it out for all"),
        (lambda: pf.Store(None), "a store is a folder, .* not None"),
        (lambda: pf.Study("neuron,task=nlgp").plan(5), "a store is a folder, .* not 5"),
    ]:
        with pytest.raises(UsageError, match=words):
            call()


def test_a_run_is_obtained_from_a_folder_by_name(tmp_path):
    run = pf.Study("neuron,task=nlgp,steps=2").runs[0]
    made = pf.obtain(str(tmp_path / "store"), run)
    read = pf.obtain(pf.Store(tmp_path / "store"), run)
    assert [record.values for record in made.records] == [record.values for record in read.records]


def test_a_finished_run_has_a_line_a_table_a_picture_and_a_cell_of_a_notebook(tmp_path):
    made = pf.obtain(tmp_path / "store", pf.Study("neuron,task=nlgp,steps=20,record_every=10").runs[0])
    assert repr(made) == "<Result: 3 records of step, time, loss, ipr, weights>"
    assert repr(made.records[1]).startswith("Record(step=10, time=0.5, loss=0.")
    assert made.frame()["step"].tolist() == [0, 10, 20]
    assert "<table" in made._repr_html_()
    assert [axes.get_ylabel() for axes in made.plot().axes] == ["time", "loss", "ipr"]
    with pytest.raises(UsageError, match="nothing to plot: 0 records"):
        type(made)([]).plot()


def test_a_convolution_is_not_an_unknown_layer():
    net = nn.Sequential(nn.Conv2d(3, 8, 5), nn.Flatten(), nn.Linear(8, 2))
    with pytest.raises(pf.Error, match=r"layer 0\.weight has the shape \(8, 3, 5, 5\); only linear layers"):
        pf.measure(net, layer="0")


def test_a_misspelt_key_is_not_reported_as_a_missing_one():
    with pytest.raises(pf.Error, match="unknown key 'tsk'; did you mean 'task'"):
        pf.Study({"kind": "neuron", "tsk": "nlgp"})


def test_a_task_is_not_an_array():
    with pytest.raises(pf.Error, match="x must be an array, not Nlgp; read a file or sample a task first"):
        pf.predict(pf.Task.parse("nlgp"))


@pytest.mark.parametrize(("what", "said"), [("neuron", "3 of 9 runs"), ("smoke scale", "3 of 9 runs, now neuron")])
def test_progress_does_not_say_the_same_word_twice(what, said, monkeypatch):
    notes = []
    monkeypatch.setattr(bars, "track_progress", lambda *_, **__: nullcontext(lambda *told: notes.append(told[2])))
    with bars.show_bar(what) as tell:
        tell(bars.Progress(1.0, 2.0, 3, 9, pf.Study("neuron,task=nlgp").runs[0]))
    assert notes == [said]


def test_odd_arrays_of_numpy_are_read_and_masked_ones_refused(net):
    x, y = X.numpy(), Y.numpy()
    expected = pf.prune(net, "snip", density=0.3, data=(X, Y))
    for how in ((x[::-1], y[::-1]), (x.astype(">f4"), y.astype(">i8"))):
        assert pf.measure(net, data=how).frame().round(4).equals(pf.measure(net, data=(X, Y)).frame().round(4))
        assert pf.prune(net, "snip", density=0.3, data=how) == expected
    hidden = np.ma.masked_array(x, mask=x > 1)
    for use in (pf.measure, lambda net, data: pf.prune(net, "snip", density=0.3, data=data)):
        with pytest.raises(UsageError, match="an array of the data is masked"):
            use(net, data=(hidden, y))
        with pytest.raises(UsageError, match=r"one batch has no tensors: \[0, "):
            use(net, data=(X, [0, *Y[1:].tolist()]))
    with pytest.raises(UsageError, match="labels contain numbers that are not finite"):
        pf.measure(net, data=(X, Y / 0.0))


def test_a_side_of_one_pixel_has_no_width_and_channels_that_may_be_last_are_noted(net):
    weight = net[0].weight.detach()
    for shape, name in (((36, 1), "weight_width_x"), ((1, 1, 36), "weight_width_y")):
        assert pf.measure(weight, shape=shape).frame()[name].isna().all()
    assert "means 6 channels of 6 × 1 pixels; if channels come last" in str(pf.measure(weight, shape=(6, 6, 1)))
    assert "channels" not in str(pf.measure(weight, shape=(4, 3, 3)))
