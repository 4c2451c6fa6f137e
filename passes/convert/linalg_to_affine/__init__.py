"""`convert-linalg-to-affine`: every structured op on buffers becomes a loop nest.

Before:
    linalg.fill ins(%zero : f32) outs(%y : memref<8xf32>)
    linalg.generic {indexing_maps = [(i, j) -> (i, j), (i, j) -> (i)], iterator_types = ["parallel", "reduction"]}
        ins(%x : memref<8x64xf32>) outs(%y : memref<8xf32>) { ^bb0(%a: f32, %acc: f32): ... arith.addf %acc, %a ... }
After:
    affine.for %i = 0 to 8 {
      %sum = affine.for %j = 0 to 64 iter_args(%acc = %zero) -> (f32) {
        %a = affine.load %x[%i, %j] : memref<8x64xf32>
        %s = arith.addf %acc, %a : f32
        affine.yield %s : f32
      }
      affine.store %sum, %y[%i] : memref<8xf32>
    }

Loops of one iteration disappear. `schedule` orders the loops so that the innermost one runs along memory;
reductions carry their value in the loop (or, when the innermost loop is parallel, in the output's memory), short
ones are unrolled. Loads and arithmetic stand as far out as they can. With `parallel`, where every core has its own
thread, dimensions known to be parallel become `affine.parallel` around the reductions.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....compiler.walking import all_ops
from ....dialects.linalg import FillOp, GenericOp
from ....dialects.memref import AllocaOp, SubviewOp
from .nests import lower_fill, lower_generic
from .schedule import UNROLL_LIMIT


@dataclass(frozen=True)
class ConvertLinalgToAffine(ModulePass):
    """Structured ops on buffers become affine loop nests.

    `unroll`: the longest reduction to unroll whole. `parallel`: parallel dimensions outside, as `affine.parallel`.
    """

    name = "convert-linalg-to-affine"

    unroll: int = UNROLL_LIMIT
    parallel: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                self._function(function)

    def _function(self, function: FuncOp) -> None:
        for op in all_ops(function):
            match op:
                case GenericOp():
                    lower_generic(op, self.unroll, self.parallel)
                case _:
                    pass
        for op in all_ops(function):  # after the generics, which take over the fills they start from
            if isinstance(op, FillOp):
                lower_fill(op, self.parallel)
        _erase_unused(function)


def _erase_unused(function: FuncOp) -> None:
    """Subviews are now part of the accesses; scratch that only told a window's size is not needed."""
    for op in reversed(all_ops(function)):
        unused: Operation | None = op if isinstance(op, SubviewOp | AllocaOp) else None
        if unused is not None and not any(result.first_use for result in unused.results):
            unused.detach()
            unused.erase()
