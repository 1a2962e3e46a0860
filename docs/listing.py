"""Lists what the package has while the documentation is built, so that the pages of the API cannot go stale.

`<!-- kinds: FAMILY -->` becomes all kinds of a family with a table of their settings, and `<!-- modules: ROOM -->` all
modules of a room that are not on the page `api.md`.
"""

import re
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from prunefield.core.names import modules
from prunefield.core.plugin import Plugin, find_class

ROOT = Path(__file__).parent.parent
LISTED = re.compile(r"<!-- (kinds|modules): (\w+) -->")
LEVEL = "    options:\n      heading_level: 4\n"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page with its lists."""
    return LISTED.sub(lambda found: list_kinds(found[2]) if found[1] == "kinds" else list_modules(found[2]), markdown)


def list_kinds(family: str) -> str:
    """For each kind a heading, its settings and the API of its module."""
    room = import_module(f"prunefield.{family}")
    (root,) = (one for one in vars(room).values() if isinstance(one, type) and Plugin in one.__bases__)
    own = {name: module for name, module in modules(family).items() if module.startswith("prunefield.")}
    return "\n".join(
        f"### `{name}`\n\n{tabulate_settings(find_class(root, name))}\n::: {module}\n{LEVEL}"
        for name, module in own.items()
    )


def tabulate_settings(kind: type[Plugin]) -> str:
    """One row per setting: name, type, default and meaning."""
    rows = ["| setting | type | default | meaning |\n|---|---|---|---|\n"]
    for name, field in kind.model_fields.items():
        cells = (f"`{name}`", f"`{show_type(field.annotation)}`", show_default(field), field.description or "")
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return "".join(rows) if kind.model_fields else "It has no settings.\n"


def show_default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory_takes_validated_data:
        return "by other settings"
    value = field.get_default(call_default_factory=True)
    return f"`{value.kind()}`" if isinstance(value, Plugin) else f"`{value!r}`"


def show_type(found: Any) -> str:
    """A type as one writes it, without its constraints.

    >>> show_type(tuple[Annotated[int, "at least 1"], ...] | None), show_type(Literal["a", "b"])
    ('tuple[int, ...] | None', "'a' | 'b'")
    """
    origin, inner = get_origin(found), get_args(found)
    if origin is Annotated:
        return show_type(inner[0])
    if origin is Literal:
        return " | ".join(map(repr, inner))
    if origin in (Union, UnionType):
        return " | ".join(map(show_type, inner))
    name = {type(None): "None", Ellipsis: "..."}.get(found) or getattr(origin or found, "__name__", str(found))
    return f"{name}[{', '.join(map(show_type, inner))}]" if inner else name


def list_modules(room: str) -> str:
    """The API of each public module of a room; loops that numba compiles are no part of it."""
    shown = (ROOT / "docs" / "api.md").read_text()
    names = [f"prunefield.{room}.{path.stem}" for path in sorted((ROOT / "src/prunefield" / room).glob("[!_]*.py"))]
    return "\n".join(f"::: {name}\n" for name in names if name not in shown and not name.endswith("_kernels"))
