"""convert-separable-to-vector: a depthwise convolution and contractions around it, block after block of rows.

before, on buffers (%e, %p and %d are the kernel's own memory):
    func.func private @kernel(%x: memref<1x56x56x24xf32>, ..., %y: memref<1x56x56x24xf32>, %e: memref<1x56x56x144xf32>,
                              %p: memref<1x58x58x144xf32>, %d: memref<1x56x56x144xf32>)
        attributes {lamina.kernel = "separable"} {
      linalg.generic ... ins(%x, %w) outs(%e) attrs = {lamina.block_rows = 14 : i64}      // with its epilogue
      ... %p filled with zeros around a copy of %e
      linalg.generic ... ins(%p, %k) outs(%d) attrs = {lamina.block_rows = 14 : i64}      // by channels
      linalg.generic ... ins(%d, %v) outs(%y) attrs = {lamina.block_rows = 14 : i64}

after:
    affine.parallel (%thread) = (0) to (2) {
      %e1 = memref.subview %e[...]    %d1 = memref.subview %d[...]      // this thread's part of each
      affine.for %block = ... {
        ... tiles of 16 rows of %x to %e1, those that 14 rows of the result read
        affine.for %strip = 0 to 7 { rows of windows of %e1 to %d1; tiles of %d1 to %y }

A thread uses the same place for all its blocks: what lies between stays in the second-level cache, and the rest of %e,
%p and %d is never touched. Zeros around the image are not written: windows at the borders have fewer taps. Which
kernels these are, and how many rows a block has, says `linalg-block-separable`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.locations import fuse
from ....dialects.linalg import GenericOp
from ..contraction_to_vector.analysis import Unsupported
from ..structured_kernels import kernels_of, replace_structured
from .blocks import Blocks
from .stages import stages_of


@dataclass(frozen=True)
class ConvertSeparableToVector(ModulePass):
    """Writes the loops of every kernel of that kind."""

    name = "convert-separable-to-vector"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in kernels_of(op, "separable"):
            try:
                stages = stages_of(function)
            except Unsupported as reason:
                function.attributes["lamina.not_tiled"] = StringAttr(str(reason))
                continue
            generics = [inner for inner in function.body.block.ops if isinstance(inner, GenericOp)]
            location = fuse(generic.location for generic in generics)
            replace_structured(function, location, lambda code, stages=stages: Blocks(stages, code, machine).write())
