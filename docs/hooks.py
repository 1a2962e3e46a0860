"""Runs the code of the documentation while it is built, shows what it prints, and turns formulas into MathML.

In a page a fence `python` is executed, all fences of a page in one namespace and one empty folder, and in a fence
`console` every line `$ prunefield …`. What they print and the pictures they write are shown below. A fence `toml` whose
first line is `# NAME.toml` is written to that file. A fence of another language (`py`, `sh`) is only shown. Code that
fails stops the build. Formulas between dollars become MathML, which browsers show without a script. With
PRUNEFIELD_DOCS=quick nothing is executed.
"""

import base64
import io
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from functools import cache
from html import unescape
from pathlib import Path
from textwrap import fill
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(python|console|toml(?=\n# \S+\.toml\n))\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
SHOWN = {"span": "inline", "div": "block"}
WIDTH = 100  # of what is printed
MEDIA = {".svg": "image/svg+xml", ".png": "image/png"}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The text of a page with the output of its code; the changelog is the one of the project."""
    if page.file.src_uri == "changelog.md":
        return (ROOT / "CHANGELOG.md").read_text().replace("](docs/", "](")
    if os.environ.get("PRUNEFIELD_DOCS") == "quick" or not FENCE.search(markdown):
        return markdown
    return show_outputs(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """A page whose formulas are MathML."""
    from latex2mathml.converter import convert

    return FORMULA.sub(lambda found: convert(unescape(found[2]), display=SHOWN[found[1]]), html)


def show_outputs(markdown: str, name: str) -> str:
    """Executes the fences of a page in order and puts the output below each."""
    scope: dict[str, Any] = {"__name__": "docs"}

    def show(found: re.Match[str]) -> str:
        before = set(Path().iterdir())
        with capture_output() as output:
            try:
                execute_block(found[1], found[2], name, scope, output)
            except (Exception, SystemExit) as error:
                raise RuntimeError(f"{name}: {type(error).__name__}: {error}, in the block\n{found[2]}") from error
        pictures = sorted(path for path in set(Path().iterdir()) - before if path.suffix in MEDIA)
        printed = "\n".join(map(fold_line, output.getvalue().rstrip().splitlines()))
        if found[1] == "console":
            return f"```console\n{printed}\n```\n" + "".join(map(embed_picture, pictures))
        text = f'\n```text title="Output"\n{printed}\n```\n' if printed else ""
        return found[0] + text + "".join(map(embed_picture, pictures))

    with tempfile.TemporaryDirectory() as folder, chdir(folder), patch.dict(os.environ, COLUMNS=str(WIDTH)):
        prepare_session()
        return FENCE.sub(show, markdown)


def execute_block(language: str, code: str, name: str, scope: dict[str, Any], output: io.StringIO) -> None:
    """Python in its namespace, the commands of a console with their prompts, or a file."""
    if language == "toml":
        Path(code.split()[1]).write_text(code)
        return
    if language == "python":
        exec(compile(code, name, "exec"), scope)
        return
    from prunefield.cli import main

    for line in code.splitlines():
        output.write(f"{line}\n")
        program, *arguments = shlex.split(line.removeprefix("$ "), comments=True)
        if not line.startswith("$ ") or program != "prunefield":
            raise ValueError(f"a line of a console is a command that begins with `$ prunefield`, not {line!r}")
        try:
            status = main(arguments)
        except SystemExit as end:  # argparse, after --help
            status = end.code
        if status:
            raise ValueError(f"{line} has the exit status {status}")


def prepare_session() -> None:
    """The same start for every page: no screen, and no random stream left over from another one."""
    import matplotlib
    import torch

    matplotlib.use("Agg")
    declare_operators()
    torch.manual_seed(0)


@cache
def declare_operators() -> None:
    """Makes torchvision, which timm and transformers import, importable beside a CPU build of torch.

    Its builds on PyPI for Linux have a library for CUDA, which such a torch cannot load; without it their import
    fails because these two operators are missing. No page calls them.
    """
    import torch

    try:
        import torchvision  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        return
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


@contextmanager
def capture_output() -> Iterator[io.StringIO]:
    """What is printed, and what is warned about, as a terminal would show it."""
    output = io.StringIO()
    with redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_: output.write(f"{category.__name__}: {message}\n")
        yield output


def fold_line(line: str) -> str:
    """A long sentence in several lines; a row of a table, which has columns, as it is."""
    return line if len(line) <= WIDTH or "  " in line.strip() else fill(line, WIDTH, subsequent_indent="    ")


def embed_picture(path: Path) -> str:
    """A picture inside the page, so that nothing else has to be kept."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'\n<img alt="the picture {path.name} that this code draws" src="data:{MEDIA[path.suffix]};base64,{data}">\n'
