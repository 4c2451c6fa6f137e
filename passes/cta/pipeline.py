"""`cta-pipeline`: tiles that a loop multiplies go through shared memory, in stages and layouts that the schedule asks.

Before:
    %sum = affine.for %k = 0 to 1024 step 64 iter_args(%acc = %zero) {
      %x = cta.load %left[%b, %m, %k] ... to tensor<64x64xbf16>
      %y = cta.load %right[%b, %k, %n] ... to tensor<64x64xbf16>
      %d = cta.dot %x, %y, %acc
      affine.yield %d
    }
After:
    %sum = cta.pipeline(%zero) {size = 1024, step = 64, stages = 3} ... produce {
    ^bb0(%k: index):
      %x = cta.load %left[%b, %m, %k] ... to tensor<64x64xbf16, #cta.shared<(64,64):(64,1), swizzle<3,4,3>>>
      %y = cta.load %right[%b, %k, %n] ... to tensor<64x64xbf16, #cta.shared<(64,64):(1,64), swizzle<3,4,3>>>
      cta.stage %x, %y
    } consume {
    ^bb0(%k: index, %x, %y, %acc):
      %d = cta.dot %x, %y, %acc
      cta.yield %d
    }

Rows of shared memory run along the dimension in which neighbours are near in memory, so that they are copied as they
are. For tensor cores rows have 128 bytes and their 16-byte parts are exchanged, which leaves all banks even work; where
threads read single numbers, rows begin at other banks by padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.diagnostics import LaminaError
from ...compiler.layouts import Layout, Swizzle
from ...compiler.locations import locate
from ...compiler.walking import all_ops
from ...dialects.affine import ForOp, MinOp
from ...dialects.affine import YieldOp as LoopYieldOp
from ...dialects.cta import (
    DotOp,
    LoadOp,
    PipelineOp,
    ProgramOp,
    SharedAttr,
    ShareOp,
    StageOp,
    ViewType,
    YieldOp,
)
from ...dialects.cta.ops import tile_type
from ..convert.contraction_to_cta.schedule import FMA, ROW_BYTES, Schedule

OpT = TypeVar("OpT", bound=Operation)
CHUNK = 16  # bytes that are copied, and exchanged, as one
BANK_BYTES = 16  # padding behind rows that threads read 16 bytes of, and write as many at a time
APART = 32  # and behind those that a warp reads four of, eight neighbours each


@dataclass(frozen=True)
class Pipeline(ModulePass):
    """Tiles that a loop multiplies go through shared memory in stages."""

    name = "cta-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in [inner for inner in all_ops(op) if isinstance(inner, ProgramOp)]:
            schedule = Schedule.of(program.schedule)
            for loop in [inner for inner in program.body.block.ops if isinstance(inner, ForOp)]:
                stage(loop, schedule)


def stage(loop: ForOp, schedule: Schedule) -> None:
    """Puts a pipeline in the place of a loop. Raises LaminaError for one without products, or that begins elsewhere.

    What products take and the loop loads is staged; tiles that products take from outside, or that are computed, lie in
    shared memory too where it is not the registers of warps that they are taken from.
    """
    dots = [op for op in loop.body.block.ops if isinstance(op, DotOp)]
    bounds = _bounds(loop)
    if not dots or bounds is None:
        raise LaminaError("expected a loop from 0 on with a cta.dot", where=loop)
    k, *carried = loop.body.block.args
    produce = Block(arg_types=[IndexType()])
    produce.args[0].name_hint = "k"
    staged: dict[SSAValue, SSAValue] = {}
    for dot in dots:
        for operand in (dot.lhs, dot.rhs):
            load = operand.owner
            if isinstance(load, LoadOp) and load.parent is loop.body.block:
                at = [produce.args[0] if index is k else index for index in load.at]
                kept = LoadOp(load.view, at, _in_shared(load, dot, schedule))
                produce.add_op(_like(kept, load))
                staged[operand] = kept.result
            elif operand is dot.lhs:
                _keep(operand, dot, schedule)
    produce.add_op(_like(StageOp(list(staged.values())), dots[0]))
    consume = Block(arg_types=[IndexType(), *(tile.type for tile in staged.values()), *(c.type for c in carried)])
    values: dict[SSAValue, SSAValue] = dict(zip([k, *staged, *carried], consume.args, strict=True))
    for op in loop.body.block.ops:
        if isinstance(op, LoopYieldOp):
            consume.add_op(_like(YieldOp([values.get(value, value) for value in op.operands]), op))
        elif not set(op.results) & set(staged):
            consume.add_op(_like(op.clone(values), op))
    size, step, end = bounds
    numbers = (size, step, schedule.stages)
    pipeline = PipelineOp(numbers, list(loop.inits), Region(produce), Region(consume), end)
    Rewriter.replace_op(loop, _like(pipeline, loop), pipeline.sums)


def _bounds(loop: ForOp) -> tuple[int, int, SSAValue | None] | None:
    """The most steps' size, the step, and the end where that is not the size; None for a loop that begins elsewhere."""
    constant = loop.constant_bounds()
    if constant is not None:
        return None if constant[0] else (constant[1], constant[2], None)
    lower, [end] = loop.lowerBoundMap.data, loop.upperBoundOperands
    least = end.owner
    if loop.lowerBoundOperands or lower.eval((), ()) != (0,) or not isinstance(least, MinOp):
        return None
    most = [expr.value for expr in least.map.data.results if isinstance(expr, AffineConstantExpr)]
    return (min(most), loop.step.value.data, end) if most else None


def _keep(tile: SSAValue, dot: DotOp, schedule: Schedule) -> None:
    """Lets a left operand that stays, or that is computed, lie in shared memory."""
    load, type_ = tile.owner, tile_type(tile)
    rows, columns = type_.get_shape()
    assert isinstance(type_.element_type, FixedBitwidthType)
    encoding = _padded(rows, columns, 1, BANK_BYTES * 8 // type_.element_type.bitwidth)
    if isinstance(load, LoadOp):
        type_ = _in_shared(load, dot, schedule)
        if schedule.unit == FMA:
            type_ = TensorType(type_.element_type, type_.get_shape(), encoding)
        kept = LoadOp(load.view, load.at, type_)
        Rewriter.replace_op(load, _like(kept, load), [kept.result])
    elif schedule.unit == FMA:
        share = _like(ShareOp(tile, encoding), dot)
        Rewriter.insert_op(share, InsertPoint.before(dot))
        dot.operands[0] = share.result


def _like(op: OpT, other: Operation) -> OpT:
    locate(op, other.location)
    return op


def _in_shared(load: LoadOp, dot: DotOp, schedule: Schedule) -> TensorType[Attribute]:
    type_ = tile_type(load.result)
    assert isinstance(load.view.type, ViewType) and isinstance(type_.element_type, FixedBitwidthType)
    rows, columns = type_.get_shape()
    size = type_.element_type.bitwidth // 8
    inner = 1 if load.result is dot.lhs else 0  # the dimension that is summed over
    along = load.view.type.width(2, 16 // size) >= load.view.type.width(1, 16 // size)
    runs = 1 if along else 0  # the dimension of neighbours in memory
    if schedule.unit == FMA:
        lines = rows if inner else columns
        padding = BANK_BYTES // size if lines * size > BANK_BYTES else 0  # else eight of them are all banks
        encoding = _padded(rows, columns, 1 - inner, padding)
    elif runs == inner or size == 2:
        encoding = _in_rows(rows, columns, runs, size)
    else:  # numbers of 32 bits cannot be turned on the way to registers: threads read them one by one
        encoding = _padded(rows, columns, runs, APART // size)
    return TensorType(type_.element_type, [rows, columns], encoding)


def _padded(rows: int, columns: int, runs: int, padding: int) -> SharedAttr:
    """Lines along one dimension with some room behind each."""
    if runs:
        return SharedAttr.of(Layout((rows, columns), (columns + padding, 1)))
    return SharedAttr.of(Layout((rows, columns), (1, rows + padding)))


def _in_rows(rows: int, columns: int, runs: int, size: int) -> SharedAttr:
    """Lines of 128 bytes, or what the tile has, swizzled; where it is wider, panels of such lines follow each other."""
    lines, across = (rows, columns) if runs else (columns, rows)
    width = min(ROW_BYTES // size, across)
    along: tuple[int | tuple[int, int], int | tuple[int, int]] = (width, 1)
    if across > width:
        along = ((width, across // width), (1, lines * width))
    shape, stride = ((lines, along[0]), (width, along[1]))
    if not runs:
        shape, stride = shape[::-1], stride[::-1]
    bits = (width * size // CHUNK).bit_length() - 1
    return SharedAttr.of(Layout(shape, stride), Swizzle(bits, 4, 3))
