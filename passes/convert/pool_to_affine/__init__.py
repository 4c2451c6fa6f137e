"""`convert-pool-to-affine`: pools go by rows, of which the elements of each column are combined first.

Before, on buffers (the padded image is the kernel's own memory):
    func.func private @kernel(%x: memref<64x112x112xf32>, %y: memref<64x56x56xf32>, %padded: memref<64x114x114xf32>)
        attributes {lamina.kernel = "pool"} {
      ... %padded filled with -inf around a copy of %x
      linalg.generic {indexing_maps = [(c, h, w, i, j) -> (c, h * 2 + i, w * 2 + j), ...]} ... { arith.maximumf }
After:
    affine.parallel (%c) = (0) to (64) {
      %rows = memref.alloca() : memref<1x28x128xf32>     // of a block: 28 of 56 rows, with -inf beside the image
      ... the first row, which has no row above
      affine.for %h = 0 to 27 {
        affine.for %w = 0 to 112 { ... the maximum of %x[%c, %h * 2 + 1, %w] and two below: to %rows[0, %h + 1, %w + 16]
      affine.for %h = 0 to 28 {
        affine.for %w = 0 to 56 { ... that of %rows[0, %h, %w * 2 + 15] and the next two: to %y[%c, %h, %w]
      ... the other block

So the padded image is never written; what is read of the image are whole vectors, each element by as few as can be; and
what is put together by shuffles is read from the first-level cache. What is stored there has arrived when it is loaded:
small planes are taken some at a time. Of few planes blocks go to the threads. Rows that windows have outside of the
image are left out, as their elements change nothing: there is code for each kind of row. With channels last, whose
windows vectors read as they are, columns outside of the image are left out, too:
    affine.for %h = 0 to 55 {
      ... the first place, which has no column on the left
      affine.for %w = 0 to 55 {
        affine.for %c = 0 to 64 { ... the maximum of nine, from %x[%h * 2 + 1, %w * 2 + 1, %c] on: to %y
A kernel of another form is left to convert-linalg-to-affine.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ..contraction_to_vector.analysis import Unsupported
from ..contraction_to_vector.loops import Loops
from ..structured_kernels import kernels_of, replace_structured
from .analysis import Problem, analyse
from .points import Points
from .rows import Rows


@dataclass(frozen=True)
class ConvertPoolToAffine(ModulePass):
    """Writes the loops of every pool."""

    name = "convert-pool-to-affine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in kernels_of(op, "pool"):
            try:
                problem = analyse(function, machine)
            except Unsupported as reason:
                function.attributes["lamina.not_tiled"] = StringAttr(str(reason))
                continue

            def write(code: Loops, problem: Problem = problem) -> None:
                (Points if problem.pool.channels else Rows)(problem, code).write()

            replace_structured(function, problem.op.location, write)
