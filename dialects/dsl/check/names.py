"""The use of a name: local values, definitions of files, the standard library, dtypes, built-in functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..language import tree
from . import annotations, builtins, params
from .modules import Global, Module
from .scope import Entry, Scope, similar
from .signatures import signature
from .types import DType, TensorType, dtype_names, is_dtype, numpy_names
from .values import AnyValue, FunctionValue, TupleValue, TypeValue, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator
_FOREIGN = {numpy: name for name, numpy in numpy_names().items() if numpy != name} | {
    "float": "f32", "double": "f64", "half": "f16", "int": "i64", "long": "i64", "boolean": "bool", "byte": "u8",
}  # fmt: skip
"""What other languages call the dtypes."""


def name(e: Elaborator, node: tree.Name, scope: Scope) -> AnyValue:
    """What a name stands for."""
    entry = scope.find(node.text)
    if entry is not None:
        return use(e, node, entry)
    if is_dtype(node.text):
        return TypeValue(TensorType(node.text), node)
    found = find(e, node, scope)
    if found is not None:
        module, definitions = found
        return value_of(e, node, module, definitions)
    if builtins.is_builtin(node.text):
        return FunctionValue(node.text, builtin=True, node=node)
    if scope.module is not None and scope.module.excuses(node.text):
        return unknown(node)
    return e.error("E101", f"there is no '{node.text}' here", node, hint=suggestion(node.text, scope))


def use(e: Elaborator, node: tree.Name, entry: Entry) -> AnyValue:
    """The value of a local name."""
    entry.used = True
    if entry.where is not None:
        e.definitions[node] = entry.where
    if entry.kind == "pack":
        return e.error("E105", f"'..{entry.name}' stands for several dimensions, it is no value", node)
    value = entry.value
    return value.at(node) if isinstance(value, Value) else value


def find(e: Elaborator, node: tree.Name, scope: Scope) -> tuple[Module, list[Global]] | None:
    """The definitions in files that a name stands for."""
    found = None if scope.module is None else scope.module.find(node.text)
    if found is not None:
        e.definitions[node] = found[1][0].name
        e.used_globals.update(found[1])
    return found


def value_of(e: Elaborator, node: tree.Node, module: Module, definitions: list[Global]) -> AnyValue:
    """The value of a definition in a file."""
    first = definitions[0]
    match first:
        case tree.Function():
            signatures = tuple(signature(e, f, module) for f in definitions if isinstance(f, tree.Function))
            return FunctionValue(first.name.text, signatures, node=node)
        case tree.Const():
            return constant(e, first, module, node)
        case tree.Param():
            value = params.param(e, first, Scope(module=module), module.folder)
            return value.at(node)
        case tree.Model():
            return FunctionValue(first.name.text, model=(first, module), node=node)


def constant(e: Elaborator, const: tree.Const, module: Module, node: tree.Node) -> AnyValue:
    """The value of `const N = 2 * 4`: evaluated where it is used, once if it is a number."""
    known = e.constants.get(const)
    if known is not None:
        return known.at(node)
    if const in e.evaluating:
        return e.error("E110", f"'{const.name.text}' is defined by itself", const.name)
    e.evaluating.append(const)
    try:
        scope = Scope(module=module)
        kind = None if const.type is None else e.type(const.type, scope)
        value = e.expression(const.value, scope, kind)
        if kind is not None and isinstance(value, Value | TupleValue):
            value = annotations.check(e, value, kind, const.value, f"'{const.name.text}'", const.type, keep_const=True)
    finally:
        e.evaluating.pop()
    if isinstance(value, Value) and (value.const is not None or value.unknown):
        e.constants[const] = value
    return value.at(node) if isinstance(value, Value) else value


def dtype(e: Elaborator, where: tree.Identifier, scope: Scope) -> DType | None:
    """The dtype that a name in a type stands for; None after an error."""
    entry = scope.find(where.text)
    if entry is not None and isinstance(entry.value, TypeValue):
        entry.used = True
        return entry.value.type.dtype
    if is_dtype(where.text):
        return where.text
    known = [*dtype_names(), *(n for n in scope.all_names() if isinstance(_value(scope, n), TypeValue))]
    hint = f"did you mean '{_FOREIGN[where.text]}'?" if where.text in _FOREIGN else similar(where.text, known)
    if not hint and where.text[:1].isupper():
        hint = f"a type parameter is declared in brackets: fn f[{where.text}](…)"
    e.error("E107", f"there is no dtype '{where.text}'", where, hint=hint)
    return None


def _value(scope: Scope, text: str) -> AnyValue | None:
    entry = scope.find(text)
    return entry.value if entry else None


def suggestion(text: str, scope: Scope) -> str:
    """A hint for a name that does not exist."""
    names = [*scope.all_names(), *builtins.TABLE, *dtype_names()]
    if scope.module is not None:
        names += scope.module.all_names()
    return similar(text, names)


def hint_for(value: AnyValue) -> str:
    """What to do with something that is no tensor where a tensor is needed."""
    match value:
        case TupleValue():
            return "take one of its items, as in t.0, or name them: let a, b = …"
        case FunctionValue():
            return f"call it: {value.name}(…)"
        case TypeValue():
            return f"zeros({value.type}) is a tensor of this type"
        case _:
            return ""


__all__ = ["constant", "dtype", "find", "hint_for", "name", "suggestion", "use", "value_of"]
