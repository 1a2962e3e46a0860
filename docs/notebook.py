"""The notebook of the documentation: `tour.py` has its cells, `tour.ipynb` the cells with their outputs.

    python docs/notebook.py            executes the cells in an empty folder and writes the notebook
    python docs/notebook.py --check    says whether the cells of the notebook are those of `tour.py`

No package of Jupyter is needed: a cell is Python, and results know how they look. The same code and libraries give the
same file. As a hook of mkdocs this adds the notebook to the site as a page.
"""

import ast
import base64
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

SOURCE, NOTEBOOK = (Path(__file__).with_name(f"tour.{suffix}") for suffix in ("py", "ipynb"))


def read_cells(text: str) -> list[dict[str, Any]]:
    """The cells of a script with the marks `# %%` and `# %% [markdown]`, without outputs."""
    cells = []
    for kind, body in re.findall(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", text, re.DOTALL | re.MULTILINE):
        source = body.strip("\n")
        cell: dict[str, Any] = {"id": f"cell-{len(cells):02}", "metadata": {}}
        if kind:
            lines = [line.removeprefix("#").removeprefix(" ") for line in source.splitlines()]
            cells.append({"cell_type": "markdown", **cell, "source": _split("\n".join(lines))})
        else:
            code = {"execution_count": None, "outputs": [], "source": _split(source)}
            cells.append({"cell_type": "code", **cell, **code})
    return cells


def execute_cells(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells with their outputs; an error in a cell is raised."""
    scope: dict[str, Any] = {"__name__": "tour"}
    done, count = [], 0
    for cell in cells:
        if cell["cell_type"] == "code":
            count += 1
            outputs = list(_execute_code("".join(cell["source"]), scope, count))
            cell = {**cell, "execution_count": count, "outputs": outputs}
        done.append(cell)
    return done


def _execute_code(code: str, scope: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """What the code prints, then what its last expression is."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):  # bars of progress are not kept
        exec(compile(tree, "tour.py", "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "tour.py", "eval"), scope)
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _split(printed.getvalue())}
    if value is not None:
        yield {"data": show_value(value), "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def show_value(value: Any) -> dict[str, Any]:
    """A value as a notebook shows it: as a picture, as HTML, and as text."""
    png, html = (getattr(value, name, lambda: None)() for name in ("_repr_png_", "_repr_html_"))
    data: dict[str, Any] = {"image/png": base64.b64encode(png).decode()} if png else {}
    if html:
        data["text/html"] = _split(html)
    return {**data, "text/plain": _split(repr(value))}


def _split(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def make_notebook(cells: list[dict[str, Any]]) -> str:
    """The file of a notebook with these cells."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def is_current(notebook: dict[str, Any]) -> bool:
    """Whether the cells of a notebook are those of `tour.py`."""
    stored = [(cell["cell_type"], cell["source"]) for cell in notebook["cells"]]
    return stored == [(cell["cell_type"], cell["source"]) for cell in read_cells(SOURCE.read_text())]


def render_markdown(notebook: dict[str, Any]) -> str:
    """The notebook as a page: text, code, and its outputs; `py` is code that is shown and not executed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```py\n{source}\n```")
        parts += [_render_output(output) for output in cell.get("outputs", ())]
    link = f"This page is a notebook: [download it]({NOTEBOOK.name}) and run it in Jupyter or Colab."
    return "\n\n".join([parts[0], link, *parts[1:]]) + "\n"


def _render_output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        return f'<img alt="what plot() draws" src="data:image/png;base64,{data["image/png"]}">'
    if "text/html" in data:
        html = "".join(line.strip() for line in "".join(data["text/html"]).splitlines())
        styled = re.sub("<(table|tr) [^>]*>", "<\\1>", html)  # as the other tables of the site
        return f"<div>{styled}</div>"
    return f"```text\n{''.join(data['text/plain'])}\n```"


def on_files(files: Any, config: Any) -> Any:
    """Adds the page to the site; mkdocs calls this."""
    from mkdocs.structure.files import File

    page = render_markdown(json.loads(NOTEBOOK.read_text()))
    files.append(File.generated(config, "tour.md", content=page))
    return files


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python docs/notebook.py [--check]", file=sys.stderr)
        return 2
    if arguments:
        is_good = NOTEBOOK.exists() and is_current(json.loads(NOTEBOOK.read_text()))
        print(
            f"{NOTEBOOK.name} is up to date" if is_good else f"{NOTEBOOK.name} is not that of tour.py; run: make tour"
        )
        return 0 if is_good else 1
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        cells = execute_cells(read_cells(SOURCE.read_text()))
    NOTEBOOK.write_text(make_notebook(cells))
    print(f"{NOTEBOOK}: {NOTEBOOK.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
