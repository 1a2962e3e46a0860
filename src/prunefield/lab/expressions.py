"""Conditions on settings, such as `task.g > 1 and seed == 0`: read, never executed as code."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from prunefield.core.errors import UsageError

LONGEST = 10_000  # characters
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
REACH: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
GRAMMAR = "settings, numbers, text and lists with == != < <= > >= in, and or not, + - * / %"


class Condition:
    """A condition on flat settings. A setting that a run does not have equals nothing and is in no order.

    >>> Condition("task.g > 1 and seed in [0, 1]")({"task.g": 3.0, "seed": 1})
    True
    >>> Condition("task.g > 1")({"seed": 1})
    False
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            if len(text) > LONGEST:
                raise ValueError(f"longer than {LONGEST:,} characters")
            self._tree = ast.parse(text.strip(), mode="eval").body
            self.names = {_join_name(node) for node in _find_names(self._tree)}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(f"{text!r:.100} is not a condition ({error}); a condition may have {GRAMMAR}") from None

    def __call__(self, settings: Mapping[str, Any]) -> bool:
        try:
            return bool(_find_value(self._tree, settings))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, RecursionError) as error:
            raise UsageError(f"the condition {self.text!r:.100} cannot be decided: {error}") from None


def _find_names(tree: ast.AST) -> list[ast.AST]:
    """The settings in an expression; ValueError if it has anything that a condition may not have."""
    found: list[ast.AST] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name | ast.Attribute):
            found.append(node)
            continue
        is_plain = isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str | None)
        is_known = (
            isinstance(node, ast.BoolOp | ast.Compare | ast.List | ast.Tuple)
            or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub))
            or (isinstance(node, ast.BinOp) and type(node.op) in REACH)
        )
        if not is_plain and not is_known:
            raise ValueError(f"it contains a {type(node).__name__}")
        if isinstance(node, ast.Compare) and not all(type(sign) in COMPARE for sign in node.ops):
            raise ValueError("it compares with `is`")
        waiting += [item for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr)]
    return found


def _join_name(node: ast.AST) -> str:
    """The dotted key of a setting."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_join_name(node.value)}.{node.attr}"
    raise ValueError("a setting is written with its name, as in task.g")


def _find_value(node: Any, settings: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() | ast.Attribute():
            value = settings.get(_join_name(node))
            return list(value) if isinstance(value, tuple) else value
        case ast.List() | ast.Tuple():
            return [_find_value(item, settings) for item in node.elts]
        case ast.BoolOp():
            choose = all if isinstance(node.op, ast.And) else any
            return choose(_find_value(item, settings) for item in node.values)
        case ast.UnaryOp():
            value = _find_value(node.operand, settings)
            return not value if isinstance(node.op, ast.Not) else -value
        case ast.BinOp():
            pair = [_find_value(item, settings) for item in (node.left, node.right)]
            if any(isinstance(value, list | str) for value in pair):
                raise TypeError("arithmetic is for numbers only")
            return None if None in pair else REACH[type(node.op)](*pair)
    values = [_find_value(item, settings) for item in (node.left, *node.comparators)]
    return all(map(_compare, node.ops, values, values[1:]))


def _compare(sign: ast.cmpop, one: Any, other: Any) -> bool:
    is_order = isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    if is_order and (one is None or other is None):
        return False
    return COMPARE[type(sign)](one, other)
