"""Studies from Python: what varies, what is executed, what is found, and one line for every odd use."""

import numpy as np
import pandas as pd
import pytest
from toy import Toy

import prunefield as pf
from prunefield.core.errors import UsageError
from prunefield.core.figures import PALETTE, encode_figure
from prunefield.engines import choose_engine
from prunefield.engines.local import Local
from prunefield.lab.results import _grows
from prunefield.lab.study import Study
from prunefield.tasks.nlgp import Nlgp

pytestmark = pytest.mark.usefixtures("workers")

TOY = {"kind": "toy", "steps": 20}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    study = Study(TOY, sweep={"seed": range(2), "scale": np.array([1.0, 3.0]), "fail_at": [None]})
    return study.run(tmp_path_factory.mktemp("study"), jobs=1, progress=False)


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "neuron", "task": "nlgp", "task.g": 3.0},
        {"kind": "neuron", "task": {"kind": "nlgp", "g": 3.0}},
        {"kind": "neuron", "task": "nlgp,g=3.0"},
        "neuron,task=nlgp,task.g=3.0",
        {"kind": "neuron", "task": pf.Task.parse("nlgp,g=3.0")},
        pf.Run.parse("neuron,task=nlgp,task.g=3.0"),
    ],
)
def test_every_spelling_of_settings_is_the_same_run(settings, tmp_path):
    (run,) = Study(settings).runs
    (tmp_path / "study.toml").write_text('kind = "neuron"\ntask = "nlgp"\n"task.g" = 3.0\n')
    assert Study.read(tmp_path / "study.toml").runs == [run]
    assert Study.read(tmp_path / "study.toml", ["task=nlgp", "task.g=3"]).runs == [run]


def test_a_sweep_may_exchange_whole_tables():
    study = Study("neuron", sweep={"task": ["ising", pf.Task.parse("nlgp,g=3")], "seed": (1, 2)})
    assert len(study) == 4
    assert study.varying[0] == "task.kind"
    assert study.varying[-1] == "seed"
    assert repr(study) == "<Study: 4 runs of neuron; sweep: task (2), seed (2)>"


def test_the_order_of_keys_does_not_matter(tmp_path):
    (run,) = Study("neuron,task=nlgp,task.g=3.0").runs
    assert Study({"kind": "neuron", "task.g": 3.0, "task": "nlgp"}).runs == [run]
    assert Study("neuron,task.g=3.0,task=nlgp").runs == [run]
    assert [each.task.g for each in Study("neuron", {"task.g": [1.0, 3.0], "task": ["nlgp"]}).runs] == [1, 3]
    with pytest.raises(UsageError, match=r"task\.g would have no effect, as the sweep replaces task"):
        Study({"kind": "neuron", "task.g": 3.0}, sweep={"task": ["nlgp", "nlgp,size=20"]})
    (tmp_path / "study.toml").write_text('kind = "neuron"\nsweep = {task = ["nlgp", "nlgp,size=20"]}\n')
    with pytest.raises(UsageError, match=r"task\.g would have no effect"):
        Study.read(tmp_path / "study.toml", ["task.g=3"])
    assert Study.read(tmp_path / "study.toml", ["task.g=3.0", "task=nlgp"]).runs == [run]


def test_a_sweep_over_kinds(tmp_path):
    assert (
        repr(Study({"task": "nlgp"}, {"kind": ["neuron", "flow"]}))
        == "<Study: 2 runs of neuron and flow; sweep: kind (2)>"
    )
    assert len(Study({"steps": 10}, {"kind": ["toy"]}).run(tmp_path, jobs=1, progress=False)) == 1


def test_results_are_a_tidy_table_of_what_varies(results):
    table = results.frame()
    assert list(table) == ["seed", "scale", "step", "mean"]
    assert len(table) == 4 * 2
    assert table["step"].tolist() == [9, 19] * 4
    last = results.frame(last=True)
    assert last[["seed", "scale"]].to_numpy().tolist() == [[0, 1], [0, 3], [1, 1], [1, 3]]
    for (_, result), mean in zip(results, last["mean"], strict=True):
        assert result.records[-1]["mean"] == mean
    assert len(results) == 4
    assert results[results.runs[0]].values[0] == table.loc[0, ["step", "mean"]].to_dict()


def test_results_look_well(results):
    assert repr(results) == f"<Results: 4 of 4 runs finished, in {results.store.root}>"
    assert "scale" in results._repr_html_()
    figure = results.plot()
    colours = {line.get_color() for axes in figure.axes for line in axes.lines}
    assert colours <= set(PALETTE)
    assert [axes.get_xlabel() for axes in figure.axes] == ["step"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["mean"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["scale = 1", "scale = 3"]
    assert len(figure.axes[0].lines) == 2 * (2 + 1)  # two seeds and their mean, for each scale
    other = results.plot(x="scale", y=["mean", "step"])
    assert [axes.get_ylabel() for axes in other.axes] == ["mean", "step"]
    assert other.axes[0].lines[0].get_xdata().tolist() == [1, 3]
    assert encode_figure(other, "png").startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="did you mean 'mean'"):
        results.plot(y="meen")


def test_of_many_seeds_only_some_have_a_line_of_their_own(results, monkeypatch):
    monkeypatch.setattr("prunefield.lab.results.SEEDS", 1)
    whole = [line.get_ydata().tolist() for line in results.plot().axes[0].lines]
    assert len(whole) == 2  # the means, still of both seeds
    frame = results.frame()
    assert whole[0] == pytest.approx(frame[frame["scale"] == 1].groupby("step")["mean"].mean().tolist())


@pytest.mark.parametrize(
    ("values", "does"),
    [([0, 1, 0, 1], True), ([0, 1, 1, 1], False), ([1, 0, 0, 1], False), ([0, 1, 0, None], False)],
)
def test_a_step_grows_in_each_run(values, does):
    table = pd.DataFrame({"seed": [0, 0, 1, 1], "step": values})
    assert _grows(table, ["seed"], "step") is does
    assert _grows(table, [], "step") is False
    assert _grows(table[::2], ["seed"], "step") is False  # one record for each run


def test_a_run_that_records_nothing_has_a_row_beside_others(tmp_path):
    found = Study({"kind": "toy"}, {"steps": [4, 20]}).run(tmp_path / "store", jobs=1, progress=False)
    assert [path.name for path in found.save(tmp_path)] == ["study.csv", "study.svg"]
    rows = pd.read_csv(tmp_path / "study.csv")
    assert rows["steps"].tolist() == [4, 20]
    assert rows["mean"].isna().tolist() == [True, False]


def test_a_drawing_of_odd_sweeps(tmp_path):
    common = {"kind": "neuron", "steps": 10, "inits": 1, "batch_size": 10}
    settings = {**common, "task": "nlgp"}
    tasks = ["nlgp", "ising", "nlgp,lengthscales=[1.0,2.0]"]
    found = Study(common, {"task": tasks}).run(tmp_path, jobs=1, progress=False)
    lines = [text.get_text() for text in found.plot().legends[0].get_texts()]
    assert lines[:2] == [
        "task.kind = nlgp, task.lengthscales = (1.0, 3.0)",
        "task.kind = ising@2, task.lengthscales = None",
    ]
    assert encode_figure(found.plot(x="task.lengthscales", y="ipr"), "png")
    back = Study(settings, {"task.g": [3.0, 1.0]}).run(tmp_path, jobs=1, progress=False).plot(x="task.g", y="ipr")
    assert back.axes[0].lines[0].get_xdata().tolist() == [1, 3]
    with pytest.raises(UsageError, match="is not finished: it was not executed"):
        found[Study(settings | {"seed": 99}).runs[0]]


def test_a_plan_says_what_is_stored_and_what_was_learnt(results, tmp_path):
    study = Study(TOY, sweep={"seed": [0, 7]})
    new = study.plan(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    assert new.frame()[["state", "learnt"]].to_numpy().tolist() == [["to do", 0]] * 2
    assert new.core_hours == pytest.approx(2 * Toy(steps=20).seconds() / 3600)
    assert new.notes() == []
    plan = study.plan(results.store)
    assert plan.frame()[["seed", "state", "learnt"]].to_numpy().tolist() == [[0, "stored", 4], [7, "to do", 4]]
    made = [results.store.folder(run).table("made")["seconds"] for run in results.runs]
    assert plan.core_hours * 3600 == pytest.approx(np.median(np.maximum(made, 1e-3)))
    assert "the times of toy are estimated from finished runs in this store" in str(plan)
    assert study.plan(results.store, device="cuda").frame()["learnt"].tolist() == [0, 0]
    assert encode_figure(plan.plot(), "png")


def test_a_plan_says_which_times_are_unknown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no store of a demo is
    plan = Study({"kind": "steady"}, sweep={"size": [160, 400]}).plan()
    assert plan.notes() == ["steady: time unknown until one has been run; each counts as 0.2 s"]


def test_similar_runs_teach_more_than_others_of_their_kind(store):
    study = Study(TOY, sweep={"of": [Toy(steps=10), Toy(steps=11)]})
    study.run(store, jobs=1, progress=False)
    Study(TOY, sweep={"seed": [3, 4, 5]}).run(store, jobs=1, progress=False)
    learnt = Study(TOY | {"of": Toy(steps=12)}).plan(store).frame().set_index("run")["learnt"]
    assert learnt.to_dict() == {Toy(steps=12).folder: 5, Toy(steps=20, of=Toy(steps=12)).folder: 2}


def test_a_failing_run_is_reported_and_the_others_are_there(store):
    results = Study(TOY, sweep={"fail_at": [None, 3]}).run(store, jobs=1, progress=False)
    assert {run.folder: reason for run, reason in results.failures.items()} == {
        Toy(steps=20, fail_at=3).folder: "the walk broke at step 3"
    }
    assert results.title.startswith("1 of 2 runs finished, 1 failed")
    assert "failed: the walk broke at step 3" in str(results)
    assert len(results.frame()) == 2


def test_nothing_finished_is_an_empty_table_and_one_line_for_a_plot(store):
    results = Study(TOY | {"fail_at": 3}).run(store, jobs=1, progress=False)
    assert results.frame().empty
    assert list(results) == []
    assert "failed" in results._repr_html_()
    with pytest.raises(UsageError, match="nothing to plot: 0 of 1 runs finished, 1 failed"):
        results.plot()


def test_one_run_without_a_sweep_is_plotted_against_its_steps(store):
    results = Study(TOY, sweep={}).run(store, jobs=1, progress=False)
    assert list(results.frame()) == ["step", "mean"]
    assert results.plot().axes[0].get_xlabel() == "step"


@pytest.mark.parametrize(
    ("settings", "sweep", "message"),
    [
        (TOY, {"sed": [1]}, "unknown key 'sed'; did you mean 'seed'?"),
        ({"kind": "neuron", "task": "nlgp"}, {"task.gg": [1]}, "unknown key 'gg'; did you mean 'g'?"),
        (TOY, {"seed": []}, "sweep takes non-empty lists"),
        (TOY, {"seed": 3}, "sweep takes non-empty lists"),
        (TOY, {"seed": "012"}, "sweep takes non-empty lists"),
        (TOY, {"seed": (n for n in [1])}, "sweep takes non-empty lists"),
        (TOY, [1, 2], "sweep takes a table of lists"),
        (TOY, {"seed.x": [1]}, "seed is 5, which has no settings of its own"),
        (TOY, {"seed": [1, 2]}, "seed has a value outside of the sweep, and is swept as well; remove one of the two"),
        ({"kind": "neuron", "task": "nlgp,g=3"}, {"task.g": [1.0, 2.0]}, "task.g has a value outside of the sweep"),
        ({"kind": "neuron", "task": {"kind": "nlgp"}}, {"task": ["ising"]}, "task has a value outside of the sweep"),
        ({"kind": "neuron", "task": Nlgp(), "task.g": 3}, {"task.g": [1.0]}, "task.g has a value outside of the sweep"),
        ({"kind": "neuron", "task": Nlgp()}, {"zip": {"task": ["ising"]}}, "task has a value outside of the sweep"),
        ({"steps": 3}, None, "a table with the key 'kind'"),
        (3, None, "a study needs a table of settings"),
        ("toi", None, "did you mean 'toy'?"),
        ("toy,steps", None, "a setting is written key=value, not 'steps'"),
    ],
)
def test_a_wrong_study_gets_one_line_when_it_is_made(settings, sweep, message):
    with pytest.raises(UsageError) as caught:
        Study(settings | {"seed": 5} if settings is TOY else settings, sweep)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_sweep_may_start_from_a_run_or_plug_in_which_have_every_setting():
    assert [run.seed for run in Study(Toy(seed=5), {"seed": [1, 2]})] == [1, 2]
    study = Study({"kind": "neuron", "task": Nlgp(g=3.0)}, {"task.g": [1.0, 2.0]})
    assert [run.task.g for run in study] == [1.0, 2.0]


def test_wrong_ways_to_execute_get_one_line_and_make_no_store(tmp_path):
    study = Study(TOY)
    for wrong in ({"jobs": 0}, {"engine": "lokal"}, {"device": "gpu"}):
        with pytest.raises(UsageError):
            study.run(tmp_path / "store", **wrong)
    assert not (tmp_path / "store").exists()
    with pytest.raises(UsageError, match="no store in"):
        study.results(tmp_path / "store")


def test_an_engine_is_chosen_by_name_settings_or_itself():
    assert choose_engine("local,jobs=3") == choose_engine({"kind": "local"}, 3) == choose_engine(Local(jobs=1), 3)


@pytest.mark.parametrize("notebook", [True, False])
def test_progress_is_shown_in_a_notebook_and_can_be_left_out(notebook, monkeypatch, capsys, store):
    import sys

    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr("prunefield.core.progress.PAUSE", 0.0)
    Study(TOY, sweep={"seed": [1, 2]}).run(store, jobs=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("\rtoy ━" in shown.err) == notebook
    assert "of 2 runs" in shown.err
    Study(TOY, sweep={"seed": [3, 4]}).run(store, jobs=1, progress=False)
    assert capsys.readouterr().err == ""


def test_equal_points_of_a_sweep_are_counted(tmp_path):
    study, lines = Study({"kind": "neuron", "task": "nlgp", "steps": 2}, sweep={"seed": [0, 1, 1, 1]}), []
    line = "repeated points in the sweep: 2 of 4; each run is executed once"
    assert next(iter(study.plan(tmp_path).notes())) == line
    assert len(study.run(tmp_path, jobs=1, progress=False, report=lines.append)) == 2
    assert lines == [line]
    assert Study({"kind": "neuron", "task": "nlgp"}, sweep={"seed": [0, 1]}).notes == []
