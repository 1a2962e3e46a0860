"""Published results: what is written, kept and dropped; what is shipped belongs to the items as they are."""

import json

import pytest

from prunefield.cli import main
from prunefield.core.names import modules
from prunefield.lab.execution import obtain, order_runs
from prunefield.papers import SCALES
from prunefield.report import publishing
from prunefield.report.ledger import Finding, find_items, read_finding
from prunefield.report.publishing import (
    compare_published,
    find_published,
    list_published,
    locate_published,
    publish,
    read_published,
)
from prunefield.report.reproduction import read_published_ledger

NAMES = ["bar2023/lemmaB.1", "bar2023/lemmaB.2"]
PAPERS = sorted({name.partition("/")[0] for name in modules("papers")})
SHIPPED = [(paper, scale) for paper in PAPERS for scale in SCALES if locate_published(paper, scale).exists()]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Where bar2023 is published at smoke scale, here."""
    monkeypatch.setattr(publishing, "locate_published", lambda paper, scale: tmp_path / f"{paper}-{scale}.json")
    return tmp_path / "bar2023-smoke.json"


def change(file, edit):
    document = json.loads(file.read_text())
    edit(document["items"])
    file.write_text(json.dumps(document))


def test_what_is_published_is_what_was_found(file, smoke):
    assert publish(smoke, find_items(NAMES), "smoke") == [file]
    findings = [read_finding(smoke, item, "smoke") for item in find_items(NAMES)]
    assert list(read_published("bar2023", "smoke")) == NAMES
    for finding in findings:
        found = find_published(finding.item)
        assert found.runs == {run.folder: result.digest for run, result in finding.results.items()}
        assert [claim["status"] for claim in found.as_json()["claims"]] == [r.verdict.status for r in finding.rows]
        assert found.seconds >= 0  # rounded: these take a few milliseconds
        assert compare_published(finding) == "same"
    before = file.read_bytes()
    publish(smoke, find_items(NAMES[:1]), "smoke")
    assert file.read_bytes() == before


def test_an_item_that_is_not_in_the_store_is_kept_and_one_that_is_gone_is_dropped(file, smoke, store):
    publish(smoke, find_items(NAMES), "smoke")
    before = file.read_bytes()
    change(file, lambda entries: entries.append({**entries[0], "item": "bar2023/lemma9.9"}))
    publish(store, find_items(["bar2023"]), "smoke")
    assert file.read_bytes() == before


def test_an_empty_store_publishes_nothing(file, store):
    assert publish(store, find_items(["bar2023"]), "smoke") == []
    assert not file.exists()


def test_another_result_differs_and_another_scale_is_not_compared(file, smoke):
    publish(smoke, find_items(NAMES[:1]), "smoke")
    finding = read_finding(smoke, *find_items(NAMES[:1]), "smoke")
    change(file, lambda entries: entries[0].update(digest="0"))
    assert compare_published(finding) == "differs"
    assert compare_published(Finding(finding.item, "laptop", finding.results)) is None


def test_more_or_fewer_runs_than_published_are_not_another_result(file, smoke):
    publish(smoke, find_items(NAMES[:1]), "smoke")
    finding = read_finding(smoke, *find_items(NAMES[:1]), "smoke")
    run, *rest = finding.results
    part = Finding(finding.item, "smoke", {other: finding.results[other] for other in rest}, missing=1)
    assert compare_published(part) is None
    change(file, lambda entries: entries[0].update(runs={}, digest="0"))
    assert compare_published(finding) is None
    change(file, lambda entries: entries[0].update(runs={run.folder: "0"}))
    assert compare_published(finding) == "differs"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Invalid JSON"),
        ('{"format": 1, "items": [{"item": "bar2023/lemmaB.1"}]}', "items.0.scale: Field required"),
        ('{"format": 2, "items": []}', "format: Input should be 1"),
    ],
)
def test_a_damaged_or_foreign_file_gets_one_line(file, content, reason, capsys):
    file.write_text(content)
    assert main(["claims", NAMES[0], "--published", "--scale", "smoke"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line
    assert "is not a file of published results" in line


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ({"laptop": 0, "night": 3}, "laptop"),
        ({"laptop": 0, "night": 0}, "night"),
        ({"smoke": 1, "night": 3}, "night"),
        ({"night": 3}, "night"),
    ],
)
def test_what_lacks_runs_does_not_stand_for_what_is_complete(monkeypatch, missing, expected):
    (item,) = find_items(["redman2025/fig4"])
    entry = read_published("redman2025", "laptop")[item.kind()]
    found = {
        scale: {item.kind(): entry.model_copy(update={"scale": scale, "missing": n})} for scale, n in missing.items()
    }
    monkeypatch.setattr(publishing, "read_published", lambda _, scale: found.get(scale, {}))
    assert find_published(item).scale == expected
    assert find_published(item, "night").missing == missing["night"]


def test_a_claim_that_only_a_smaller_scale_has_is_listed(monkeypatch):
    (item,) = find_items(["redman2025/fig4"])
    small = read_published("redman2025", "laptop")[item.kind()]
    claims = [claim for claim in small.claims if "(images)" not in claim.text]
    large = small.model_copy(update={"scale": "night", "claims": tuple(claims)})
    found = {"laptop": {item.kind(): small}, "night": {item.kind(): large}}
    monkeypatch.setattr(publishing, "read_published", lambda _, scale: found.get(scale, {}))
    listed = {entry.scale: entry.claims for entry in list_published(item)}
    assert listed == {"night": large.claims, "laptop": tuple(c for c in small.claims if "(images)" in c.text)}
    assert [entry.claims for entry in list_published(item, "laptop")] == [small.claims]
    assert len(read_published_ledger([item.kind()]).claims) == len(small.claims)


def test_an_item_that_lacks_runs_replaces_nothing_that_had_more(file, smoke, store, monkeypatch):
    (item,) = find_items(NAMES[:1])
    monkeypatch.setattr(type(item), "choose_runs", lambda self, planned, done, scale: done or None)
    first, *others = order_runs(item.runs("smoke"))
    obtain(store, first)
    publish(store, [item], "smoke")
    assert read_published("bar2023", "smoke")[item.kind()].missing == len(others) > 0
    publish(smoke, [item], "smoke")
    before = file.read_bytes()
    publish(store, [item], "smoke")
    assert file.read_bytes() == before
    assert read_published("bar2023", "smoke")[item.kind()].missing == 0


def test_a_file_of_another_scale_is_foreign(file, smoke):
    publish(smoke, find_items(NAMES), "smoke")
    file.rename(file.with_name("bar2023-laptop.json"))
    with pytest.raises(publishing.StoreError, match="at smoke scale"):
        read_published("bar2023", "laptop")


@pytest.mark.parametrize(("paper", "scale"), SHIPPED)
def test_shipped_results_belong_to_the_items_as_they_are(paper, scale):
    """If this fails after an edit of an item: `make publish STORE=…`, with the runs of that item in the store."""
    assert locate_published(paper, scale).stat().st_size < 1_000_000
    for name, found in read_published(paper, scale).items():
        (item,) = find_items([name])
        planned = {run.folder for run in order_runs(item.runs(scale))}
        assert set(found.runs) <= planned, name
        assert len(planned) == len(found.runs) + found.missing, name
        done = [run for run in order_runs(item.runs(scale)) if run.folder in found.runs]
        assert item.choose_runs(order_runs(item.runs(scale)), done, scale) == done, name
        stated = {(claim.text, claim.where, claim.expected, claim.decided_at): claim for claim in item.claims}
        shipped = [(claim.text, claim.where, claim.expected, claim.decided_at) for claim in found.claims]
        assert shipped == [words for words in stated if words in shipped], name
        assert all(claim.needs for words, claim in stated.items() if words not in shipped), name


def test_published_claims_need_no_store(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["claims", "--published", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    names = [entry["item"] for entry in document["items"]]
    assert sorted(names + document["absent"]) == sorted(modules("papers"))
    assert {claim["item"] for claim in document["claims"]} == set(names)
    assert list(tmp_path.iterdir()) == []
    assert main(["claims", names[0], "--published"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("item\tscale\tverdict\t")
    assert "fails, as it must" in text


def test_reproduce_says_whether_its_result_is_the_published_one(capsys, tmp_path):
    name = NAMES[1]
    command = ["reproduce", name, "--scale", "laptop", "--jobs", "1", "--store", str(tmp_path)]
    assert main([*command, "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["items"]
    found = read_published("bar2023", "laptop")[name]
    assert entry["published"] == ("same" if entry["digest"] == found.digest else "differs")
    assert main(command) == 0
    assert (
        "1 of 1 item as published" if entry["published"] == "same" else "unlike the published result"
    ) in capsys.readouterr().out
