"""`[i, j] => e` and `sum[k where c] e`: their indices, and their bodies, which are single values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region

from ... import stablehlo as hlo
from ...dsl.ops import ComprehensionOp, ReduceOp, YieldOp
from ...stablehlo.shapes import scalar
from ..language import tree
from .dims import Extent, Pack
from .index_notation import (
    INDEX,
    Index,
    Notation,
    arguments,
    define_indices,
    enter,
    filling,
    label,
    notation_of,
    text_of,
)
from .index_ranges import Collector, Extents, infer
from .scope import Scope
from .types import TensorType, Type, is_a, kind_of
from .values import AnyValue, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator

BOOLEAN = ("any", "all")
ARGUMENT = ("argmax", "argmin")


def comprehension(e: Elaborator, node: tree.Comprehension, scope: Scope, expected: Type | None) -> AnyValue:
    """The tensor of a body for all indices."""
    notation = notation_of(scope)
    kind = expected if isinstance(expected, TensorType) else None
    uses = Collector(e, scope, notation, names_of(node.binders))
    uses.visit(node.body)
    declared = declared_extents(node.binders, None if kind is None else kind.shape)
    indices = infer(e, node.binders, uses.uses, scope, notation, declared)
    return tensor_of(e, indices, node.body, scope, notation, None if kind is None else TensorType(kind.dtype), node)


def names_of(binders: Sequence[tree.Binder]) -> list[str]:
    """The names of indices in a scope."""
    return [f"..{b.name.text}" if b.pack else b.name.text for b in binders]


def declared_extents(binders: Sequence[tree.Binder], shape: Extents | None) -> list[Extents | None]:
    """What a declared shape gives to each index; nothing where it does not fit."""
    packs = sum(b.pack for b in binders)
    if shape is None or packs > 1 or (not packs and len(shape) != len(binders)) or len(shape) < len(binders) - packs:
        return [None] * len(binders)
    found: list[Extents | None] = []
    position = 0
    for binder in binders:
        count = len(shape) - len(binders) + 1 if binder.pack else 1
        extents = tuple(shape[position : position + count])
        wrong = not binder.pack and isinstance(extents[0], Pack)
        found.append(None if wrong else extents)
        position += count
    return found


def tensor_of(
    e: Elaborator,
    indices: Sequence[Index],
    body: tree.Expression,
    scope: Scope,
    notation: Notation,
    expected: TensorType | None,
    node: tree.Node,
) -> Value:
    """The tensor whose elements are `body`; of unknown type after an error."""
    inner, block = enter(e, scope, notation, indices)
    with filling(e, block):
        define_indices(e, inner, indices, arguments(block))
        value = single(e, body, inner, expected, "the body of index notation")
    return made_tensor(e, indices, value, block, node)


def made_tensor(e: Elaborator, indices: Sequence[Index], value: Value, block: Block | None, node: tree.Node) -> Value:
    """The comprehension that `value`, in the block of the indices, is the element of."""
    shape = shape_of(indices)
    if shape is None or value.unknown:
        return unknown(node)
    kind = value.type.with_shape(shape)
    if block is None:
        return Value(kind, node=node)
    with e.inside(block):
        assert value.ssa is not None
        e.insert(YieldOp(value.ssa), node)
    if not shape:
        return _spliced(e, block, kind, node)
    return e.emit(lambda: ComprehensionOp(sizes_of(shape), Region(block)), kind, node)


def _spliced(e: Elaborator, block: Block, kind: TensorType, node: tree.Node) -> Value:
    """The body itself, where a pack stands for no index at all."""
    end = block.last_op
    assert end is not None and e.builder is not None
    result = end.operands[0]
    for op in list(block.ops):
        op.detach()
        if op is not end:
            e.builder.block.add_op(op)
    end.erase()
    return Value(kind, result, node=node)


def shape_of(indices: Sequence[Index]) -> Extents | None:
    """The extents of all indices; None if one is not known."""
    found: list[Extent] = []
    for index in indices:
        if index.extents is None:
            return None
        found += index.extents
    return tuple(found)


def sizes_of(shape: Extents) -> list[int]:
    """The shape as numbers, in instance mode."""
    sizes = [n for n in shape if isinstance(n, int)]
    assert len(sizes) == len(shape)
    return sizes


def single(e: Elaborator, body: tree.Expression, scope: Scope, expected: TensorType | None, what: str) -> Value:
    """A body: one value with a dtype of its own."""
    value = e.tensor(body, scope, expected)
    if value.unknown:
        return value
    if value.type.shape:
        hint = f"say which element: {text_of(body)}[…]"
        if isinstance(body, tree.Comprehension):
            hint = "bind all indices in one place: [i, j] => …"
        parts = [n for n in body.walk() if isinstance(n, tree.Name) and _is_tensor(scope, n)]
        subscripted = {n.value for n in body.walk() if isinstance(n, tree.Subscript)}
        whole = next((n for n in parts if n not in subscripted), None)
        labels = [label(body, f"is {value.type}")]
        if whole is not None and whole is not body:
            labels.append(label(whole, f"{whole.text} is a whole tensor here"))
            hint = f"say which element: {whole.text}[…]"
        return e.error("E407", f"{what} must be a single value, it is {value.type}", body, *labels, hint=hint)
    if value.weak and expected is not None and _takes(value, expected):
        return e.coerce(value, expected.dtype, body)
    return e.settle(value)


def _is_tensor(scope: Scope, node: tree.Name) -> bool:
    entry = scope.find(node.text)
    return entry is not None and isinstance(entry.value, Value) and bool(getattr(entry.value.type, "shape", ()))


def _takes(value: Value, expected: TensorType) -> bool:
    from .promotion import takes

    return takes(value, expected.dtype)


# Reductions --------------------------------------------------------------------------------------------------------


def reduction(e: Elaborator, node: tree.Reduction, scope: Scope, expected: Type | None) -> AnyValue:
    """What a body combines to over all indices; where the guard is false, an element does not count."""
    notation = notation_of(scope)
    uses = Collector(e, scope, notation, names_of(node.binders))
    uses.visit(node.body)
    if node.guard is not None:
        uses.visit(node.guard)
    nothing: list[Extents | None] = [None] * len(node.binders)
    indices = infer(e, node.binders, uses.uses, scope, notation, nothing, demand_use=True)
    if node.reducer in ARGUMENT and (len(node.binders) != 1 or node.binders[0].pack):
        e.error("E419", f"{node.reducer} finds the value of one index", node.binders[-1] if node.binders else node)
        return unknown(node)
    wanted = None
    if isinstance(expected, TensorType) and node.reducer not in (*ARGUMENT, *BOOLEAN):
        wanted = TensorType(expected.dtype)
    inner, block = enter(e, scope, notation, indices)
    guard = None
    with filling(e, block):
        define_indices(e, inner, indices, arguments(block))
        if node.guard is not None:
            guard = condition(e, node.guard, inner)
            inner = inner.assuming(node.guard, True)
        value = single(e, node.body, inner, wanted, f"what {node.reducer} combines")
    value = combined(e, node, value)
    shape = shape_of(indices)
    if shape is None or value.unknown or (guard is not None and guard.unknown):
        return unknown(node)
    kind = INDEX if node.reducer in ARGUMENT else TensorType(value.type.dtype)
    if block is None:
        return Value(kind, node=node)
    if not shape:
        return _over_nothing(e, node, block, value, guard)
    with e.inside(block):
        ends = [v.ssa for v in (value, guard) if v is not None and v.ssa is not None]
        e.insert(YieldOp(*ends), node)
    result = e.emit(lambda: ReduceOp(node.reducer, sizes_of(shape), Region(block)), kind, node)
    start = indices[0].start
    if node.reducer in ARGUMENT and start != 0:
        first = e.settle(Value(INDEX, const=start, weak=True, node=node))
        result = e.emit(lambda: hlo.AddOp(result.ssa, first.ssa), INDEX, node)  # pyright: ignore
    return _with_range(result, node, indices)


def _with_range(value: Value, node: tree.Reduction, indices: Sequence[Index]) -> Value:
    """An argmax is a value of its index."""
    index = indices[0]
    if node.reducer not in ARGUMENT or index.extents is None or index.extents[0] == 0:
        return value
    extent = index.extents[0]
    return value if isinstance(extent, Pack) else replace(value, range=(index.start, index.start + extent))


def _over_nothing(e: Elaborator, node: tree.Reduction, block: Block, value: Value, guard: Value | None) -> Value:
    """A reduction over a pack that stands for no index: over its one element."""
    with e.inside(block):
        ends = [v.ssa for v in (value, guard) if v is not None and v.ssa is not None]
        e.insert(YieldOp(*ends), node)
    block.insert_arg(scalar(i64), 0)
    return e.emit(lambda: ReduceOp(node.reducer, [1], Region(block)), TensorType(value.type.dtype), node)


def condition(e: Elaborator, node: tree.Expression, scope: Scope) -> Value:
    """A guard: a single bool."""
    value = e.tensor(node, scope)
    if value.unknown:
        return value
    if value.type != TensorType("bool"):
        return e.error("E416", f"a guard is a single bool, got {value.type}", node, hint="compare it: x[i] != 0")
    return e.settle(value)


def combined(e: Elaborator, node: tree.Reduction, value: Value) -> Value:
    """What is combined, of a dtype that the reducer takes."""
    if value.unknown:
        return value
    dtype, reducer = value.type.dtype, node.reducer
    kind = kind_of(dtype)
    if reducer in BOOLEAN:
        if kind != "bool":
            return e.error("E418", f"{reducer} combines bools, got {dtype}", node.body, hint="compare it: x[i] != 0")
    elif kind == "bool" and reducer in ("sum", "prod"):
        hint = "to count what is true, cast: i64(…); any and all combine bools"
        return e.error("E418", f"{reducer} combines numbers, got bool", node.body, hint=hint)
    elif reducer not in ("sum", "prod") and not (is_a(dtype, "int") or is_a(dtype, "float") or kind == "bool"):
        hint = "compare abs(…) or real(…)" if kind == "complex" else f"narrow the type parameter: [{dtype}: float]"
        return e.error(
            "E418",
            f"{reducer} needs an order, which {dtype} {'has' if kind == 'complex' else 'may have'} not",
            node.body,
            hint=hint,
        )
    elif not is_a(dtype, "number") and kind != "bool":
        hint = f"narrow the type parameter: [{dtype}: number]"
        return e.error("E418", f"{reducer} combines numbers, {dtype} may be bool", node.body, hint=hint)
    return value
