"""The site is complete: every item, name, kind, verb and page is in it, and what it says is run and not written."""

import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from runpy import run_path

import pytest

import prunefield
from prunefield.core.names import FAMILIES, modules

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures" / "gallery"
HOOKS = run_path(str(DOCS / "hooks.py"))
LISTING = run_path(str(DOCS / "listing.py"))
ITEMS = [name for name, module in modules("papers").items() if module.startswith("prunefield.")]
NAMES = sorted(set(dir(prunefield)) - {"__version__"})


def read_directives(page: str) -> list[str]:
    """What mkdocstrings shows on a page."""
    return re.findall(r"^::: (\S+)$", (DOCS / page).read_text(), re.MULTILINE)


def test_the_gallery_has_all_items_with_their_pictures():
    text = (DOCS / "gallery.md").read_text()
    cards = re.findall(r"^\*\*\[(.+?)\]", text, re.MULTILINE)
    assert sorted(cards) == sorted(ITEMS)
    drawn = [path.stem.rpartition("-")[0] for path in PICTURES.glob("*.png")]
    assert len(drawn) == len(set(drawn)), "an item is drawn at two scales"
    assert set(drawn) <= {name.replace("/", "-") for name in ITEMS}, "a picture of an item that does not exist"
    assert text.count("](pictures/gallery/") == 2 * len(drawn)
    assert text.count("No picture yet") == len(ITEMS) - len(drawn)


def test_the_gallery_says_what_is_missing():
    script = run_path(str(DOCS / "results.py"))
    (item,) = script["find_items"](["lufkin2024/fig1"])
    card = script["make_card"](item, [])
    assert "Not published yet" in card
    assert "`prunefield reproduce lufkin2024/fig1 --scale laptop`" in card
    script["make_card"].__globals__["PICTURES"] = DOCS / "nowhere"
    assert "No picture yet" in script["make_card"](item, script["list_published"](item))


def test_pictures_of_items_show_published_results():
    script = run_path(str(DOCS / "pictures.py"))
    made = json.loads(script["MADE"].read_text())
    assert all((DOCS / "pictures" / name).exists() for name in made)
    assert {f"gallery/{path.name}" for path in PICTURES.glob("*.png")} <= set(made)
    assert not list(script["list_stale"](made))
    name = "redman2025-night-fig4.svg"
    assert list(script["list_stale"]({name: made[name] | {"digest": "another"}})) == [name]


def test_pictures_are_small():
    assert sum(path.stat().st_size for path in (DOCS / "pictures").rglob("*.*")) < 6e6


def test_the_api_has_every_name():
    shown = read_directives("api.md")
    places = {f"prunefield.{prunefield._PLACES[name]}.{name}" for name in NAMES}
    assert places <= set(shown), sorted(places - set(shown))


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"papers"}))
def test_the_api_has_every_kind(family):
    assert f"\n<!-- kinds: {family} -->\n" in (DOCS / "api-kinds.md").read_text()
    shown = LISTING["list_kinds"](family)
    for name, module in modules(family).items():
        if module.startswith("prunefield."):
            assert re.search(rf"^### `{name}`\n\n.*?\n::: {module}$", shown, re.DOTALL | re.MULTILINE)


def test_settings_are_listed_with_type_default_and_meaning():
    shown = LISTING["list_kinds"]("runs")
    assert "\n| `labels` | `'true' \\| 'random'` | `'true'` | training labels: the task's own, or random |\n" in shown
    assert "\n| `hidden` | `tuple[int, ...]` | `(1024, 1024)` | widths of the hidden layers |\n" in shown


@pytest.mark.parametrize("room", ["measures", "theory"])
def test_the_api_has_every_module(room):
    assert f"\n<!-- modules: {room} -->\n" in (DOCS / f"api-{room}.md").read_text()
    shown = LISTING["list_modules"](room) + (DOCS / "api.md").read_text()
    for path in (ROOT / "src" / "prunefield" / room).glob("[!_]*.py"):
        assert f"::: prunefield.{room}.{path.stem}" in shown or path.stem.endswith("_kernels")


@pytest.mark.parametrize("name", NAMES)
def test_the_front_door_is_typed(name):
    found = getattr(prunefield, name)
    functions = [found] if inspect.isfunction(found) else [value for key, value in vars(found).items() if key[0] != "_"]
    for function in functions:
        function = getattr(function, "__func__", function)
        if inspect.isfunction(function):
            signature = inspect.signature(function)
            assert signature.return_annotation is not signature.empty, function.__qualname__
            untyped = [one.name for one in signature.parameters.values() if one.annotation is one.empty]
            assert untyped in ([], ["self"], ["cls"]), function.__qualname__


def test_the_command_line_has_every_verb():
    text = (DOCS / "commands.md").read_text()
    assert re.findall(r"^\$ prunefield (\S+) --help$", text, re.MULTILINE) == re.findall(r"^## (\S+)$", text, re.M)
    assert {*re.findall(r"^## (\S+)$", text, re.MULTILINE)} == set(modules("cli.verbs"))


def test_every_page_can_be_found():
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages <= set(re.findall(r"- (?:\w+: )?(\S+\.md)$", nav, re.MULTILINE))


def test_no_page_asks_for_anything_from_elsewhere():
    text = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in text
    assert "http" not in text + (DOCS / "site.css").read_text()


def test_code_is_run_and_its_output_and_pictures_shown():
    draw = "from pathlib import Path\nPath('a.svg').write_text('<svg/>')"
    page = f"# A\n\n```python\nn = 1\nprint(n + 1)\n```\n\n```python\n{draw}\n```\n"
    shown = HOOKS["show_outputs"](page, "a.md")
    assert '```text title="Output"\n2\n```' in shown
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in shown
    assert not Path("a.svg").exists()
    console = HOOKS["show_outputs"]("```console\n$ prunefield --version\n```\n", "a.md")
    assert console == f"```console\n$ prunefield --version\nprunefield {prunefield.__version__}\n```\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("python\n1 / 0", r"a\.md: ZeroDivisionError: division by zero, in the block\n1 / 0"),
        ("console\n$ ls", "begins with `\\$ prunefield`"),
        ("console\n$ prunefield claims nothing", "exit status 2"),
    ],
)
def test_code_that_fails_stops_the_build(code, said):
    with pytest.raises(RuntimeError, match=said):
        HOOKS["show_outputs"](f"```{code}\n```\n", "a.md")


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml", reason="needs `make docs` once")
    shown = HOOKS["on_page_content"]('<p><span class="arithmatex">\\(a &lt; b\\)</span></p>')
    assert shown.startswith("<p><math")
    assert "&#x0003C;" in shown
    assert 'display="block"' in HOOKS["on_page_content"]('<div class="arithmatex">\\[x\\]</div>')


def test_every_directive_names_something():
    for name in read_directives("api.md"):
        module, _, last = name.rpartition(".")
        try:
            import_module(name)
        except ModuleNotFoundError:
            assert hasattr(import_module(module), last), name
