"""Loops over few elements side by side: the loop around them takes vectors, which are interleaved to be stored.

before:
    affine.for %i = 0 to 64 {
      %a = affine.load %x[%i] : memref<64xf32>
      affine.for %j = 0 to 2 {
        affine.store %a, %y[%i, %j] : memref<64x2xf32>

after, for registers of 16 floats:
    affine.for %i = 0 to 64 step 16 {
      %a = affine.vector_load %x[%i] : memref<64xf32>, vector<16xf32>
      %b = vector.shuffle %a, %a [0, 16, 1, 17, 2, 18, ...] : vector<16xf32>, vector<16xf32>
      affine.vector_store %b, %z[%i * 2] : memref<128xf32>, vector<32xf32>         // %y as one dimension

So images grow by repeated elements, and what was computed in several parts is put together. What does not fill a
register is done in a last one that overlaps the one before.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....compiler.machine import Machine
from ....dialects import affine
from ....dialects.affine.linear_forms import memref_shape
from ....dialects.memref.views import collapse
from ..loops import erase, insert_before, new_for, stride_along, substitute, terminated
from .analysis import NotVectorizable, Plan, analyse, check_elementwise
from .emit import vectorise

PARTS = (2, 3, 4)  # elements side by side


def interleave_nest(loop: affine.ForOp, machine: Machine) -> bool:
    """Rewrites `loop` and the loop around it if what they store is interleaved; says whether."""
    outer = loop.parent_op()
    if not isinstance(outer, affine.ForOp) or loop.trip_count not in PARTS or loop.inits or outer.inits:
        return False
    bounds, parts = outer.constant_bounds(), loop.trip_count
    if bounds is None or bounds[2] != 1 or loop.constant_bounds() is None or not _stores_side_by_side(loop, outer):
        return False
    around = [op for op in outer.body.block.ops if op is not loop and not isinstance(op, affine.YieldOp)]
    try:
        for op in around:
            if not isinstance(op, affine.LoadOp):
                check_elementwise(op)
    except NotVectorizable:
        return False
    flat = _flattened(outer, loop, around)
    try:
        plan = analyse(flat, together=parts)
    except NotVectorizable:
        erase(flat)
        return False
    few = 2 * plan.trips < machine.vector_bytes // plan.element_bytes
    if few or not plan.idempotent or plan.carries or not _merge_rows(plan, parts):
        erase(flat)
        return False
    vectorise(plan, machine)
    erase(outer)
    return True


def _stores_side_by_side(loop: affine.ForOp, outer: affine.ForOp) -> bool:
    """Whether all that is stored fills rows: elements of the inner loop, one such group after another."""
    stores = [op for op in loop.body.block.ops if isinstance(op, affine.StoreOp)]
    return bool(stores) and all(
        stride_along(op, loop.variable) == 1 and stride_along(op, outer.variable) == loop.trip_count for op in stores
    )


def _flattened(outer: affine.ForOp, loop: affine.ForOp, around: Sequence[Operation]) -> affine.ForOp:
    """The outer loop with the rounds of the inner one written out, those of an element behind one another."""
    block = Block(arg_types=[IndexType()])
    values: dict[SSAValue, SSAValue] = {outer.variable: block.args[0]}
    block.add_ops([op.clone(values) for op in around])
    (lower, *_), (first, end, step) = outer.constant_bounds() or (0,), loop.constant_bounds() or (0, 0, 1)
    for number in range(first, end, step):
        stand_in = Block(arg_types=[IndexType()])
        own = {**values, loop.variable: stand_in.args[0]}
        block.add_ops([op.clone(own) for op in loop.body.block.ops if not isinstance(op, affine.YieldOp)])
        substitute(stand_in.args[0], AffineExpr.constant(number), [], block)
    flat = new_for(lower, lower + (outer.trip_count or 0), terminated(block, loop), outer)
    return insert_before(flat, outer)


def _merge_rows(plan: Plan, parts: int) -> bool:
    """Makes the last two dimensions of what is stored one, where the elements are a dimension; whether that can be."""
    stores = [op for op in plan.body.ops if isinstance(op, affine.StoreOp)]
    apart = [op for op in stores if not _moves(op, -1, plan.index)]
    for op in apart:
        shape = memref_shape(op.memref)
        if shape is None or len(shape) < 2 or shape[-1] != parts or not _moves(op, -2, plan.index):
            return False
    views: dict[SSAValue, SSAValue] = {}
    for op in apart:
        rank = len(memref_shape(op.memref) or ())
        if op.memref not in views:
            groups = [*([d] for d in range(rank - 2)), [rank - 2, rank - 1]]
            views[op.memref] = insert_before(collapse(op.memref, groups), plan.loop).result
        map = op.map.data
        *others, row, element = map.results
        merged = AffineMap(map.num_dims, map.num_symbols, (*others, row * parts + element))
        op.properties["map"] = AffineMapAttr(merged)
        op.operands = [op.value, views[op.memref], *op.indices]
    return True


def _moves(op: affine.StoreOp, dim: int, variable: SSAValue) -> bool:
    """Whether a subscript depends on a variable."""
    places = {i for i, operand in enumerate(op.indices) if operand is variable}
    return bool(op.map.data.results[dim].used_dims() & places)
