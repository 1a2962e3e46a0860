"""Pages of stores that are empty, or full of what is not meant to be there, in a browser."""

import json

import pytest

from prunefield.cli import main
from prunefield.lab.execution import obtain, order_runs
from prunefield.lab.store import Store
from prunefield.report.ledger import find_items

ITEMS = ("redman2025/fig4", "lufkin2024/fig3", "bar2023/lemmaB.1")  # planning all of them takes a while
NAME = "<img src=x onerror=document.title='run'>"


def write_page(store, path, items=ITEMS):
    assert main(["report", *items, "--store", str(store.root), "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def empty(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    return write_page(Store(folder / "store"), folder / "page.html")


@pytest.fixture(scope="module")
def damaged(browser, tmp_path_factory):
    """The page of a store in which two items share a damaged run and one item is missing."""
    folder = tmp_path_factory.mktemp("damaged")
    store, items = Store(folder / "my store"), ("bar2023/lemmaB.1", "bar2023/lemmaB.2", "bar2023/lemma4.1")
    plans = [order_runs(item.plan("smoke")) for item in find_items(list(items[:2]))]
    for run in {run for plan in plans for run in plan}:
        obtain(store, run)
    (shared, *_) = set(plans[0]) & set(plans[1])
    (store.folder(shared).path / "tensors.safetensors").unlink()
    return write_page(store, folder / "page.html", items)


@pytest.mark.parametrize("view", ["#/claims", "#/fields", "#/dynamics", "#/pruning", "#/store"])
def test_an_empty_store_says_what_to_do(open_page, empty, view):
    text = open_page(view, file=empty).locator("main").inner_text()
    assert "prunefield reproduce" in text or "the command that makes it" in text


def test_the_first_view_says_what_it_does_not_show(open_page, damaged):
    page = open_page("#/claims", file=damaged)
    page.get_by_text("1 item not finished, 2 items could not be read").wait_for()
    page.locator("#places a", has_text="What is missing (3)").click()
    page.get_by_role("heading", name="Items that could not be read").wait_for()
    assert page.get_by_text("is damaged: tensors.safetensors is missing").count() == 1  # for both items
    commands = page.locator(".command code").all_inner_texts()
    store = "'" + str(damaged.parent / "my store") + "'"
    assert f"prunefield reproduce bar2023/lemmaB.1 bar2023/lemmaB.2 --scale smoke --store {store}" in commands
    assert all(store in command for command in commands)


@pytest.mark.parametrize("name", ["bar2023/lemmaB.1", "bar2023/lemma4.1"])
def test_an_item_that_is_missing_or_unreadable_has_a_page_with_its_command(open_page, damaged, name):
    page = open_page(f"#/item/{name}", file=damaged)
    assert "Not on this page" not in page.locator("h1").inner_text()
    *others, command = page.locator(".command code").all_inner_texts()
    assert command.startswith(f"prunefield reproduce {name} --scale smoke --store '")
    assert [other.split()[:3] for other in others] == [["prunefield", "runs", "remove"]] * (name == "bar2023/lemmaB.1")


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
