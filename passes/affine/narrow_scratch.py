"""affine-narrow-scratch: memory of which each iteration of a parallel loop uses a row of its own becomes that row.

before, of a kernel whose last argument is scratch:
    affine.parallel (%i) = (0) to (2364) {
      affine.for %j = 0 to 197 { ... affine.store %e, %scratch[%i, %j] : memref<2364x197xf32> }
      affine.for %j = 0 to 197 { %e = affine.load %scratch[%i, %j] : memref<2364x197xf32> ... }
    }
after:
    affine.parallel (%i) = (0) to (2364) {
      %row = memref.alloca() : memref<1x197xf32>
      affine.for %j = 0 to 197 { ... affine.store %e, %row[0, %j] : memref<1x197xf32> }
      affine.for %j = 0 to 197 { %e = affine.load %row[0, %j] : memref<1x197xf32> ... }
    }

Scratch holds nothing before and after a call, and iterations that run in parallel tell each other nothing. So a softmax
that is rounded writes its weights to the first cache, not to memory as large as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.affine import LoadOp, ParallelOp, StoreOp
from ...dialects.memref import AllocaOp
from ...dialects.memref.views import VIEW_OPS
from ..bufferization.layout import ALIGNMENT, STACK_LIMIT, byte_size, scratch_of
from .accesses import map_subscripts
from .loops import functions

Access = LoadOp | StoreOp


@dataclass(frozen=True)
class NarrowScratch(ModulePass):
    """Rows of scratch that iterations have for themselves go to the stack."""

    name = "affine-narrow-scratch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for scratch in scratch_of(function):
                _narrow(_behind_views(scratch), function)


def _behind_views(value: SSAValue) -> SSAValue:
    """The memory as its only view shows it, or as it is."""
    while (use := value.get_user_of_unique_use()) is not None and isinstance(use, VIEW_OPS):
        value = use.results[0]
    return value


def _narrow(memory: SSAValue, function: FuncOp) -> None:
    type_ = memory.type
    users = [use.operation for use in memory.uses]
    found = [op for op in users if isinstance(op, Access) and op.memref is memory]
    around = {_outermost(op.parent, function) for op in found}
    if len(found) != len(users) or len(around) != 1 or not isinstance(type_, MemRefType):
        return
    (parallel,) = around
    if parallel is None:
        return
    own = _own_dimensions(found, parallel)
    shape = [1 if d in own else n for d, n in enumerate(type_.get_shape())]
    row = MemRefType(type_.element_type, shape)
    if not own or shape == list(type_.get_shape()) or byte_size(row) > STACK_LIMIT:
        return
    alloca = AllocaOp.get(row.element_type, ALIGNMENT, shape)
    alloca.location = parallel.location
    Rewriter.insert_op(alloca, InsertPoint.at_start(parallel.body.block))
    for op in found:
        old = op.map.data
        results = [AffineExpr.constant(0) if d in own else expr for d, expr in enumerate(old.results)]
        op.properties["map"] = AffineMapAttr(AffineMap(old.num_dims, old.num_symbols, tuple(results)))
        op.operands[[*op.operands].index(memory)] = alloca.memref


def _outermost(block: Block | None, function: FuncOp) -> ParallelOp | None:
    """The parallel loop of the function's body that a block is in."""
    while block is not None:
        op = block.parent_op()
        if op is None or op.parent is function.body.block:
            return op if isinstance(op, ParallelOp) else None
        block = op.parent
    return None


def _own_dimensions(found: list[Access], parallel: ParallelOp) -> set[int]:
    """Dimensions in which an iteration is always at one place."""
    variables = set(parallel.body.block.args)
    every = [map_subscripts(op.map.data, op.indices) for op in found]
    first = every[0]
    return {
        d
        for d, place in enumerate(first)
        if place is not None and variables.issuperset(place.terms) and all(other[d] == place for other in every)
    }
