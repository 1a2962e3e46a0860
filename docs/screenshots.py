"""Takes the screenshots of the README and of `docs/report.md` in Debian's chromium, after `make .venv/page`.

python docs/screenshots.py PAGE         of a page that `prunefield report` made
python docs/screenshots.py PAGE SITE    also of the built documentation, the folder `site`
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from shutil import which
from threading import Thread

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
WIDE, PHONE = (1280, 860), (390, 844)
VIEWS = {  # name: address, size, colours
    "report": ("#/fields", WIDE, "light"),
    "report-claims": ("#/claims", WIDE, "light"),
    "report-item": ("#/item/redman2025/fig4", WIDE, "dark"),
    "report-dynamics": ("#/dynamics", WIDE, "light"),
    "report-pruning": ("#/pruning", WIDE, "dark"),
    "report-phone": ("#/claims?paper=lufkin2024", PHONE, "light"),
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
COLOURS = 64


def main() -> None:
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: python docs/screenshots.py PAGE [SITE]")
    page, *site = map(Path, sys.argv[1:])
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=which("chromium"), args=FLAGS)
        for name, (address, size, scheme) in VIEWS.items():
            take(browser, name, page.resolve().as_uri() + address, size, scheme)
        for folder in site:
            with serve(folder) as address:
                take(browser, "site", f"{address}/gallery.html", WIDE, "light")
        browser.close()


def take(browser: Browser, name: str, address: str, size: tuple[int, int], scheme: str) -> None:
    """Opens an address, waits until it has drawn itself, and writes a PNG with few colours."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(address, wait_until="networkidle")
    page.wait_for_function("!document.querySelector('[aria-busy]')")
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    context.close()
    path = PICTURES / f"{name}.png"
    look = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 1, "dither": Image.Dither.NONE}
    image.quantize(COLOURS, **look).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KB")


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a folder, which a browser can search only if it is served."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    main()
