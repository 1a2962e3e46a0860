"""The page: whole, self-contained, and nothing on it but what is in the store."""

import re
from html.parser import HTMLParser

import pytest

from prunefield.core.names import modules
from prunefield.report.drawings import write_item_files as write_files
from prunefield.report.ledger import find_items, read_finding
from prunefield.report.page import render_page

VOID = {"col", "meta", "br", "link", "img", "input"}


class Balance(HTMLParser):
    """Notices tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]

    def handle_startendtag(self, tag, attrs):
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def findings(smoke):
    one_of_each_paper = {name.partition("/")[0]: name for name in modules("papers")}
    return [read_finding(smoke, item, "smoke") for item in find_items(list(one_of_each_paper.values()))]


@pytest.fixture(scope="module")
def page(findings, smoke):
    return render_page(findings, smoke)


def test_the_page_is_whole(page):
    parser = Balance()
    parser.feed(page)
    assert parser.open == []


def test_the_page_needs_nothing_from_elsewhere(page):
    parser = Balance()
    parser.feed(page)
    assert all(link.startswith(("#", "data:")) for link in parser.links)
    assert "<script" not in page


def test_the_page_holds_every_claim_drawing_and_seed(page, findings):
    text = re.sub(r"<[^>]+>", " ", page)
    assert page.count("<svg") >= len(findings)
    for finding in findings:
        assert f"{finding.name}: " in text
        assert finding.digest[:16] in text
        assert page.count(f'download="{finding.name.replace("/", "-")}-smoke.csv"') == 1
    for status in {row.verdict.status for finding in findings for row in finding.rows}:
        assert status in text


def test_files_of_an_item(findings, tmp_path):
    paths = write_files(findings[0], tmp_path)
    assert [path.suffix for path in paths] == [".csv", ".svg", ".pdf"]
    assert paths[0].read_text().count("\n") == len(findings[0].table) + 1
    assert paths[2].read_bytes().startswith(b"%PDF")
