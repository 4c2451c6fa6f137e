"""Built-in functions: what the language can do without a library, and the hub and ONNX by name.

`find` is where names end that nothing else defines; `call` types the call of one and, in instance mode, emits it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...language import tree
from .arguments import Reader
from .builder import Builder
from .failure import Failure, Undetermined
from .hub_ops import call_op, operations
from .onnx_ops import call_operator, operator_names
from .table import TABLE, Builtin

for _theme in (
    "elementwise",
    "reductions",
    "constructors",
    "movement",
    "views",
    "order",
    "indexing",
    "contraction",
    "complex_numbers",
):
    import_module(f".{_theme}", __name__)  # puts its functions into the table

if TYPE_CHECKING:
    from ..elaborator import Elaborator

NAMESPACES = ("stablehlo", "chlo", "onnx")

__all__ = ["NAMESPACES", "TABLE", "Builtin", "call", "find", "is_builtin", "operations", "operator_names"]


def find(name: str) -> Builtin | None:
    """The built-in function called `name`."""
    return TABLE.get(name)


def is_builtin(name: str) -> bool:
    """Whether a call of `name` is one of a built-in function, hub op or ONNX operator (which may not exist)."""
    return name in TABLE or (name.partition(".")[0] in NAMESPACES and "." in name)


def call(elaborator: Elaborator, node: tree.Call, scope: Any) -> Any:
    """The call of a built-in function, a hub op or an ONNX operator: its value, or an erroneous one."""
    name = node.function.text
    b = Builder(elaborator, node, name)
    try:
        if node.dims:
            raise Failure("E553", f"{name} has no dimensions to give in brackets", node.dims[0])
        match name.partition(".")[0]:
            case "stablehlo" | "chlo":
                return call_op(b, scope)
            case "onnx":
                return call_operator(b, scope)
            case _:
                return _call(b, TABLE[name], scope)
    except Undetermined:
        if elaborator.emits and not elaborator.problems.errors:
            return elaborator.error("E554", f"what {name} gives here is not known when compiling", node)
        return elaborator.unknown(node)
    except Failure as failure:
        _walk_rest(elaborator, node, scope)
        return elaborator.error(failure.code, failure.message, failure.where, hint=failure.hint)


def _walk_rest(elaborator: Elaborator, node: tree.Call, scope: Any) -> None:
    """Looks for further mistakes in arguments that were not read when the call failed."""
    pending: list[tree.Expression] = [argument.value for argument in reversed(node.arguments)]
    while pending and not elaborator.emits:
        each = pending.pop()
        if isinstance(each, tree.Array | tree.Tuple):
            pending += reversed(each.items)
        elif not isinstance(each, tree.String) and each not in elaborator.types:
            elaborator.expression(each, scope)


def _call(b: Builder, function: Builtin, scope: Any) -> Any:
    reader = Reader(b, scope)
    positional, named = reader.bind(function, b.node.arguments)
    if reader.unknown or reader.undetermined:
        raise Undetermined
    return function.meaning(b, *positional, **named)
