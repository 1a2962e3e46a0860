"""Pages of stores that are empty, or full of what is not meant to be there, in a browser."""

import json

import pytest

from prunefield.cli import main
from prunefield.lab.store import Store

ITEMS = ("redman2025/fig4", "lufkin2024/fig3", "bar2023/lemmaB.1")  # planning all of them takes a while
NAME = "<img src=x onerror=document.title='run'>"


def write_page(store, path):
    assert main(["report", *ITEMS, "--store", str(store.root), "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def empty(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    return write_page(Store(folder / "store"), folder / "page.html")


@pytest.mark.parametrize("view", ["#/claims", "#/fields", "#/dynamics", "#/pruning", "#/store"])
def test_an_empty_store_says_what_to_do(open_page, empty, view):
    text = open_page(view, file=empty).locator("main").inner_text()
    assert "prunefield reproduce" in text or "the command that makes it" in text


def test_names_with_html_in_them_are_shown_and_not_run(open_page, tmp_path):
    store = Store(tmp_path / NAME)
    for name, files in {
        f"imp {NAME}": {"a.json": {}},
        "imp-0000000000000000": {"settings.json": {}, "failure.json": {"message": NAME}},
    }.items():
        folder = store.root / "runs" / name
        folder.mkdir(parents=True)
        for file, content in files.items():
            (folder / file).write_text(json.dumps(content))
    page = open_page("#/store", file=write_page(store, tmp_path / "page.html"))
    text = page.locator("main").inner_text()
    assert f"imp {NAME}" in text
    assert f"imp-0000000000000000: {NAME}" in text
    assert page.locator("main img").count() == 0
    assert page.title() != "run"


def test_an_address_with_html_in_it_is_shown_and_not_run(open_page):
    page = open_page(f"#/item/{NAME}")
    assert "onerror" in page.locator("main").inner_text()
    assert page.locator("main img").count() == 0
