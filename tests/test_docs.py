"""What the documentation shows is true: its Python runs, its commands exist, its studies can be read."""

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from runpy import run_path

import pytest

import prunefield
from prunefield.cli.options import Parser
from prunefield.core.names import modules
from prunefield.lab.study import Study
from prunefield.report.reproduction import read_ledger, reproduce

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_STUDIES = [ROOT / "README.md", *(ROOT / "docs" / page for page in ("tutorial.md", "howto/sweep.md"))]
HOOKS = run_path(str(ROOT / "docs" / "hooks.py"))
WITH_CODE = [page for page in PAGES if HOOKS["FENCE"].search(page.read_text())]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    # `make docs` runs the code of the site
    [pytest.param(page, marks=[pytest.mark.slow] * (page.parent != ROOT), id=name(page)) for page in WITH_CODE],
)
def test_the_code_runs(page):
    if "from transformers" in page.read_text():
        pytest.importorskip("transformers", reason="needs `make docs` once")
    shown = HOOKS["show_outputs"](page.read_text(), name(page))
    assert re.search(r'^```(text title="Output"|console)$', shown, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_exist(page):
    commands = [
        shlex.split(line, comments=True)
        for block in blocks(page, "sh")
        for line in block.splitlines()
        if line.startswith("prunefield ")
    ]
    for _, verb, *arguments in commands:
        module = import_module(modules("cli.verbs")[verb])
        parser = Parser(prog=verb)
        module.add_options(parser)
        assert parser.parse_args(arguments)


@pytest.mark.parametrize("page", WITH_STUDIES, ids=name)
def test_the_studies_can_be_read(page, tmp_path):
    studies = [block for block in blocks(page, "toml") if "kind =" in block]
    assert studies
    for block in studies:
        (tmp_path / "study.toml").write_text(block)
        assert len(Study.read(tmp_path / "study.toml")) > 1


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!http|#)([^)#]+)", prose):
        assert (page.parent / target).exists(), target


def test_the_tables_are_those_of_the_published_results():
    script = run_path(str(ROOT / "docs" / "results.py"))
    assert list(map(name, script["find_outdated"]())) == [], "run: make publish"
    filled = script["fill_tables"]("before\n<!-- published: lufkin2024/fig1 -->\nold\n<!-- end -->\nafter\n")
    assert re.fullmatch(r"before\n<.*>\n\n\| item \|(.*\|\n)+\n<.*>\nafter\n", filled)


def test_the_demo_in_the_readme_adds_up():
    screen = (ROOT / "README.md").read_text().partition("<!-- demo -->")[2].partition("Worth seeing")[0]
    assert f" of {len(modules('papers'))} items\n" in screen, (
        "after `make demo`: python docs/results.py --demo prunefield-out"
    )
    rows = re.findall(r"^(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", screen, re.MULTILINE)
    assert [row[0] for row in rows] == [*sorted({name.partition("/")[0] for name in modules("papers")}), "all"]
    assert all(int(total) == sum(map(int, parts)) for _, total, *parts in rows)
    *papers, whole = ([int(number) for number in row[1:]] for row in rows)
    assert whole == [sum(column) for column in zip(*papers, strict=True)]
    assert f"smoke scale: {whole[0]} claims " in screen


def test_the_demo_in_the_readme_is_made_from_a_store(tmp_path):
    reproduce(["bar2023/lemma4.1", "bar2023/lemmaB.2"], "smoke", tmp_path / "store", jobs=1, progress=False)
    script = run_path(str(ROOT / "docs" / "results.py"))
    found = read_ledger(["bar2023/lemma4.1", "bar2023/lemmaB.2"], "smoke", tmp_path / "store")
    page = "before\n<!-- demo -->\n\n```text\nold\n```\nafter\n"
    filled = script["fill_demo"](page, found)
    assert re.fullmatch(r"before\n<!-- demo -->\n\n```text\n(.+\n|\n)+```\nafter\n", filled)
    assert "prunefield-out/report.html" in filled
    assert str(tmp_path) not in filled
    assert script["fill_demo"](filled, found) == filled


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {prunefield.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """The page of the API, built as `make docs` does."""
    pytest.importorskip("mkdocs", reason="needs `make docs` once")
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    quick = {**os.environ, "PRUNEFIELD_DOCS": "quick"}  # the code is run above
    answer = subprocess.run(command, cwd=ROOT, env=quick, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return (site / "api.html").read_text()


def test_doctests_are_shown_as_code(api):
    assert "<blockquote>" not in api
    assert api.count('<span class="gp">&gt;&gt;&gt; </span>') > 50


def test_signatures_have_types(api):
    signature = api.partition('<h3 id="prunefield.masks.mask.Mask.keep"')[2].partition("</pre>")[0]
    assert 'title="torch.Tensor"' in signature
