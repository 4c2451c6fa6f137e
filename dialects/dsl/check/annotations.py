"""Types and dimensions as they are written, and values against the types declared for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..language import tree
from ..language.problems import Label
from . import names
from .dims import Dim, Extent, Pack, symbol
from .dims import apply as apply_dims
from .scope import Scope, similar
from .types import UNKNOWN, TensorType, TupleType, Type
from .values import AnyValue, TupleValue, Value, describe, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator

CONST_DTYPES = {"int": "i64", "float": "f32", "bool": "bool"}
"""The dtypes of `const` parameters, and what values of theirs are where they meet nothing else."""

_DIM_OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "//", "//": "//", "%": "%"}


def dim(e: Elaborator, node: tree.Expression, scope: Scope) -> Dim:
    """See `Elaborator.dim`."""
    found = try_dim(e, node, scope)
    return symbol("?", None) if found is None else found


def try_dim(e: Elaborator, node: tree.Expression, scope: Scope) -> Dim | None:
    """A dimension that is written; None after an error."""
    if isinstance(node, tree.Number) and isinstance(node.value, int):
        return node.value
    if isinstance(node, tree.Binary) and (operator := _DIM_OPERATORS.get(node.operator)) is not None:
        left, right = try_dim(e, node.left, scope), try_dim(e, node.right, scope)
        if left is None or right is None:
            return None
        try:
            return apply_dims(operator, left, right)
        except ZeroDivisionError:
            e.error("E312", "a dimension is divided by 0", node)
            return None
        except OverflowError:
            e.error("E303", "this dimension has too many terms when multiplied out", node)
            return None
    if isinstance(node, tree.Name) and _undeclared(node, scope):
        hint = names.suggestion(node.text, scope) or f"declare it in brackets: fn f[{node.text}](…)"
        e.error("E101", f"there is no '{node.text}' here", node, hint=hint)
        return None
    value = e.expression(node, scope)
    if isinstance(value, Value):
        if value.unknown:
            return None
        if value.dim is not None:
            return value.dim
        if value.const is not None and value.type.dtype == "i64":
            return symbol("?", None)
        if value.const is None and value.scalar:
            message = "a dimension must be known when compiling, this is computed when the program runs"
            e.error("E305", message, node, hint="numbers, dimensions and const ints are known")
            return None
    e.error("E303", f"a dimension is a whole number, this is {describe(value)}", node)
    return None


def _undeclared(node: tree.Name, scope: Scope) -> bool:
    if scope.find(node.text) is not None or scope.module is None or "." in node.text:
        return False
    return scope.module.find(node.text) is None and not scope.module.excuses(node.text)


def type_(e: Elaborator, node: tree.Type | tree.Hole, scope: Scope) -> Type:
    """See `Elaborator.type`."""
    if isinstance(node, tree.Hole):
        return UNKNOWN  # it has been reported
    if isinstance(node, tree.TupleType):
        return TupleType(tuple(type_(e, item, scope) for item in node.items))
    if node.const:
        const = CONST_DTYPES.get(node.dtype.text)
        if const is None:
            e.error("E506", f"a const is an int, a float or a bool, not '{node.dtype.text}'", node.dtype)
            return UNKNOWN
        if node.dims:
            e.error("E506", "a const is a single number", node.dims[0])
            return UNKNOWN
        return TensorType(const)
    dtype = names.dtype(e, node.dtype, scope)
    shape = shape_of(e, node.dims, scope)
    return UNKNOWN if dtype is None or shape is None else TensorType(dtype, shape)


def shape_of(e: Elaborator, dims: tuple[tree.Expression | tree.Pack, ...], scope: Scope) -> tuple[Extent, ...] | None:
    """Dimensions in brackets; None after an error."""
    shape: list[Extent] = []
    wrong = False
    for item in dims:
        if isinstance(item, tree.Pack):
            extents = pack(e, item, scope)
            wrong |= extents is None
            shape += extents or ()
            continue
        size = try_dim(e, item, scope)
        if isinstance(size, int) and size < 0:
            e.error("E303", f"a dimension cannot be {size}", item)
            size = None
        wrong |= size is None
        shape.append(0 if size is None else size)
    return None if wrong else tuple(shape)


def pack(e: Elaborator, node: tree.Pack, scope: Scope) -> tuple[Extent, ...] | None:
    """What `..B` in a shape stands for; None after an error."""
    entry = scope.find(node.text)
    if entry is not None and entry.extents is not None:
        entry.used = True
        if entry.where is not None:
            e.definitions[node] = entry.where
        return entry.extents
    packs = [n for n in scope.all_names() if (found := scope.find(n)) and found.extents is not None]
    hint = similar(node.text, packs) or f"declare it: fn f[..{node.text}](…)"
    e.error("E101", f"there is no pack '..{node.text}' here", node, hint=hint)
    return None


def check(
    e: Elaborator,
    value: AnyValue,
    kind: Type,
    node: tree.Node,
    what: str,
    declared: tree.Node | None = None,
    keep_const: bool = False,
) -> AnyValue:
    """The value with the type declared for it: weak numbers take its dtype; unknown after an error.

    `what` begins the message (`'y'`, `the result`), `declared` is where the type is written.
    """
    if kind == UNKNOWN or (isinstance(value, Value) and value.unknown):
        return value
    if isinstance(value, TupleValue) and any(isinstance(item, Value) and item.unknown for item in value.items):
        wanted = kind.items if isinstance(kind, TupleType) else ()
        if len(wanted) != len(value.items):
            return unknown(node)  # what is wrong with the item has been reported
    if isinstance(kind, TupleType):
        if not isinstance(value, TupleValue):
            return e.error("E509", f"{what} is declared as {kind}, got {describe(value)}", node, *_declared(declared))
        if len(value.items) != len(kind.items):
            message = f"{what} is declared as {len(kind.items)} values, got {len(value.items)}"
            return e.error("E509", message, node, *_declared(declared))
        wanted = declared.items if isinstance(declared, tree.TupleType) else [declared] * len(kind.items)
        parts = node.items if isinstance(node, tree.Tuple) and len(node.items) == len(kind.items) else None
        items = [
            check(e, item, own, parts[i] if parts else node, f"item {i} of {what}", wanted[i], keep_const)
            for i, (item, own) in enumerate(zip(value.items, kind.items, strict=True))
        ]
        return TupleValue(tuple(items), value.node)
    assert isinstance(kind, TensorType)
    if not isinstance(value, Value):
        return e.error("E509", f"{what} is declared as {kind}, got {describe(value)}", node, *_declared(declared))
    if not fits(e, value.type.shape, kind.shape):
        message = f"{what} is declared as {kind}, got {value.type}"
        return e.error("E307", message, node, Label(node.span, f"is {value.type}"), *_declared(declared))
    if not value.weak and value.type.dtype != kind.dtype:
        message = f"{what} is declared as {kind}, got {value.type}"
        labels = (Label(node.span, f"is {value.type.dtype}"), *_declared(declared))
        return e.error("E201", message, node, *labels, hint=f"cast it: {kind.dtype}(…)")
    if keep_const and value.const is not None and value.scalar:
        if value.weak and not _plain_const(e, value, kind, node, what):
            return unknown(node)
        const = float(value.const) if kind.dtype in ("f32", "f64") and isinstance(value.const, int) else value.const
        return replace(value, type=kind, weak=value.weak and kind.dtype == value.type.dtype, const=const)
    found = e.coerce(value, kind.dtype, node, what)
    return found if found.unknown else replace(found, type=kind)


def _plain_const(e: Elaborator, value: Value, kind: TensorType, node: tree.Node, what: str) -> bool:
    return not e.coerce(value, kind.dtype, node, what).unknown if not e.emits else True


def _declared(node: tree.Node | None) -> tuple[Label, ...]:
    return () if node is None else (Label(node.span, "declared here"),)


def fits(e: Elaborator, shape: tuple[Extent, ...], wanted: tuple[Extent, ...]) -> bool:
    """Whether a shape is the one declared, as far as that can be told."""
    if shape == wanted:
        return True
    if len(shape) != len(wanted):
        return False
    for have, want in zip(shape, wanted, strict=True):
        if isinstance(have, Pack) or isinstance(want, Pack):
            if have != want:
                return False
        elif e.may_differ(have, want):
            return False
    return True
