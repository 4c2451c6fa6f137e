"""Calls: casts, functions of the program and of the library, models, built-in functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..language import tree
from . import annotations, builtins, functions, models, names
from .dims import Dim
from .matching import Given
from .scope import Scope, similar
from .signatures import Signature, signature
from .types import TensorType, TupleType, Type, TypeVar, is_dtype
from .values import AnyValue, FunctionValue, TypeValue, Value, describe

if TYPE_CHECKING:
    from .elaborator import Elaborator


def call(e: Elaborator, node: tree.Call, scope: Scope, expected: Type | None) -> AnyValue:
    """What a call gives."""
    function = node.function
    entry = scope.find(function.text)
    if entry is not None and (isinstance(entry.value, TypeValue) or not _always(function.text)):
        value = names.use(e, function, entry)
        if isinstance(value, TypeValue):
            return cast(e, node, value.type, scope)
        if not isinstance(value, FunctionValue):
            return _not_a_function(e, node, scope, value)
    if is_dtype(function.text):
        return cast(e, node, TensorType(function.text), scope)
    found = names.find(e, function, scope)
    if found is not None:
        module, definitions = found
        first = definitions[0]
        if isinstance(first, tree.Model):
            return models.call(e, first, module.folder, node, scope)
        if isinstance(first, tree.Function):
            overloads = [signature(e, f, module) for f in definitions if isinstance(f, tree.Function)]
            if not e.emits:
                e.types.setdefault(function, FunctionValue(first.name.text, tuple(overloads), node=function))
            return call_function(e, node, overloads, scope)
        return _not_a_function(e, node, scope, names.value_of(e, function, module, definitions))
    if builtins.is_builtin(function.text):
        return builtins.call(e, node, scope)
    walk_arguments(e, node, scope)
    if scope.module is not None and scope.module.excuses(function.text):
        return e.unknown(node)
    hint = names.suggestion(function.text, scope)
    head = function.text.partition(".")[0]
    if "." in function.text and scope.module is not None and (module := scope.module.has_alias(head)):
        hint = similar(function.text.partition(".")[2], list(module.names))
    return e.error("E102", f"there is no function '{function.text}'", function, hint=hint)


def _always(name: str) -> bool:
    """Whether a name is one of a function wherever it is called, even if a value has it too: `i8(i8)`, `var(var)`."""
    return is_dtype(name) or builtins.is_builtin(name)


def walk_arguments(e: Elaborator, node: tree.Call, scope: Scope) -> None:
    """Looks for further mistakes where the call itself is wrong."""
    for argument in node.arguments:
        if not isinstance(argument.value, tree.String):
            e.expression(argument.value, scope)


def _not_a_function(e: Elaborator, node: tree.Call, scope: Scope, value: AnyValue) -> Value:
    walk_arguments(e, node, scope)
    if isinstance(value, Value) and value.unknown:
        return value
    hint = "multiply with *" if isinstance(value, Value) and value.scalar else ""
    return e.error("E511", f"'{node.function.text}' is not a function but {describe(value)}", node.function, hint=hint)


def cast(e: Elaborator, node: tree.Call, kind: TensorType, scope: Scope) -> AnyValue:
    """`f32(x)`."""
    if len(node.arguments) != 1 or node.arguments[0].name is not None:
        walk_arguments(e, node, scope)
        return e.error("E501", f"a cast to {kind.dtype} takes one value", node, hint=f"{kind.dtype}(x)")
    inner = node.arguments[0].value
    value = e.tensor(inner, scope, kind if isinstance(inner, tree.Array) else None)
    if value.weak and isinstance(kind.dtype, TypeVar):
        return Value(value.type.with_dtype(kind.dtype), node=node)
    return e.convert(value, kind.dtype, node)


def call_function(e: Elaborator, node: tree.Call, overloads: list[Signature], scope: Scope) -> AnyValue:
    """The call of a function of the program."""
    only = overloads[0] if len(overloads) == 1 else None
    given: list[Given] = []
    for position, argument in enumerate(node.arguments):
        expected = None if only is None else _expected(only, position, argument)
        given.append(Given(e.expression(argument.value, scope, expected), argument.value, argument.name))
    dims: dict[str, tuple[Dim, tree.Node]] = {}
    for item in node.dims:
        if item.name is not None:
            value = annotations.try_dim(e, item.value, scope)
            if value is None:
                return e.unknown(node)
            dims[item.name.text] = value, item
    return functions.call(e, overloads, given, dims, node)


def _expected(signature: Signature, position: int, argument: tree.Argument) -> Type | None:
    """The type of a parameter where it does not depend on the call."""
    for i, p in enumerate(signature.parameters):
        if (argument.name.text == p.name if argument.name is not None else i == position) and _fixed(p.type):
            return p.type
    return None


def _fixed(kind: Type) -> bool:
    if isinstance(kind, TupleType):
        return all(_fixed(item) for item in kind.items)
    return isinstance(kind, TensorType) and isinstance(kind.dtype, str) and all(isinstance(n, int) for n in kind.shape)
