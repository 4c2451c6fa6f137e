"""Handling of loop nests: bands of perfectly nested loops, replacing a loop variable, weighing the work inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import TypeVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    DenseArrayBase,
    FixedBitwidthType,
    MemRefType,
    VectorType,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr, AffineMap, AffineSet
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from ...compiler.dtypes import dtype_of
from ...compiler.machine import Machine
from ...compiler.walking import all_ops
from ...dialects.affine import (
    ApplyOp,
    ForOp,
    IfOp,
    LoadOp,
    MaxOp,
    MinOp,
    ParallelOp,
    StoreOp,
    VectorLoadOp,
    VectorStoreOp,
    YieldOp,
)
from .accesses import map_subscripts

OpT = TypeVar("OpT", bound=Operation)
Access = LoadOp | StoreOp | VectorLoadOp | VectorStoreOp
_INSTRUCTIONS = {"math.absf", "math.fma", "math.sqrt", "math.copysign"}


def functions(module: Operation) -> Iterator[FuncOp]:
    """The functions with a body."""
    for region in module.regions:
        for op in region.block.ops:
            if isinstance(op, FuncOp) and op.body.blocks:
                yield op


def sole_inner_loop(loop: ForOp | ParallelOp) -> ForOp | None:
    """The loop that is all of `loop`'s body, if so (then the two are perfectly nested)."""
    first = loop.body.block.first_op
    if isinstance(first, ForOp) and isinstance(first.next_op, YieldOp) and not first.next_op.arguments:
        return first
    return None


def band(loop: ForOp) -> list[ForOp]:
    """`loop` and the loops perfectly nested in it, outermost first; none of them carries values but the last."""
    loops = [loop]
    while not loops[-1].inits and (inner := sole_inner_loop(loops[-1])) is not None:
        loops.append(inner)
    return loops


def top_loops(block: Block) -> list[ForOp]:
    """The loops directly in a block."""
    return [op for op in block.ops if isinstance(op, ForOp)]


def all_loops(root: Operation) -> list[ForOp]:
    """Every loop below `root`, outer before inner."""
    return [op for op in all_ops(root) if isinstance(op, ForOp)]


def is_innermost(loop: ForOp) -> bool:
    """Whether no loop is nested in it."""
    return not any(isinstance(op, ForOp | ParallelOp) for op in loop.body.walk())


def work(ops: Iterable[Operation]) -> int:
    """Element operations done by ops, loops counted with their trips, at most (an unknown trip count as 64).

    Loads, stores and arithmetic count 1 per element, `math` functions 16: roughly the cycles of scalar code.
    """
    total = 0
    for op in ops:
        if isinstance(op, ForOp):
            bounds = op.outer_bounds()
            trips = 64 if bounds is None else len(range(*bounds))
            total += trips * work(op.body.block.ops)
        elif isinstance(op, ParallelOp):
            bounds = op.constant_bounds()
            trips = 1
            for lower, upper in zip(*bounds, strict=True) if bounds is not None else ():
                trips *= max(0, upper - lower)
            total += trips * work(op.body.block.ops)
        elif op.regions:
            total += sum(work(block.ops) for region in op.regions for block in region.blocks)
        elif not op.has_trait(IsTerminator):
            total += (16 if op.name.startswith("math.") else 1) * _lanes(op)
    return total


def takes_steps(op: Operation) -> bool:
    """Whether it is a function that becomes many instructions."""
    return op.name.startswith("math.") and op.name not in _INSTRUCTIONS


def element_bytes(buffer: SSAValue) -> int:
    """Of an element of a buffer; 0 if it has no such size."""
    element = buffer.type.element_type  # pyright: ignore
    return element.bitwidth // 8 if isinstance(element, FixedBitwidthType) else 0


def _lanes(op: Operation) -> int:
    for value in (*op.results, *op.operands):
        if isinstance(value.type, VectorType):
            lanes = 1
            for extent in value.type.get_shape():
                lanes *= extent
            return lanes
    return 1


def substitute(variable: SSAValue, expr: AffineExpr, operands: Sequence[SSAValue], block: Block) -> None:
    """Replaces a loop variable by `expr` of `operands`, which are its dimensions.

    Affine accesses, conditions and bounds take the expression in; any other user gets an `affine.apply` at the
    start of `block`.
    """
    applied: SSAValue | None = None
    for user in {use.operation: None for use in variable.uses}:
        _substitute_in(user, variable, expr, operands)
        if not any(operand is variable for operand in user.operands):
            continue
        if applied is None:
            op = ApplyOp(list(operands), AffineMapAttr(AffineMap(len(operands), 0, (expr,))))
            op.location = user.location
            first = block.first_op
            Rewriter.insert_op(op, InsertPoint.at_end(block) if first is None else InsertPoint.before(first))
            applied = op.result
        user.operands = [applied if operand is variable else operand for operand in user.operands]


def _substitute_in(user: Operation, variable: SSAValue, expr: AffineExpr, operands: Sequence[SSAValue]) -> None:
    match user:
        case LoadOp() | StoreOp() | VectorLoadOp() | VectorStoreOp():
            start = len(user.operands) - len(user.indices)
            map, values = compose(user.map.data, user.indices, variable, expr, operands)
            user.properties["map"] = AffineMapAttr(map)
            user.operands = [*user.operands[:start], *values]
        case ApplyOp() | MinOp() | MaxOp():
            map, values = compose(user.map.data, user.operands, variable, expr, operands)
            user.properties["map"] = AffineMapAttr(map)
            user.operands = values
        case IfOp():
            old = user.condition.data
            sides = [side for c in old.constraints for side in (c.lhs, c.rhs)]
            map = AffineMap(old.num_dims, old.num_symbols, tuple(sides))
            map, values = compose(map, user.args, variable, expr, operands)
            pairs = zip(map.results[::2], map.results[1::2], old.constraints, strict=True)
            constraints = tuple(AffineConstraintExpr(c.kind, lhs, rhs) for lhs, rhs, c in pairs)
            user.properties["condition"] = AffineSetAttr(AffineSet(map.num_dims, map.num_symbols, constraints))
            user.operands = values
        case ForOp():
            lower, lows = compose(user.lowerBoundMap.data, user.lowerBoundOperands, variable, expr, operands)
            upper, highs = compose(user.upperBoundMap.data, user.upperBoundOperands, variable, expr, operands)
            sizes = [len(lows), len(highs), len(user.inits)]
            user.properties["lowerBoundMap"], user.properties["upperBoundMap"] = (
                AffineMapAttr(lower),
                AffineMapAttr(upper),
            )
            user.operands = [*lows, *highs, *user.inits]
            user.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
        case _:
            pass


def compose(
    map: AffineMap,
    operands: Sequence[SSAValue],
    variable: SSAValue,
    expr: AffineExpr,
    replacement: Sequence[SSAValue],
) -> tuple[AffineMap, list[SSAValue]]:
    """`map(operands)` with `variable` replaced by `expr(replacement)`; equal operands become one."""
    dims: list[SSAValue] = []

    def dimension(value: SSAValue) -> AffineExpr:
        if value not in dims:
            dims.append(value)
        return AffineExpr.dimension(dims.index(value))

    old_dims, symbols = operands[: map.num_dims], list(operands[map.num_dims :])
    used = map.used_dims()
    new: list[AffineExpr] = []
    for position, value in enumerate(old_dims):
        if value is variable:
            inner = [dimension(v) for v in replacement]
            new.append(expr.replace_dims_and_symbols(inner, []))
        else:
            new.append(dimension(value) if position in used else AffineExpr.constant(0))
    symbol_exprs = [AffineExpr.symbol(i) for i in range(len(symbols))]
    results = tuple(e.replace_dims_and_symbols(new, symbol_exprs) for e in map.results)
    return AffineMap(len(dims), len(symbols), results), [*dims, *symbols]


def move_body(source: Block, target: Block) -> None:
    """Moves all ops of `source` but its terminator to the end of `target`."""
    for op in list(source.ops):
        if not op.has_trait(IsTerminator):
            op.detach()
            target.add_op(op)


def insert_before(op: OpT, at: Operation) -> OpT:
    """Inserts an op with the location of the one it stands before."""
    op.location = at.location
    Rewriter.insert_op(op, InsertPoint.before(at))
    return op


def terminated(block: Block, location_of: Operation, *values: SSAValue) -> Block:
    """Adds an `affine.yield` to a block."""
    op = YieldOp.get(*values)
    op.location = location_of.location
    block.add_op(op)
    return block


def erase(op: Operation) -> None:
    """Erases an op whose results are no longer used."""
    op.detach()
    op.erase()


def new_for(lower: int, upper: int, body: Block, like: Operation, *, step: int = 1) -> ForOp:
    """A loop with constant bounds and the location of `like`."""
    loop = ForOp.of(lower, upper, body, step=step)
    loop.location = like.location
    return loop


def stride_along(op: Access, variable: SSAValue) -> int | None:
    """How far apart in memory neighbouring iterations of a loop access, in elements; None when not constant."""
    type_ = op.memref.type
    steps = type_.get_strides() if isinstance(type_, MemRefType) else None
    if steps is None:
        return None
    total = 0
    for step, subscript in zip(steps, map_subscripts(op.map.data, op.indices), strict=True):
        if subscript is None or step is None:
            return None
        total += step * subscript.terms.get(variable, 0)
    return total


def stores_large_rows(op: Operation, variable: SSAValue, machine: Machine) -> bool:
    """Whether an access stores along a loop, one element behind the other, a result that the last cache cannot keep."""
    if not isinstance(op, StoreOp) or stride_along(op, variable) != 1 or not isinstance(op.memref.type, MemRefType):
        return False
    size = dtype_of(op.memref.type).itemsize
    return machine.streams_stores and 0 < machine.kept_bytes <= prod(op.memref.type.get_shape()) * size


def renest(band: Sequence[ForOp], order: Sequence[int]) -> list[ForOp]:
    """Perfectly nested loops with constant bounds in another order; returns the new ones, outermost first."""
    outermost = band[0]
    blocks = [Block(arg_types=[band[i].variable.type]) for i in order]
    for block, i in zip(blocks, order, strict=True):
        block.args[0].name_hint = band[i].variable.name_hint
        band[i].variable.replace_all_uses_with(block.args[0])
    move_body(band[-1].body.block, blocks[-1])
    loops: list[ForOp] = []
    for block, i in reversed(list(zip(blocks, order, strict=True))):
        bounds = band[i].constant_bounds()
        assert bounds is not None
        if loops:
            block.add_op(loops[0])
        loops.insert(0, new_for(bounds[0], bounds[1], terminated(block, outermost), outermost, step=bounds[2]))
    Rewriter.insert_op(loops[0], InsertPoint.before(outermost))
    erase(outermost)
    return loops


def new_parallel(upper: Sequence[int], body: Block, like: Operation) -> ParallelOp:
    """A parallel loop from zero with the location of `like`."""
    loop = ParallelOp.of([0] * len(upper), upper, Region(body))
    loop.location = like.location
    return loop
