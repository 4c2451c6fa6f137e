"""`plan-arena`: every `memref.alloc` of `@main` becomes a place in one arena, known at compile time.

Before:
    func.func public @main(%x: memref<4xf32>, %y: memref<4xf32>, %constants: memref<0xi8>) {
      %t = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
After:
    func.func public @main(%x: memref<4xf32>, %y: memref<4xf32>, %arena: memref<16xi8>, %constants: memref<0xi8>) {
      %offset = arith.constant 0 : index
      %t = memref.view %arena[%offset][] : memref<16xi8> to memref<4xf32>

A buffer lives from its first to its last use, in ops of `@main`'s block; one that is touched inside a branch or a
loop lives as long as that whole op. How buffers are placed: placement.py. The module tells the result,
`lamina.arena_bytes`, and what no plan can beat, `lamina.arena_lower_bound`: the most bytes alive at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, IntegerAttr, MemRefType, ModuleOp, i8, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.walking import all_ops
from ...dialects.memref import AllocOp, CastOp, CollapseShapeOp, ExpandShapeOp, SubviewOp, ViewOp
from .layout import SPARSE, byte_size
from .placement import Interval, lower_bound, plan_offsets

VIEWS = (CastOp, CollapseShapeOp, ExpandShapeOp, SubviewOp, ViewOp)


def live_interval(alloc: AllocOp, block: Block, positions: dict[Operation, int]) -> Interval:
    """Where in `block` the buffer or a view of it is used."""
    used: list[int] = []
    pending: list[SSAValue] = [alloc.memref]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, VIEWS):
                pending += use.operation.results
            else:
                used.append(_position(use.operation, block, positions))
    own = _position(alloc, block, positions)
    span = min(used, default=own), max(used, default=own)
    return Interval(byte_size(alloc.memref.type), *span, sparse=SPARSE in alloc.attributes)


def _position(op: Operation, block: Block, positions: dict[Operation, int]) -> int:
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return positions[op]


@dataclass(frozen=True)
class PlanArena(ModulePass):
    """Allocations of @main become places in one arena."""

    name = "plan-arena"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and function.sym_name.data == "main" and function.body.blocks:
                self._plan(op, function)

    def _plan(self, module: ModuleOp, function: FuncOp) -> None:
        block = function.body.block
        allocs = [inner for inner in all_ops(function) if isinstance(inner, AllocOp)]
        positions = {inner: i for i, inner in enumerate(block.ops)}
        intervals = [live_interval(alloc, block, positions) for alloc in allocs]
        offsets, size = plan_offsets(intervals)
        arena = block.insert_arg(MemRefType(i8, [size]), max(len(block.args) - 1, 0))
        arena.name_hint = "arena"
        for alloc, offset in zip(allocs, offsets, strict=True):
            constant = arith.ConstantOp(IntegerAttr(offset, IndexType()))
            type_ = alloc.memref.type
            assert isinstance(type_, MemRefType)
            view = ViewOp(arena, constant, [], type_)
            constant.location = view.location = alloc.location
            Rewriter.insert_op([constant, view], InsertPoint.before(alloc))
            view.result.name_hint = alloc.memref.name_hint
            alloc.memref.replace_all_uses_with(view.result)
            alloc.detach()
            alloc.erase()
        function.update_function_type()
        attrs = function.properties.get("arg_attrs")
        if isinstance(attrs, ArrayAttr):
            entries = list(attrs.data)
            entries.insert(len(entries) - 1, DictionaryAttr({}))
            function.properties["arg_attrs"] = ArrayAttr(entries)
        module.attributes["lamina.arena_bytes"] = IntegerAttr(size, i64)
        module.attributes["lamina.arena_lower_bound"] = IntegerAttr(lower_bound(intervals), i64)
