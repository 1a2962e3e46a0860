"""Sweeps: grids, zips, samples and conditions say the same in TOML and in Python, and mean what they say."""

import itertools
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import Toy

import prunefield as pf
from prunefield.cli import main
from prunefield.core.errors import UsageError
from prunefield.lab.exports import encode_parquet
from prunefield.lab.expressions import Condition
from prunefield.lab.study import Study
from prunefield.lab.sweeps import Sweep

pytestmark = pytest.mark.usefixtures("workers")

TOY = {"kind": "toy"}


def test_the_runs_of_an_old_study_keep_their_names_and_order():
    """Lists alone: what a study could say before there were other words."""
    study = Study(TOY, sweep={"seed": [1, 0], "scale": [2.0, 1.0, 3.0]})
    names = [Toy(seed=seed, scale=scale).folder for seed in (1, 0) for scale in (2.0, 1.0, 3.0)]
    assert [run.folder for run in study.runs] == names
    assert study.count == 6


def test_toml_and_python_have_the_same_words(tmp_path):
    (tmp_path / "study.toml").write_text("""
        kind = "toy"
        [sweep]
        seed = [0, 1, 2]
        scale = { low = 0.01, high = 100.0, count = 5, log = true }
        skip = "seed == 2 and scale > 1"
        [[sweep.zip]]
        steps = [10, 20]
        fail_at = [15, 25]
        [sweep.random]
        count = 4
        seed = 7
        over = { pause = { low = 0.0, high = 0.5 } }
    """)
    sweep = {
        "seed": range(3),
        "scale": {"low": 0.01, "high": 100.0, "count": 5, "log": True},
        "skip": "seed == 2 and scale > 1",
        "zip": [{"steps": (10, 20), "fail_at": [15, 25]}],
        "random": {"count": 4, "seed": 7, "over": {"pause": {"low": 0.0, "high": 0.5}}},
    }
    read, made = Study.read(tmp_path / "study.toml"), Study(TOY, sweep=sweep)
    assert read.runs == made.runs
    assert read.count == 3 * 5 * 2 * 4
    assert len(read.runs) == 3 * 5 * 2 * 4 - 1 * 2 * 2 * 4
    assert {run.scale for run in read.runs} == {0.01, 0.1, 1.0, 10.0, 100.0}
    assert {(run.steps, run.fail_at) for run in read.runs} == {(10, 15), (20, 25)}
    assert not any(run.seed == 2 and run.scale > 1 for run in read.runs)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_grid_is_the_product_of_its_lists(lengths):
    sweep = Sweep({f"k{place}": list(range(length)) for place, length in enumerate(lengths)})
    points = [tuple(point.values()) for point in sweep]
    assert points == list(itertools.product(*(range(length) for length in lengths)))
    assert sweep.count == len(points)


@pytest.mark.parametrize("power", range(8))
def test_sobol_points_fill_every_interval_once(power):
    """The defining property of a Sobol sequence in each dimension, which a digital shift keeps."""
    over = {f"k{place}": {"low": 0.0, "high": 1.0} for place in range(5)}
    (part,) = Sweep({"sobol": {"count": 2**power, "seed": 3, "over": over}}).parts
    for column in zip(*part.points, strict=True):
        assert sorted(int(value * 2**power) for value in column) == list(range(2**power))


def test_two_dimensions_of_sobol_fill_every_square_once():
    over = {key: {"low": 0.0, "high": 1.0} for key in "ab"}
    for seed in range(5):
        (part,) = Sweep({"sobol": {"count": 64, "seed": seed, "over": over}}).parts
        assert len({(int(a * 8), int(b * 8)) for a, b in part.points}) == 64


def test_samples_depend_on_their_seed_and_name_alone():
    domain = {"low": 0.0, "high": 1.0}
    table = {"count": 10, "seed": 0, "over": {"a": domain}}
    draw = lambda **change: [point["a"] for point in Sweep({"random": table | change})]  # noqa: E731
    assert draw() == draw() != draw(seed=1)
    assert draw(over={"b": domain, "a": domain}) == draw() == draw(count=20)[:10]


def test_samples_stay_in_their_domain():
    over = {
        "whole": {"low": 2, "high": 4},
        "log": {"low": 1e-3, "high": 1e3, "log": True},
        "wide": {"low": 1, "high": 1000, "log": True},
        "choice": ["x", None, {"kind": "y"}],
    }
    (part,) = Sweep({"random": {"count": 3000, "over": over}}).parts
    whole, log, wide, choice = zip(*part.points, strict=True)
    for values, cases in ((whole, 3), (map(str, choice), 3)):
        counts = [values.count(value) for values in [list(values)] for value in dict.fromkeys(values)]
        assert len(counts) == cases
        assert all(abs(count - 1000) < 5 * 26 for count in counts)  # five standard deviations of a binomial
    assert set(whole) == {2, 3, 4}
    assert 1e-3 <= min(log) <= max(log) <= 1e3
    assert abs(sum(value < 1 for value in log) - 1500) < 5 * 28
    assert min(wide) == 1
    assert max(wide) <= 1000
    assert abs(sum(value < 32 for value in wide) - 1500) < 5 * 28
    assert all(float(f"{value:.6g}") == value for value in log)


@pytest.mark.parametrize(
    ("text", "settings", "answer"),
    [
        ("a.b == 1 or c in ['x', 'y']", {"a.b": 2, "c": "y"}, True),
        ("not (1 < a <= 3)", {"a": 3}, False),
        ("a * 2 + 1 > b / 4 - -1", {"a": 1, "b": 8}, False),
        ("a == [1, 2]", {"a": (1, 2)}, True),
        ("absent > 1 or absent < 1", {}, False),
        ("absent + 1 > 0", {}, False),
        ("absent == None and a != 'x'", {"a": "y"}, True),
        ("a % 2 == 0", {"a": 4}, True),
    ],
)
def test_conditions(text, settings, answer):
    assert Condition(text)(settings) is answer


@pytest.mark.parametrize(
    "text",
    ["", "a b", "f(1)", "__import__('os').system('true')", "a[0]", "lambda: 1", "9 ** 9 ** 9", "a is 1", "(a := 3)",
     "[x for x in 'ab']", "f'{a}'", "1j", "a.b().c", "(" * 5000, "-" * 9999 + "1", "a" * 20_000, "a if b else c"],
)  # fmt: skip
def test_what_is_not_a_condition_gets_one_line(text):
    with pytest.raises(UsageError, match=r"is not a condition|cannot be decided") as error:
        Condition(text)({"a": 1})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["a * 'x' == 1", "[1] * 9 == 1", "1 / 0 == 1", "a < 'x'", "1 in 3"])
def test_what_cannot_be_decided_gets_one_line(text):
    with pytest.raises(UsageError, match="cannot be decided"):
        Condition(text)({"a": 1})


@given(st.text(max_size=30))
def test_any_text_is_a_condition_or_one_line(text):
    try:
        Condition(text)({"a": 1})
    except UsageError as error:
        assert len(str(error)) < 1000  # noqa: PT017


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"zip": {"seed": [1, 2], "scale": [1.0]}}, "must all have the same length: seed has 2, scale has 1"),
        ({"zip": {}}, "must all have the same length: it is empty"),
        ({"seed": [1], "zip": {"seed": [1, 2]}}, "sweep sets seed twice"),
        ({"random": {"count": 3}}, "sweep.random needs settings"),
        ({"random": {"count": 3, "over": {}, "x": 1}}, "unknown key of sweep.random 'x'"),
        ({"random": {"count": 0, "over": {"seed": [1]}}}, "the count of sweep.random"),
        ({"sobol": {"count": 10**9, "over": {"seed": [1]}}}, "the count of sweep.sobol"),
        ({"sobol": {"count": 4, "seed": 1.5, "over": {"seed": [1]}}}, "the seed of sweep.sobol"),
        ({"random": {"count": 3, "over": {"scale": {"low": 2, "high": 1}}}}, "low must be a number below high"),
        ({"random": {"count": 3, "over": {"scale": {"low": 0, "high": 10**400}}}}, "low must be a number below high"),
        ({"random": {"count": 3, "over": {"scale": {"low": "a", "high": 1}}}}, "low must be a number below high"),
        ({"random": {"count": 3, "over": {"scale": {"low": 0.0, "high": 1.0, "log": True}}}}, "low positive"),
        ({"scale": {"low": 0.0, "high": 1.0}}, "the count of scale"),
        ({"scale": {"low": 0.0, "high": 1.0, "step": 2}}, "unknown key of scale 'step'"),
        ({"seed": [1, 2], "skip": "seed > 0"}, "the sweep skips every combination"),
        ({"seed": [1, 2], "skip": "sed > 1"}, "unknown setting 'sed'; did you mean 'seed'"),
        ({"seed": list(range(2000)), "scale": [1.0] * 2000, "skip": "seed > 9"}, "at most 1,000,000 combinations"),
    ],
)
def test_a_wrong_sweep_gets_one_line(sweep, message):
    with pytest.raises(UsageError) as error:
        Study(TOY, sweep=sweep)
    assert message in str(error.value)


def test_a_combination_that_is_skipped_need_not_be_valid():
    study = Study(TOY, sweep={"steps": [0, 1, 2], "seed": [0, 1], "skip": "steps < 1"})
    assert [run.steps for run in study.runs] == [1, 1, 2, 2]


def test_conditions_know_defaults():
    assert [run.seed for run in Study(TOY, sweep={"seed": [0, 1, 50], "skip": "seed == steps"}).runs] == [0, 1]


def test_a_change_ends_the_sweep_over_its_setting(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        'kind = "toy"\nsweep.zip = {seed = [1, 2], steps = [3, 4]}\n'
        "sweep.random = {count = 5, over = {scale = {low = 1.0, high = 2.0}}}\n"
    )
    assert Study.read(path).count == 10
    assert {run.seed for run in Study.read(path, ["seed=9"]).runs} == {9}
    assert Study.read(path, ["scale=1"]).count == 2
    assert Study.read(path, ["scale=1", "seed=1", "steps=2"]).count == 1


def test_a_sweep_ends_with_a_table_and_a_picture(tmp_path, capsys):
    path, store = tmp_path / "mine.toml", tmp_path / "store"
    path.write_text('kind = "toy"\nsteps = 10\nsweep.seed = [0, 1]\nsweep.scale = [1.0, 2.0]\n')
    assert main(["sweep", str(path), "--store", str(store), "--jobs", "1", "--json", "--parquet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["files"] == [str(store / "studies" / f"mine.{ending}") for ending in ("csv", "parquet", "svg")]
    pandas = pytest.importorskip("pandas")
    for table in (pandas.read_csv(found["files"][0]), pandas.read_parquet(found["files"][1])):
        assert list(table)[:3] == ["run", "seed", "scale"]
        assert list(table["mean"]) == [entry["records"][-1]["mean"] for entry in found["runs"]]
    assert main(["runs", "table", "--store", str(store), "--parquet", str(tmp_path / "all.parquet")]) == 0
    assert len(pandas.read_parquet(tmp_path / "all.parquet")) == 4
    many = pf.Study(TOY | {"steps": 10}, sweep={"scale": [float(n) for n in range(1, 31)]})
    files = many.run(store, jobs=1, progress=False).save(tmp_path / "many")
    assert [file.name for file in files] == ["study.csv", "study.svg"]


def test_parquet_without_pyarrow_is_one_line_before_anything_is_computed(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "mine.toml"
    path.write_text('kind = "toy"\nsweep.seed = [0, 1]\n')
    assert main(["sweep", str(path), "--store", str(tmp_path / "store"), "--parquet"]) == 2
    assert capsys.readouterr().err == "prunefield: Parquet needs pyarrow; run: pip install 'prunefield[parquet]'\n"
    assert not (tmp_path / "store").exists()


def test_a_place_for_the_table_that_cannot_be_is_one_line_before_anything_is_computed(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text('kind = "toy"\nsweep.seed = [0, 1]\n')
    assert main(["sweep", str(path), "--store", str(tmp_path / "store"), "--out", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"prunefield: cannot make the folder {path}: file exists; choose another")
    assert not (tmp_path / "store").exists()


def test_parquet_holds_lists_and_mixed_columns():
    import io

    import pandas

    table = pandas.DataFrame({"a": [(1, 2), None], "b": ["x", 3], "c": [1.5, None], "d": [None, "y"]})
    found = pandas.read_parquet(io.BytesIO(encode_parquet(table)))
    assert found["a"][0] == "[1, 2]"
    assert found["a"].isna()[1]
    assert list(found["b"]) == ["x", "3"]
    assert found["c"][0] == 1.5
