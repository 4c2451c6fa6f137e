"""`gpu-expand-reductions`: reductions over threads become shuffles, and over a block's warps one trip through memory.

Before:
    %s = gpu.all_reduce add %x : f32                     // of 128 threads
After:
    %w = %x combined with gpu.shuffle xor 16, 8, 4, 2, 1
    affine.if (lane == 0) { affine.store %w, %room[%warp] }
    gpu.barrier
    %p = affine.load %room[%lane mod 4]
    gpu.barrier                                          // before the room is used again
    %s = %p combined with gpu.shuffle xor 2, 1

The room is 256 bytes of shared memory, the same for all reductions of a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, DenseArrayBase, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...compiler.diagnostics import LaminaError
from ...compiler.locations import locate_back
from ...compiler.walking import all_ops
from ...dialects.affine import ApplyOp, IfOp, LoadOp, StoreOp, YieldOp
from ...dialects.gpu import (
    BLOCK_SIZE,
    AllReduceOp,
    BarrierOp,
    DynamicSharedMemoryOp,
    ShuffleOp,
    SubgroupReduceOp,
    ThreadIdOp,
)
from ...dialects.gpu.ops import WARP, shared_type
from .combining import combine

ROOM = 8 * WARP  # bytes: a number of 64 bits from each warp


@dataclass(frozen=True)
class ExpandReductions(ModulePass):
    """Reductions over threads become shuffles and shared memory."""

    name = "gpu-expand-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            for inner in all_ops(function) if isinstance(function, FuncOp) else ():
                if isinstance(inner, SubgroupReduceOp):
                    b = Builder(InsertPoint.before(inner))
                    _replace(inner, butterfly(b, inner.kind.data, inner.value, inner.size.value.data))
                elif isinstance(inner, AllReduceOp):
                    assert isinstance(function, FuncOp)
                    _replace(inner, over_block(inner, _threads(function, inner)))


def _threads(function: FuncOp, op: Operation) -> int:
    size = function.attributes.get(BLOCK_SIZE)
    threads = prod(int(n) for n in size.get_values()) if isinstance(size, DenseArrayBase) else 0
    if threads % WARP or threads & (threads - 1) or not threads:
        raise LaminaError(f"a block of {threads} threads is no power of two of warps", where=op)
    return threads


def _replace(op: SubgroupReduceOp | AllReduceOp, value: SSAValue) -> None:
    locate_back(op.prev_op, op.location)
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def butterfly(b: Builder, kind: str, value: SSAValue, size: int) -> SSAValue:
    """The values of `size` neighbouring threads combined, in each of them."""
    distance = size // 2
    while distance:
        value = combine(b, kind, value, b.insert(ShuffleOp(value, distance)).result)
        distance //= 2
    return value


def over_block(op: AllReduceOp, threads: int) -> SSAValue:
    """The values of all threads combined, in each of them."""
    b = Builder(InsertPoint.before(op))
    kind = op.kind.data
    mine = butterfly(b, kind, op.value, WARP)
    warps = threads // WARP
    if warps == 1:
        return mine
    thread = b.insert(ThreadIdOp("x")).result
    shared = b.insert(DynamicSharedMemoryOp(ROOM)).result
    zero = b.insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result
    type_ = shared_type(op.value.type, [warps])  # pyright: ignore[reportArgumentType]
    room = b.insert(memref.ViewOp.create(operands=[shared, zero], result_types=[type_])).results[0]
    d0 = AffineExpr.dimension(0)
    store = StoreOp(mine, room, [thread], AffineMapAttr(AffineMap(1, 0, (d0 // WARP,))))
    first = AffineConstraintExpr(AffineConstraintKind.eq, d0 % WARP, AffineExpr.constant(0))
    b.insert(
        IfOp.create(
            operands=[thread],
            properties={"condition": AffineSetAttr(AffineSet(1, 0, (first,)))},
            regions=[Region(Block([store, YieldOp.get()])), Region()],
        )
    )
    b.insert(BarrierOp())
    place = b.insert(ApplyOp([thread], AffineMapAttr(AffineMap(1, 0, (d0 % warps,))))).results[0]
    theirs = b.insert(LoadOp(room, [place], AffineMapAttr(AffineMap.identity(1)))).result
    b.insert(BarrierOp())  # before the room is used again
    return butterfly(b, kind, theirs, warps)
