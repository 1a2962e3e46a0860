"""The tree: imports go down only, and `prunefield --help` loads nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import prunefield

ROOT = Path(prunefield.__file__).parent
LAYERS = (
    ("errors", "names", "plugin", "seeds", "files", "sizes"),
    (
        "data",
        "tasks",
        "nets",
        "scores",
        "inputs",
        "masks",
        "selection",
        "sketches",
        "recipe",
        "pools",
        "theory",
    ),
    ("runs", "train", "prune", "measure", "schedules"),
    ("store", "folder", "packing", "engines", "conditions", "execution", "study"),
    ("papers", "ledger", "report"),
    ("__main__", "cli", "options", "screen", "verbs"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = sorted(file for file in ROOT.rglob("*.py") if file != ROOT / "__init__.py")  # that one names them all


def imports(file: Path) -> set[str]:
    """The parts of prunefield that a file imports, type checking included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [f"{node.module}.{name}" for name in names]
        found |= {name.split(".")[1] for name in names if name.startswith("prunefield.")}
    return found


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(ROOT)) for file in FILES])
def test_imports_go_down_only(file):
    own = file.relative_to(ROOT).parts[0].removesuffix(".py")
    upward = {name for name in imports(file) if LEVEL.get(name, 0) > LEVEL[own]}
    assert not upward


def test_files_are_short():
    lengths = sorted(len(file.read_text().splitlines()) for file in FILES)
    assert lengths[-1] <= 300
    assert lengths[len(lengths) // 2] <= 100


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["reproduce", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    heavy = {"torch", "sklearn", "pandas", "matplotlib", "scipy", "numpy", "ray", "numba"}
    code = f"import sys; from prunefield.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n\
print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stderr.strip() == "[]"
    assert answer.stdout


def test_the_public_names_exist_and_are_lazy():
    assert set(prunefield.__all__) <= set(dir(prunefield))
    for name in prunefield.__all__:
        assert getattr(prunefield, name) is not None
    with pytest.raises(AttributeError, match="did you mean 'Mask'"):
        prunefield.Msk  # noqa: B018
