"""`affine-loop-coalescing`: two loops that walk through contiguous memory become one.

Before:
    affine.for %i = 0 to 5 {
      affine.for %j = 0 to 19 {
        %v = affine.load %x[%i, %j] : memref<5x19xf32>
        affine.store %v, %y[%i, %j] : memref<5x19xf32>
After:
    %xs = memref.collapse_shape %x [[0, 1]] : memref<5x19xf32> into memref<95xf32>
    %ys = memref.collapse_shape %y [[0, 1]] : memref<5x19xf32> into memref<95xf32>
    affine.for %k = 0 to 95 {
      %v = affine.load %xs[%k] : memref<95xf32>
      affine.store %v, %ys[%k] : memref<95xf32>

The loops must be perfectly nested, and every subscript that knows one of the two variables must be the pair
`[.., %i + c, %j, ..]` on neighbouring dimensions with `%j` running over the whole of its dimension. The iterations
keep their order, so no dependence is in the way. Sums over two short dimensions, which both loops carry, become one, so
that the lanes of a vector are added up once and not for each row; over long ones they stay two, which rounds less.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.affine import ForOp, LoadOp, StoreOp, YieldOp
from ...dialects.memref.views import collapse
from .loops import all_loops, erase, functions, move_body, sole_inner_loop, substitute, terminated

MOST_CARRIED = 4096  # iterations of a loop that carries values and is made of two


@dataclass(frozen=True)
class LoopCoalescing(ModulePass):
    """Perfectly nested loops over contiguous memory become one flat loop."""

    name = "affine-loop-coalescing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            views: Views = {}
            for loop in reversed(all_loops(function)):
                inner = sole_inner_loop(loop) or carrying_loop(loop)
                if inner is not None:
                    coalesce(loop, inner, views)


def carrying_loop(loop: ForOp) -> ForOp | None:
    """The loop that is all of `loop`'s body and goes on with just the values that `loop` carries, if so."""
    inner = loop.body.block.first_op
    last = loop.body.block.last_op
    if not isinstance(inner, ForOp) or inner.next_op is not last or not isinstance(last, YieldOp):
        return None
    passed = tuple(inner.inits) == tuple(loop.carried) and tuple(last.arguments) == tuple(inner.results)
    return inner if passed and all(value.has_one_use() for value in loop.carried) else None


Views = dict[tuple[SSAValue, int], SSAValue]


@dataclass(frozen=True)
class _Pair:
    """An access that knows both variables, on dimensions `dim` and `dim + 1`, the first shifted by `shift`."""

    op: LoadOp | StoreOp
    dim: int
    shift: int


def coalesce(outer: ForOp, inner: ForOp, views: Views) -> ForOp | None:
    """The flat loop in place of the two, or None when they are not contiguous together."""
    first, second = outer.constant_bounds(), inner.constant_bounds()
    if first is None or second is None or len(outer.inits) != len(inner.inits):
        return None
    if first[0] or second[0] or first[2] != 1 or second[2] != 1:
        return None
    rows, columns = first[1], second[1]
    if outer.inits and rows * columns > MOST_CARRIED:
        return None
    pairs = _pairs(outer.variable, inner.variable, columns)
    if pairs is None:
        return None
    block = Block(arg_types=[outer.variable.type, *(init.type for init in outer.inits)])
    variable = block.args[0]
    variable.name_hint = outer.variable.name_hint
    for pair in pairs:
        _flatten(pair, outer.variable, inner.variable, variable, columns, views)
    substitute(outer.variable, AffineExpr.dimension(0), [variable], block)
    substitute(inner.variable, AffineExpr.dimension(0), [variable], block)
    for old, new in zip(inner.carried, block.args[1:], strict=True):
        old.replace_all_uses_with(new)
    move_body(inner.body.block, block)
    last = inner.body.block.last_op
    assert isinstance(last, YieldOp)
    loop = ForOp.of(0, rows * columns, terminated(block, outer, *last.arguments), inits=outer.inits)
    loop.location = outer.location
    Rewriter.insert_op(loop, InsertPoint.before(outer))
    for old, new in zip(outer.results, loop.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    erase(outer)
    return loop


def _pairs(outer: SSAValue, inner: SSAValue, columns: int) -> list[_Pair] | None:
    """The accesses that know the variables; None when one of them does not walk contiguously."""
    users = {use.operation: None for use in (*outer.uses, *inner.uses)}  # in order, each once
    pairs: list[_Pair] = []
    for op in users:
        if not isinstance(op, LoadOp | StoreOp) or (isinstance(op, StoreOp) and op.value in (outer, inner)):
            return None
        pair = _pair(op, outer, inner, columns)
        if pair is None:
            return None
        pairs.append(pair)
    return pairs


def _pair(op: LoadOp | StoreOp, outer: SSAValue, inner: SSAValue, columns: int) -> _Pair | None:
    type_ = op.memref.type
    if not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr):
        return None
    map, operands = op.map.data, op.indices
    if map.num_symbols and any(v is outer or v is inner for v in operands[map.num_dims :]):
        return None
    outer_dims = {i for i, v in enumerate(operands) if v is outer}
    inner_dims = {i for i, v in enumerate(operands) if v is inner}
    known = [d for d, expr in enumerate(map.results) if _dims(expr) & (outer_dims | inner_dims)]
    if len(known) != 2 or known[1] != known[0] + 1:
        return None
    shift = _shifted(map.results[known[0]], outer_dims)
    second = map.results[known[1]]
    whole = isinstance(second, AffineDimExpr) and second.position in inner_dims
    if shift is None or not whole or type_.get_shape()[known[1]] != columns:
        return None
    return _Pair(op, known[0], shift)


def _dims(expr: AffineExpr) -> set[int]:
    return {e.position for e in expr.dfs() if isinstance(e, AffineDimExpr)}


def _shifted(expr: AffineExpr, dims: set[int]) -> int | None:
    """The `c` of `d + c` with d in `dims`."""
    if isinstance(expr, AffineDimExpr):
        return 0 if expr.position in dims else None
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Add:
        lhs, rhs = expr.lhs, expr.rhs
        if isinstance(lhs, AffineDimExpr) and isinstance(rhs, AffineConstantExpr) and lhs.position in dims:
            return rhs.value
    return None


def _flatten(pair: _Pair, outer: SSAValue, inner: SSAValue, variable: SSAValue, columns: int, views: Views) -> None:
    op, map = pair.op, pair.op.map.data
    kept = [v for v in op.indices if v is not outer and v is not inner]
    dims = [AffineExpr.dimension(kept.index(v)) if v in kept else AffineExpr.constant(0) for v in op.indices]
    symbols = sum(1 for v in op.indices[map.num_dims :] if v in kept)
    num_dims = len(kept) - symbols
    flat = AffineExpr.dimension(num_dims) + pair.shift * columns
    results: list[AffineExpr] = []
    for position, expr in enumerate(map.results):
        if position == pair.dim:
            results.append(flat)
        elif position != pair.dim + 1:
            results.append(
                expr.replace_dims_and_symbols(dims[: map.num_dims], [AffineExpr.symbol(i) for i in range(symbols)])
            )
    op.properties["map"] = AffineMapAttr(type(map)(num_dims + 1, symbols, tuple(results)))
    start = len(op.operands) - len(op.indices)
    view = _view(op.memref, pair.dim, views)
    operands = [*op.operands[: start - 1], view, *kept[:num_dims], variable, *kept[num_dims:]]
    op.operands = operands


def _view(memref: SSAValue, dim: int, views: Views) -> SSAValue:
    """`memref` with dimensions `dim` and `dim + 1` as one; made once, where the memref is."""
    known = views.get((memref, dim))
    if known is not None:
        return known
    assert isinstance(memref.type, MemRefType)
    rank = len(memref.type.get_shape())
    groups = [[d] for d in range(dim)] + [[dim, dim + 1]] + [[d] for d in range(dim + 2, rank)]
    op = collapse(memref, groups)
    owner = memref.owner
    if isinstance(owner, Operation):
        op.location = owner.location
        Rewriter.insert_op(op, InsertPoint.after(owner))
    else:
        parent = owner.parent_op()
        if parent is not None:
            op.location = parent.location
        Rewriter.insert_op(op, InsertPoint.at_start(owner))
    views[memref, dim] = op.result
    return op.result
