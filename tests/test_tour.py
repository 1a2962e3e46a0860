"""The notebook of the documentation: its cells run, and what is stored in it is what they show."""

import json
from pathlib import Path
from runpy import run_path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
SCRIPT = run_path(str(DOCS / "notebook.py"))


@pytest.fixture(scope="module")
def notebook():
    return json.loads((DOCS / "tour.ipynb").read_text())


def list_outputs(cells):
    """For each cell the sorts of its outputs."""
    return [[sorted(output.get("data", output)) for output in cell.get("outputs", ())] for cell in cells]


def test_the_notebook_is_current_and_small(notebook):
    assert SCRIPT["is_current"](notebook), "run: make tour"
    assert (DOCS / "tour.ipynb").stat().st_size < 1_500_000
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))


@pytest.mark.long
def test_the_cells_run(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = SCRIPT["execute_cells"](SCRIPT["read_cells"]((DOCS / "tour.py").read_text()))
    assert list_outputs(cells) == list_outputs(notebook["cells"])
    assert sum("image/png" in str(output) for output in list_outputs(cells)) >= 5


def test_the_page_of_the_site_has_every_output(notebook):
    page = SCRIPT["render_markdown"](notebook)
    pictures = sum(
        "image/png" in output.get("data", ()) for cell in notebook["cells"] for output in cell.get("outputs", ())
    )
    assert page.startswith("# A tour of prunefield")
    assert page.count("data:image/png;base64,") == pictures
    assert page.count("```") % 2 == 0


@pytest.mark.parametrize("is_checkout", [True, False])
def test_the_first_cell_installs_from_the_checkout_that_the_notebook_lies_in(
    notebook, tmp_path, monkeypatch, is_checkout
):
    folder = tmp_path / "clone" / "docs"
    folder.mkdir(parents=True)
    if is_checkout:
        (folder.parent / "src" / "prunefield").mkdir(parents=True)
    commands = []
    monkeypatch.chdir(folder)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("subprocess.run", lambda command, check: commands.append(command))
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    exec("".join(first["source"]), {})
    assert commands[0][-1] == (str(folder.parent) if is_checkout else "prunefield")
    assert "needs a package index" in "".join(first["source"])
