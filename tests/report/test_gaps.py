"""Stores that are empty, partial, damaged, foreign or huge: the page is made, and says what is missing."""

import json

import pytest

from prunefield.cli import main
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store
from prunefield.report.collecting import collect_findings
from prunefield.report.ledger import find_items
from prunefield.report.page import render_page
from prunefield.report.page.catalogue import select_runs
from prunefield.report.page.gaps import describe_store
from prunefield.runs.sketch import Sketch

ITEM = "bar2023/lemmaB.1"  # has few and short runs


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    for run in find_items([ITEM])[0].plan("smoke"):
        obtain(store, run)
    return store


@pytest.fixture
def copied(finished, tmp_path):
    import shutil

    shutil.copytree(finished.root, tmp_path / "store")
    return Store(tmp_path / "store")


def test_an_empty_store_has_a_page_with_the_commands(store, capsys):
    assert main(["report", "--store", str(store.root), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert ITEM in answer["missing"]
    found = collect_findings(store, find_items([ITEM]))
    (gap,) = found.missing
    assert gap["done"] == 0 < gap["needed"]
    assert gap["command"] == f"prunefield reproduce {ITEM} --scale smoke --store {store.root}"
    assert render_page([], store, missing=found.missing).startswith("<!doctype html>")


def test_an_item_with_the_same_runs_at_every_scale_is_at_the_first(store):
    (item,) = find_items(["lufkin2024/equation8"])
    assert len(item.scales) > 1
    assert item.plan("smoke") == item.plan("paper")
    for run in item.plan("smoke"):
        obtain(store, run)
    (finding,) = collect_findings(store, [item]).findings
    assert finding.scale == "smoke"


def test_a_folder_with_blanks_is_quoted_in_commands(tmp_path):
    store = Store(tmp_path / "my runs")
    (gap,) = collect_findings(store, find_items([ITEM])).missing
    assert gap["command"].endswith(f"--store '{store.root}'")
    assert describe_store(store)["quoted"] == f"'{store.root}'"


def test_a_partial_item_says_how_far_it_is(copied):
    run = find_items([ITEM])[0].plan("smoke")[0]
    copied.folder(run).remove()
    (gap,) = collect_findings(copied, find_items([ITEM])).missing
    assert gap["done"] == gap["needed"] - 1
    assert gap["seconds"] > 0


def test_a_missing_tensor_is_a_problem_of_its_item_alone(copied):
    run = find_items([ITEM])[0].plan("smoke")[0]
    (copied.folder(run).path / "tensors.safetensors").unlink()
    found = collect_findings(copied, find_items([ITEM, "lufkin2024/kur-kurtosis"]))
    assert "tensors.safetensors is missing" in found.problems[ITEM]
    assert f"prunefield runs remove {run.folder}" in found.problems[ITEM]
    (item,) = found.unreadable
    assert item["command"] == f"prunefield reproduce {ITEM} --scale smoke --store {copied.root}"
    assert len(found.findings) + len(found.missing) == 1
    assert render_page(found.findings, copied, missing=found.missing, unreadable=found.unreadable)


def test_a_run_whose_settings_were_edited_is_named_as_its_folder(store):
    run = Sketch(draws=4)
    obtain(store, run)
    path = store.folder(run).path / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tau": 2.0}))
    listed = select_runs(store, Sketch, 9)
    assert listed.runs == []
    assert f"prunefield runs remove {run.folder}" in listed.problems[run.folder]


def test_a_damaged_run_costs_claims_only_its_own_items(copied, capsys):
    other = "bar2023/lemma4.1"
    for run in find_items([other])[0].plan("smoke"):
        obtain(copied, run)
    run = find_items([ITEM])[0].plan("smoke")[0]
    (copied.folder(run).path / "tensors.safetensors").unlink()
    assert main(["claims", ITEM, other, "bar2023/theorem4.4", "--store", str(copied.root)]) == 1
    said = capsys.readouterr()
    assert f"{other}\tsmoke\treproduced" in said.out
    assert "bar2023/theorem4.4 is not in the store" in said.out
    assert f"{ITEM} is not" not in said.out
    (line,) = said.err.splitlines()
    assert line.startswith(f"prunefield: {ITEM} left out: {run.folder} is damaged: ")
    assert main(["claims", ITEM, other, "--store", str(copied.root), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["problems"]) == [ITEM]
    assert answer["absent"] == []
    assert {claim["item"] for claim in answer["claims"]} == {other}


def test_failed_stopped_and_foreign_runs_are_listed(copied):
    for name, files in {
        "imp-0000000000000000": {"settings.json": {}, "failure.json": {"message": "<b>no</b>", "records": []}},
        "imp-0000000000000001": {"settings.json": {}},
        "holiday <i>photos": {"a.json": {}},
    }.items():
        folder = copied.root / "runs" / name
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_text(json.dumps(content))
    found = describe_store(copied)
    assert [run["message"] for run in found["failed"]] == ["<b>no</b>"]
    assert [run["name"] for run in found["stopped"]] == ["imp-0000000000000001"]
    assert [run["name"] for run in found["foreign"]] == ["holiday <i>photos"]
    page = render_page([], copied)
    assert "<b>no" not in page
    assert "<i>photos" not in page


def test_ten_thousand_runs_are_counted_and_a_few_named(store):
    for number in range(10_000):
        (store.root / "runs" / f"imp-{number:016x}").mkdir(parents=True)
        (store.root / "runs" / f"imp-{number:016x}" / "settings.json").write_text("{}")
    found = describe_store(store)
    assert found["statuses"] == {"stopped": 10_000}
    assert len(found["stopped"]) == 200
    assert len(render_page([], store)) < 400_000
