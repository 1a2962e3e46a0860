"""Plug-ins: frozen settings with a kind, one file each.

A family's root (`Task`, `Score`, `Run`, …) subclasses `Plugin` directly; each of its kinds is one final class in one
file of the family's sub-package. A field that is annotated with a root takes any kind of it: an instance, a name with
or without settings (`nlgp,g=3`), or a table with the key `kind`, so that settings nest and survive JSON and TOML.
"""

import hashlib
import sys
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic_core import CoreSchema, core_schema

from prunefield.core.encoding import make_encoder
from prunefield.core.errors import UsageError, unknown
from prunefield.core.names import find_module, list_presets, modules, name_of
from prunefield.core.settings import put_setting, read_settings

BITS = 63  # of the largest whole number
PLAIN = (int, float, str, type(None))  # asked first: whether a value is a plug-in is a slow question
_canonical = make_encoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class Plugin(BaseModel):
    """Frozen settings. `version` is raised whenever the same settings begin to give different numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)
    family: ClassVar[str]
    version: ClassVar[int] = 1

    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        """Whole numbers must fit into 64 bits."""
        for name, value in self.__dict__.items():  # a plain loop: a sweep makes hundreds of thousands of these
            if isinstance(value, int):
                is_small = value.bit_length() <= BITS
            elif isinstance(value, tuple):
                is_small = all(item.bit_length() <= BITS for item in value if isinstance(item, int))
            else:
                continue
            if not is_small:
                raise UsageError(f"{name} must be below 2^{BITS} in magnitude")
        return self

    @classmethod
    def kind(cls) -> str:
        """The name of this kind, which is that of its file."""
        return _name_kind(cls.__module__, cls.family)

    def settings(self) -> dict[str, Any]:
        """All settings, defaults included, as plain JSON values; `parse` takes them back."""
        kind = self.kind() if self.version == 1 else f"{self.kind()}@{self.version}"
        return {"kind": kind, **self.__pydantic_serializer__.to_python(self, mode="json")}  # quicker than `model_dump`

    @property
    def id(self) -> str:
        """A hash of the settings: any change of a value changes it, the order of keys does not."""
        return hash_settings(self.settings())

    def nested(self) -> "list[Plugin]":
        """The plug-ins among its settings, those in tuples included."""
        found: list[Plugin] = []
        values = self.__dict__
        for name in type(self).__pydantic_fields__:
            value = values[name]
            if isinstance(value, tuple):
                found += [item for item in value if isinstance(item, Plugin)]
            elif not isinstance(value, PLAIN) and isinstance(value, Plugin):
                found.append(value)
        return found

    def require(self) -> None:
        """Raises one clear line if what this or a nested plug-in reads, such as a data set, is not there."""
        for plugin in self.nested():
            plugin.require()

    @classmethod
    def parse(cls, value: Any) -> Self:
        """An instance from an instance, from NAME[,KEY=VALUE…] or from a table with the key `kind`.

        A name is that of a kind or of common settings (`names.list_presets`).
        """
        if not isinstance(value, dict) and isinstance(value, cls):
            return value
        table = read_settings(value) if isinstance(value, str) else value
        if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
            what = cls.__name__.lower()
            article = "an" if what[0] in "aeiou" else "a"
            raise UsageError(f"{article} {what} must be a name or a table with the key 'kind', not {repr(value)[:200]}")
        kind, _, version = table["kind"].partition("@")
        name = find_module(cls.family, kind)
        if name is None and (usual := list_presets(cls.family).get(kind)):
            return cls.parse({**usual, **table, "kind": usual["kind"]})
        final = _find_class_in(cls, _load_module(name)) if name else find_class(cls, kind)
        if version and version != str(final.version):
            raise UsageError(
                f"{cls.__name__.lower()} {table['kind']!r} was made by another version of prunefield; this one has "
                f"{kind}@{final.version}"
            )
        settings: dict[str, Any] = {}
        for key, item in table.items():
            if key != "kind":
                put_setting(settings, str(key), item)
        try:
            return final.__pydantic_validator__.validate_python(settings)  # quicker than `model_validate`
        except ValidationError as error:
            raise UsageError(f"{kind}: {_one_line(error, final)}") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if "family" not in vars(cls):  # not the root of a family
            return handler(source)
        return _schema(cls.parse)


def hash_settings(settings: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits for settings as JSON holds them."""
    return hashlib.sha256(_canonical(settings).encode()).hexdigest()[:16]


class Nested:
    """Marks a field that takes only some kinds of a family: `of: Annotated[Imp, Nested()]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        root: type[Plugin] = next(base for base in source.__mro__ if "family" in vars(base))

        def parse(value: Any) -> Plugin:
            plugin = root.parse(value)
            if not isinstance(plugin, source):
                fitting = [kind for kind in modules(root.family) if issubclass(find_class(root, kind), source)]
                what = f"{root.__name__.lower()} {plugin.kind()!r}"
                raise UsageError(f"the {what} does not fit here (allowed: {', '.join(fitting)})")
            return plugin

        return _schema(parse)


def _schema(parse: Callable[[Any], Plugin]) -> CoreSchema:
    """A nested plug-in: read by `parse`, written with its kind."""
    written = core_schema.plain_serializer_function_ser_schema(lambda plugin: plugin.settings())
    return core_schema.no_info_plain_validator_function(parse, serialization=written)


P = TypeVar("P", bound=Plugin)


@cache
def _name_kind(module: str, family: str) -> str:
    """The name that belongs to a module of a family; sweeps ask for it hundreds of thousands of times."""
    _, _, path = module.partition(f".{family}.")
    return name_of((path or module.rpartition(".")[2]).replace(".", "/"))


def find_class(root: type[P], kind: str) -> type[P]:
    """The class of a kind: the one subclass of `root` that its file defines."""
    if (name := find_module(root.family, kind)) is None:
        allowed = [*modules(root.family), *list_presets(root.family)]
        raise unknown(root.__name__.lower(), kind, allowed, see=f"prunefield list {root.family}")
    return _find_class_in(root, _load_module(name))


def _load_module(name: str) -> ModuleType:
    return sys.modules.get(name) or import_module(name)  # which takes a microsecond even for a loaded one


@lru_cache(maxsize=512)
def _find_class_in(root: type[P], module: ModuleType) -> type[P]:
    classes = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, root) and item.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise UsageError(f"{module.__name__} must define one {root.__name__}, it defines {len(classes)}")
    return classes[0]


def _one_line(error: ValidationError, final: type[Plugin]) -> str:
    """The first problem of a validation, with the key as the user wrote it; a misspelt key explains a missing one."""
    problems = error.errors(include_url=False)
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    if first["type"] == "extra_forbidden":
        *outer, name = map(str, first["loc"])
        fields = final.model_fields
        for part in outer:  # settings that are a model of their own
            fields = getattr(fields[part].annotation, "model_fields", {}) if part in fields else {}
        return ": ".join([*outer, str(unknown("key", name, fields))])
    if first["type"] == "missing":
        return f"the key {key!r} is missing"
    if first["type"] == "value_error":  # ours: it says what was given
        return f"{key}: {first['ctx']['error']}".removeprefix(": ") if "ctx" in first else first["msg"]
    message = first["msg"][0].lower() + first["msg"][1:]
    got = first["input"]
    is_short = isinstance(got, str | float) or (isinstance(got, int) and abs(got) < 10**30)
    shown = f" (got {got!r})" if is_short else ""
    return f"{key}: {message}{shown}"
