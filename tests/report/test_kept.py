"""Kept values: parts of an item that were computed in different stores are judged together, and nothing is trusted."""

import gzip
import json

import pytest

from prunefield.cli import main
from prunefield.core.errors import StoreError
from prunefield.core.names import modules
from prunefield.lab.execution import obtain, order_runs
from prunefield.lab.store import Store
from prunefield.papers import SCALES, Item
from prunefield.report import kept, page, publishing
from prunefield.report.collecting import collect_findings
from prunefield.report.item_files import stamp_finding
from prunefield.report.kept import locate_kept, read_kept_runs
from prunefield.report.ledger import Finding, find_items, read_finding
from prunefield.report.publishing import (
    describe_makers,
    find_with_kept,
    judge_kept,
    publish,
    read_published,
    read_with_kept,
)
from prunefield.report.reproduction import Reproduction, write_item
from prunefield.report.staleness import find_stale, list_unkept
from prunefield.runs import Record, Result

NAME = "bar2023/lemma4.5"
PAPERS = sorted({name.partition("/")[0] for name in modules("papers")})
SHIPPED = [(paper, scale) for paper in PAPERS for scale in SCALES if locate_kept(paper, scale).exists()]


@pytest.fixture
def item(tmp_path, monkeypatch):
    """A quick item that is judged by values, whose published files are here."""
    monkeypatch.setattr(publishing, "locate_published", lambda paper, scale: tmp_path / f"{paper}-{scale}.json")
    monkeypatch.setattr(kept, "locate_kept", lambda paper, scale: tmp_path / f"{paper}-{scale}.json.gz")
    (found,) = find_items([NAME])
    monkeypatch.setattr(type(found), "from_values", True)
    return found


def test_parts_from_two_stores_give_the_same_entry_as_one_store(item, smoke, tmp_path):
    publish(smoke, [item], "smoke")
    whole = read_published("bar2023", "smoke")[NAME]
    for file in tmp_path.glob("bar2023-*"):
        file.unlink()
    runs = order_runs(item.plan("smoke"))
    for place, part in (("one", runs[:1]), ("two", runs[1:])):
        assert NAME not in read_published("bar2023", "smoke")
        store = Store(tmp_path / place)
        for run in part:
            assert run in list_unkept([item], "smoke")[NAME]
            obtain(store, run)
        publish(store, [item], "smoke")
    parts = read_published("bar2023", "smoke")[NAME]
    assert parts.model_copy(update={"seconds": whole.seconds}) == whole
    assert list_unkept([item], "smoke", Store(tmp_path / "two")) == {NAME: []}


def test_items_are_judged_from_a_store_and_kept_values_together(item, smoke, tmp_path):
    first, *rest = order_runs(item.plan("smoke"))
    part, other = Store(tmp_path / "part"), Store(tmp_path / "other")
    obtain(part, first)
    publish(part, [item], "smoke")
    assert read_with_kept(other, item, "smoke") is None
    for run in rest:
        obtain(other, run)
    finding, whole = read_with_kept(other, item, "smoke"), read_finding(smoke, item, "smoke")
    assert finding.digest == whole.digest
    assert not other.folder(first).is_done
    written = write_item((str(other.root), NAME, "smoke", True))
    assert [claim["status"] for claim in written["claims"]] == [row.verdict.status for row in whole.rows]
    assert write_item((str(other.root), NAME, "smoke", False)) == {}


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """An item of two runs, the second of which measures the first, published from a store; both runs and the store."""
    monkeypatch.setattr(publishing, "locate_published", lambda paper, scale: tmp_path / f"{paper}-{scale}.json")
    monkeypatch.setattr(kept, "locate_kept", lambda paper, scale: tmp_path / f"{paper}-{scale}.json.gz")
    (item,) = find_items(["bar2023/fig2"])
    first, second = order_runs(item.plan("smoke"))
    whole = Store(tmp_path / "whole")
    obtain(whole, second)
    publish(whole, [item], "smoke")
    return item, first, second, whole


def change_kept(run):
    """The kept result of a run is said to be another."""
    runs = read_kept_runs("bar2023", "smoke")
    kept.write_kept_runs("bar2023", "smoke", runs | {run.folder: runs[run.folder].model_copy(update={"digest": "0"})})


def test_what_measures_another_result_of_a_run_is_not_taken_from_kept_values(pair, tmp_path):
    item, first, second, whole = pair
    name, part = item.kind(), Store(tmp_path / "part")
    obtain(part, first)
    assert list_unkept([item], "smoke", whole) == list_unkept([item], "smoke", part) == {name: []}
    change_kept(first)
    assert list_unkept([item], "smoke") == {name: []}
    assert list_unkept([item], "smoke", part) == {name: [second]}
    finding = read_with_kept(part, item, "smoke")
    assert (finding.kept, finding.results[first].digest) == (2, "0")
    assert {one["seconds"] for one in describe_makers(part, finding)} == {
        run.seconds for run in read_kept_runs("bar2023", "smoke").values()
    }
    with pytest.raises(
        StoreError, match=rf"{second.folder}: published .* than .*part has; .* reproduce {name} --scale"
    ):
        publish(part, [item], "smoke")
    obtain(part, second)
    publish(part, [item], "smoke")
    assert read_with_kept(part, item, "smoke").kept == 0
    assert read_kept_runs("bar2023", "smoke")[first.folder].digest == part.folder(first).read().digest


def test_another_result_does_not_go_with_the_kept_values_of_what_it_measures(pair):
    _, first, second, _ = pair
    runs = read_kept_runs("bar2023", "smoke")
    assert find_stale([first, second], runs, {second.folder: "0"}) == [first.folder]
    assert find_stale([first, second], runs, {first.folder: "0", second.folder: "0"}) == []
    assert find_stale([first, second], runs, {second.folder: runs[second.folder].digest}) == []
    only = {second.folder: runs[second.folder]}  # of a run that is not kept, so the store may have any result
    assert find_stale([first, second], only, {first.folder: "0"}) == [second.folder]


def test_items_that_share_a_run_are_published_together(pair, monkeypatch):
    item, first, _, whole = pair
    (other,) = find_items(["bar2023/fig1"])
    monkeypatch.setattr(type(other), "runs", lambda self, scale: [first])
    assert list_unkept([other, item], "smoke", whole)[item.kind()] == []
    monkeypatch.setattr(type(other), "from_values", False)
    assert list_unkept([other, item], "smoke", whole)[item.kind()] == []  # the store has the published result
    monkeypatch.setattr(type(other), "from_values", True)
    change_kept(first)
    with pytest.raises(StoreError, match=f"then publish together: {other.kind()} {item.kind()}$"):
        publish(whole, [item], "smoke")


def test_the_page_shows_what_follows_from_kept_values(item, smoke, tmp_path, capsys):
    publish(smoke, [item], "smoke")
    place = tmp_path / "nothing computed"
    empty = Store(place)
    (gap,) = collect_findings(empty, [item]).missing
    assert gap["done"] == 0
    (finding,) = collect_findings(empty, [item], published=True).findings
    assert finding.digest == read_finding(smoke, item, "smoke").digest
    made = describe_makers(empty, finding)
    assert [one["seconds"] for one in made] == [one["seconds"] for one in describe_makers(smoke, finding)]
    assert main(["report", NAME, "--published", "--store", str(place), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["missing"], answer["problems"]) == ([], {})


def test_a_page_of_kept_values_alone_has_its_items(item, smoke, tmp_path, monkeypatch):
    publish(smoke, [item], "smoke")
    empty, packed = Store(tmp_path / "nothing computed"), []
    monkeypatch.setattr(page, "pack_island", lambda document: packed.append(document) or "")
    page.render_page(collect_findings(empty, [item], published=True).findings, empty)
    (index,) = [document for document in packed if "unreadable" in document]
    (shown,) = index["items"]
    assert (index["unreadable"], shown["kept"], shown["published"]) == ([], shown["runs"], "kept")
    assert len(shown["claims"]) == len(item.claims)


def test_a_figure_of_kept_values_is_drawn_again_once_its_runs_are_stored(item, smoke, tmp_path):
    publish(smoke, [item], "smoke")
    finding = find_with_kept(Store(tmp_path / "nothing computed"), item, "smoke")
    stored = read_finding(smoke, item, "smoke")
    assert finding.digest == stored.digest
    assert stamp_finding(finding) != stamp_finding(stored)


def test_tables_and_figures_are_there_without_runs_in_the_store(item, smoke, tmp_path):
    publish(smoke, [item], "smoke")
    found = Reproduction(Store(tmp_path / "none"), {NAME: {"files": ["x.svg"], "claims": []}}, with_kept=True)
    claims = write_item((str(tmp_path / "none"), NAME, "smoke", True))["claims"]
    found.entries[NAME]["claims"].extend(claims)
    assert found.tables[NAME].equals(read_finding(smoke, item, "smoke").table)
    assert list(found.figures) == [NAME]


def test_the_store_counts_where_its_scale_is_as_large(item, smoke, monkeypatch):
    publish(smoke, [item], "smoke")
    read = []
    monkeypatch.setattr(kept.KeptRun, "as_result", lambda self: read.append(self))
    assert find_with_kept(smoke, item, "smoke").digest == read_finding(smoke, item, "smoke").digest
    assert read == []


def test_a_store_with_some_of_the_runs_is_judged_with_the_kept_ones(item, smoke, tmp_path, monkeypatch):
    """Also where the item could be judged by the runs of the store alone."""
    publish(smoke, [item], "smoke")
    monkeypatch.setattr(type(item), "choose_runs", lambda self, planned, done, scale: done)
    store, planned = Store(tmp_path / "part"), order_runs(item.plan("smoke"))
    obtain(store, planned[0])
    assert len(read_finding(store, item, "smoke").results) == 1
    finding = find_with_kept(store, item, "smoke")
    assert (len(finding.results), finding.missing, finding.kept) == (len(planned), 0, len(planned) - 1)
    entry = write_item((str(store.root), NAME, "smoke", True))
    assert (len(entry["runs"]), entry["published"]) == (len(planned), "same")
    assert write_item((str(tmp_path / "nothing"), NAME, "smoke", True))["published"] == "kept"


def test_values_of_runs_that_no_item_has_any_more_are_dropped(item, smoke):
    publish(smoke, [item], "smoke")
    runs = read_kept_runs("bar2023", "smoke")
    kept.write_kept_runs("bar2023", "smoke", {**runs, "outcomes-0123": next(iter(runs.values()))})
    publish(smoke, [item], "smoke")
    assert read_kept_runs("bar2023", "smoke") == runs


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[: len(b) // 2],
        lambda b: b"",
        lambda b: gzip.compress(b'{"runs": 3}'),
        lambda b: b[:10] + bytes(255 - byte for byte in b[10:]),  # zlib finds it, not gzip
    ],
)
def test_a_damaged_file_gets_one_line(item, smoke, tmp_path, damage):
    publish(smoke, [item], "smoke")
    file = tmp_path / "bar2023-smoke.json.gz"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(publishing.StoreError, match="is damaged"):
        read_kept_runs("bar2023", "smoke")


@pytest.mark.parametrize("name", [kind for kind in modules("papers") if Item.parse(kind).from_values])
def test_its_table_and_figure_need_no_tensors(name, smoke):
    """What `from_values` of an item promises."""
    (item,) = find_items([name])
    finding = read_finding(smoke, item, "smoke")
    assert finding is not None
    bare = {run: Result([Record(r.values) for r in result.records]) for run, result in finding.results.items()}
    without = Finding(item, "smoke", bare)
    assert without.table.equals(finding.table)
    assert without.draw().axes


@pytest.mark.parametrize(("paper", "scale"), SHIPPED)
def test_shipped_verdicts_follow_from_shipped_values(paper, scale):
    """Every item that is complete in the kept values gets its published verdicts, numbers included."""
    assert locate_kept(paper, scale).stat().st_size < 1_000_000
    runs, published = read_kept_runs(paper, scale), read_published(paper, scale)
    for item in find_items([paper]):
        finding = judge_kept(item, scale, runs) if scale in item.scales else None
        if finding:
            found = [(row.claim.text, row.verdict.status, row.verdict.observed, row.verdict.n) for row in finding.rows]
            shipped = [(c.text, c.status, c.observed, c.n) for c in published[item.kind()].claims]
            assert found == shipped, item.kind()
