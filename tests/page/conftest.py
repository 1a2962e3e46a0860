"""A real browser on pages of real stores: Debian's chromium, driven by playwright. `make test-page` installs both.

Where there is no browser, every test here is skipped and says why. PRUNEFIELD_PAGE names a page, such as that of a
store at laptop scale, to be looked at instead of a small one that is made here.
"""

import base64
import json
import os
import re
import shutil
import zlib
from pathlib import Path

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ITEMS = ("redman2025/fig1", "lufkin2024/fig3", "bar2023/fig1", "bar2023/theorem4.4")
MODULES = Path(os.environ.get("PRUNEFIELD_NODE_MODULES") or Path(__file__).parents[2] / ".venv" / "node_modules")
AXE = MODULES / "axe-core" / "axe.min.js"


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.page)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="NO BROWSER TESTS: playwright is not installed")
    chromium = os.environ.get("PRUNEFIELD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("NO BROWSER TESTS: chromium is not installed; as root: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def page_file(browser, tmp_path_factory):
    """A page with items of all papers and runs for every explorer; made only where there is a browser."""
    from prunefield.cli import main
    from prunefield.report.reproduction import reproduce

    if given := os.environ.get("PRUNEFIELD_PAGE"):
        return Path(given)
    folder = tmp_path_factory.mktemp("page")
    assert not reproduce(ITEMS, "smoke", folder / "store", jobs=2, progress=False).failures
    assert main(["report", "--store", str(folder / "store"), "--out", str(folder / "report.html")]) == 0
    return folder / "report.html"


@pytest.fixture(scope="session")
def index(page_file):
    """What the page lists, from its first island."""
    text = re.search(r'data-island="index">([^<]*)<', page_file.read_text())[1]
    data = zlib.decompress(base64.b64decode(text))
    return json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])


@pytest.fixture
def open_page(browser, page_file):
    """Opens a view of the page; at the end nothing may have been requested, and no error may be in the console."""
    contexts, faults = [], []

    def open_view(address="#/claims", *, file=page_file, wide=True, scheme="light"):
        size = {"width": 1280, "height": 900} if wide else {"width": 390, "height": 844}
        context = browser.new_context(viewport=size, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)  # a loaded machine is not a failure
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: _check_request(request.url, faults))
        page.goto(f"{Path(file).as_uri()}{address}")
        page.wait_for_selector("main h1")
        return page

    yield open_view
    for context in contexts:
        context.close()
    assert faults == []


def _check_request(url: str, faults: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        faults.append(f"requested {url}")


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, which finds what people with disabilities cannot use."""
    if not AXE.exists():
        pytest.skip(f"NO CHECK BY AXE: {AXE} is not there; run `make test-page`")
    return AXE.read_text()
