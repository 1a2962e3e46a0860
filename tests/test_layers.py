"""The tree: imports go down only, and `prunefield --help` loads nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import prunefield

ROOT = Path(prunefield.__file__).parent
ROOMS = (  # from the ground up; rooms on one line do not import each other
    ("core",),
    ("data", "theory", "modules"),
    ("tasks", "networks", "masks"),
    ("training",),
    ("scores",),
    ("measures",),
    ("pruning",),
    ("runs",),
    ("engines", "loggers"),
    ("lab",),
    ("papers",),
    ("report",),
    ("cli",),
)
LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}
FILES = sorted(file for file in ROOT.rglob("*.py") if file.parent != ROOT)


def name_module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_module(file): file for file in FILES}


def find_imports(tree: ast.AST) -> set[str]:
    """The modules of prunefield that code imports, without the name of the package."""
    found = set()
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            path = name.removeprefix("prunefield.")
            if path != name:
                found.add(path if path in MODULES else path.rpartition(".")[0] or path)
    return found


IMPORTS = {name: find_imports(ast.parse(file.read_text())) for name, file in MODULES.items()}


def test_the_root_has_no_loose_module():
    assert {file.name for file in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == set(LEVEL)


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down_only(name):
    own = name.partition(".")[0]
    others = {other.partition(".")[0] for other in IMPORTS[name]} - {own}
    assert not {other for other in others if LEVEL.get(other, 0) >= LEVEL[own]}


@pytest.mark.parametrize("name", MODULES)
def test_nobody_imports_a_private_file_of_another_room(name):
    for other in IMPORTS[name]:
        private = [place for place, part in enumerate(other.split(".")) if part.startswith("_")]
        assert all(name.split(".")[:place] == other.split(".")[:place] for place in private), other


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {name: [other for other in found if other in MODULES] for name, found in IMPORTS.items()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in graph[name]:
                visit(other, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_files_are_short():
    lengths = sorted(len(file.read_text().splitlines()) for file in FILES)
    assert lengths[-1] <= 300
    assert lengths[len(lengths) // 2] <= 100


def test_items_have_at_most_250_lines():
    long = [
        name for name, file in MODULES.items() if name.startswith("papers.") and file.read_bytes().count(b"\n") > 250
    ]
    assert not long


def test_one_name_means_one_thing():
    """Public functions and classes; a kind is named like its file, and every verb has the same two functions."""
    places: dict[str, list[str]] = {}
    for module, file in MODULES.items():
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                kind = node.name.replace("_", "").lower() == file.stem.replace("_", "").lower()
                verb = module.startswith("cli.verbs.") and node.name in ("add_options", "execute")
                if not verb and not (kind and module.startswith("papers.")):
                    places.setdefault(node.name, []).append(module)
    assert not {name: modules for name, modules in places.items() if len(modules) > 1}


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["reproduce", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    heavy = {"torch", "sklearn", "pandas", "matplotlib", "scipy", "numpy", "ray", "numba"}
    code = f"import sys; from prunefield.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n\
print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stderr.strip() == "[]"
    assert answer.stdout


def test_a_plan_does_not_import_the_compiler_of_torch(tmp_path):
    """It takes seconds, and nothing here compiles."""
    code = "import sys; from prunefield.report.reproduction import plan_items; plan_items(['bar2023/table1'])\n\
print({'torch._dynamo', 'sympy'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert answer.stdout.strip() == "set()"


def test_the_public_names_exist_and_are_lazy():
    assert {name for name in dir(prunefield) if not name.startswith("__")} == set(prunefield.__all__)
    assert (ROOT / "py.typed").exists()
    for name in prunefield.__all__:
        assert getattr(prunefield, name) is not None
    with pytest.raises(AttributeError, match="did you mean 'Mask'"):
        prunefield.Msk  # noqa: B018
