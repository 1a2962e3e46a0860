"""The documentation in a browser: formulas, search and colours work, and nothing is requested from elsewhere."""

import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("index.html", "gallery.html", "theorems.html", "howto/paper.html", "papers/bar2023.html", "api-theory.html")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(browser, tmp_path_factory):
    """The address of a server of the site, which is built without running its code."""
    pytest.importorskip("mkdocs", reason="needs `make docs` once")
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PRUNEFIELD_DOCS": "quick"}, check=True, capture_output=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def open_docs(browser, address):
    """Opens a page; at the end nothing may have been requested from elsewhere, and no error be in the console."""
    faults: list[str] = []
    contexts = []

    def check_request(url):
        if not url.startswith((address, "data:", "blob:")):
            faults.append(f"requested {url}")

    def open_one(name, *, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: check_request(request.url))
        page.goto(address + name)
        page.wait_for_selector("article h1")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert faults == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone_and_its_pictures_are_there(open_docs, name):
    page = open_docs(name, width=390)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")


def test_formulas_are_shown(open_docs):
    page = open_docs("theorems.html")
    assert page.locator("math").count() > 100
    assert page.locator("math[display=block]").first.bounding_box()["height"] > 30
    assert "$" not in page.locator("article p").all_inner_texts()[-1]


def test_the_search_finds_a_word(open_docs):
    page = open_docs("index.html")
    page.locator("input.md-search__input").click()
    page.locator("input.md-search__input").press_sequentially("cavity")
    page.locator(".md-search-result__item a", has_text="Glossary").first.wait_for()


def test_colours_follow_the_system_and_the_switch(open_docs):
    page = open_docs("index.html", scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.locator("header label[title='Light colours']").click()
    page.wait_for_function(f"{colour} !== {dark!r}")
    assert open_docs("index.html").evaluate(colour) == page.evaluate(colour)


@pytest.mark.parametrize("width", [390, 1280])
def test_pictures_of_the_gallery_are_as_wide_as_their_cards(open_docs, width):
    page = open_docs("gallery.html", width=width)
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")
    measure = "(all) => all.map((one) => [one.clientWidth, one.clientHeight])"
    cards = page.locator(".gallery a:has(> img)").evaluate_all(measure)
    pictures = page.locator(".gallery img").evaluate_all(measure)
    assert len(cards) == len(pictures) > 40
    assert {width for width, _ in cards} == {width for width, _ in pictures}
    assert len({tall for _, tall in cards}) == 1
    assert max(tall for _, tall in pictures) > cards[0][1]  # of which the upper part is seen
