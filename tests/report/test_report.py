"""The page: whole, self-contained, and nothing on it but what is in the store."""

import base64
import json
import math
import re
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import prunefield.papers
from prunefield.core.names import modules
from prunefield.engines.local import Local
from prunefield.lab.listing import read_owners, write_owner
from prunefield.lab.store import Store
from prunefield.report.item_files import read_item_files, write_item_files
from prunefield.report.ledger import find_items, read_finding
from prunefield.report.page import LARGEST, SCRIPTS, STYLES, hash_source, read_web_file, render_page
from prunefield.report.page.fields import compare_widths

VOID = {"col", "meta", "br", "link", "img", "input"}


class Elements(HTMLParser):
    """Notices tags that are not closed; keeps links, islands and the text of scripts and styles."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.texts: dict[str, str] = {}
        self.place = ""

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        self.place = found.get("data-island") or tag
        if found.get("http-equiv") == "Content-Security-Policy":
            self.texts["policy"] = found["content"]

    def handle_data(self, data):
        self.texts[self.place] = self.texts.get(self.place, "") + data

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.place = ""


def read_island(text: str) -> dict:
    data = zlib.decompress(base64.b64decode(text))
    return json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])


@pytest.fixture(scope="module")
def own(smoke, tmp_path_factory):
    """A store with the runs of one item of each paper, to which no other test adds any."""
    store = Store(tmp_path_factory.mktemp("own") / "store")
    for item in list_one_of_each_paper():
        finding = read_finding(smoke, item, "smoke")
        assert finding is not None
        for run in finding.results:
            shutil.copytree(smoke.folder(run).path, store.folder(run).path, dirs_exist_ok=True)
    return store


def list_one_of_each_paper():
    return find_items(list({name.partition("/")[0]: name for name in modules("papers")}.values()))


@pytest.fixture(scope="module")
def findings(own):
    return [read_finding(own, item, "smoke") for item in list_one_of_each_paper()]


@pytest.fixture(scope="module")
def page(findings, own):
    return render_page(findings, own)


@pytest.fixture(scope="module")
def elements(page):
    parser = Elements()
    parser.feed(page)
    return parser


def test_the_page_is_whole(elements, page):
    assert elements.open == []
    assert len(page) < LARGEST


def test_the_page_needs_nothing_from_elsewhere(elements):
    assert all(link.startswith(("#", "data:")) for link in elements.links)
    assert elements.texts["policy"].startswith("default-src 'none'")


def test_the_policy_allows_this_script_and_style_and_no_other(elements):
    for place in ("script", "style"):
        assert f"{place}-src '{hash_source(elements.texts[place])}'" in elements.texts["policy"]
    assert "unsafe" not in elements.texts["policy"]


def test_script_and_styles_are_small():
    names = [f"{name}.js" for name in SCRIPTS] + [f"{name}.css" for name in STYLES]
    assert sum(len(read_web_file(name).encode()) for name in names) < 300_000
    assert all(read_web_file(name).count("\n") <= 300 for name in names)


def test_the_script_never_makes_html_of_text():
    words = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    for name in SCRIPTS:
        assert not re.search(words, read_web_file(f"{name}.js")), name


def test_the_page_holds_every_claim_drawing_and_seed(elements, findings):
    index = read_island(elements.texts["index"])
    assert [item["name"] for item in index["items"]] == [finding.name for finding in findings]
    for item, finding in zip(index["items"], findings, strict=True):
        assert item["digest"] == finding.digest
        assert [claim["status"] for claim in item["claims"]] == [row.verdict.status for row in finding.rows]
        figure = read_island(elements.texts[f"item/{finding.name}"])
        assert figure["csv"].count("\n") == len(finding.table) + 1
        assert finding.item.title in figure["alt"]
        assert f"{finding.scale} scale" in figure["caption"]


def test_files_of_an_item(findings, tmp_path):
    paths = write_item_files(findings[0], Store(tmp_path))
    assert [path.suffix for path in paths] == [".csv", ".svg", ".pdf"]
    assert paths[0].read_text().count("\n") == len(findings[0].table) + 1
    assert paths[2].read_bytes().startswith(b"%PDF")


def test_nothing_is_drawn_twice(findings, tmp_path, monkeypatch):
    """Files are read again as long as they are whole and the results and the code behind them are the same."""
    finding, store = findings[0], Store(tmp_path)
    assert read_item_files(finding, store) is None
    write_owner(store.root, finding.name, finding.scale, ["run"])
    _, figure, _ = write_item_files(finding, store)
    assert read_owners(store.root) == {"run": [finding.name]}
    files = read_item_files(finding, store)
    assert files is not None
    assert files.contents["svg"] == figure.read_bytes()
    assert files.about["alt"].startswith(finding.item.title)
    with monkeypatch.context() as patch:
        patch.setattr(type(finding), "draw", None)
        write_item_files(finding, store)  # does not draw
        patch.setattr("prunefield.report.item_files.hash_sources", lambda: "other code")
        assert read_item_files(finding, store) is None
    whole = figure.read_bytes()
    figure.write_bytes(whole[:-1])
    assert read_item_files(finding, store) is None
    write_item_files(finding, store)
    assert figure.read_bytes() == whole


@pytest.mark.long
def test_the_page_is_the_same_from_files(findings, own, page, monkeypatch):
    for finding in findings:
        write_item_files(finding, own)
    monkeypatch.setattr(type(findings[0]), "draw", None)
    assert render_page(findings, own, engine=Local(jobs=1)) == page


def test_a_drawing_says_in_its_file_what_it_is(findings, tmp_path):
    for finding in findings:
        text = re.sub(r"\s+", " ", write_item_files(finding, Store(tmp_path))[1].read_text())
        for words in (finding.name, f"{finding.scale} scale", "n = ", finding.digest[:12]):
            assert words in text


def test_a_drawing_says_it_once(findings, tmp_path):
    """The line below a figure in a notebook is not repeated above the caption of its file."""
    for finding in findings:
        text = write_item_files(finding, Store(tmp_path))[1].read_text()
        assert text.count(f"n = {len(finding.table):,} rows") <= 2  # in the caption, and in the description
        assert finding.describe() not in text


def test_explorers_begin_with_the_most_local_fields():
    widths = np.full((3, 4, 3), 5.0)
    narrower = widths.copy()
    narrower[-1, :, 0] = 2.0
    nothing = np.full((3, 4, 3), np.nan)
    assert sorted(map(compare_widths, (nothing, widths, narrower))) == [0.4, 1.0, math.inf]


def test_no_legend_is_below_a_figure():
    """The caption of its file is there: a legend at the lower edge would move onto it."""
    folder = Path(prunefield.papers.__file__).parent
    assert [path.name for path in folder.rglob("*.py") if "outside lower" in path.read_text()] == []
