"""convert-depthwise-to-vector: depthwise convolutions become loops over rows of vectors.

before, on buffers (the padded image is the kernel's own memory):
    func.func private @kernel(%x: memref<1x32x112x112xf32>, %k: memref<32x3x3xf32>, %bias: memref<32xf32>,
                              %y: memref<1x32x112x112xf32>, %padded: memref<1x32x114x114xf32>)
        attributes {lamina.kernel = "depthwise"} {
      ... %padded filled with zeros around a copy of %x
      linalg.generic {indexing_maps = [(n, c, h, w, i, j) -> (n, c, h + i, w + j), ... -> (c, i, j), ...]} ...
      linalg.generic ... ins(%bias ...) outs(%y ...) {  // the epilogue: + bias, relu

after:
    affine.parallel (%thread) = (0) to (2) {
      %rows = memref.alloca() : memref<4080xf32>        // of one plane, in the first-level cache, zeros around them
      affine.for %plane = ... {
        affine.for %block = ... {
          ... the rows under a block of windows are copied to %rows; with stride 2 even columns first, then odd ones
          affine.for %tile = ... {
            affine.for %column = 0 to 14 {
              ... eight rows of sums as vectors: for each column of the window its taps, then the rows under them,
              ... each loaded once for all sums that it is part of; + bias, relu; affine.vector_store

So the padded image is never written, and the loads are contiguous whatever the stride. With channels last, vectors are
of channels: `channels.py`. Kernels of another form are left for convert-linalg-to-affine.
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
from .channels import Channels
from .planes import Planes


@dataclass(frozen=True)
class ConvertDepthwiseToVector(ModulePass):
    """Writes the loops of every depthwise convolution."""

    name = "convert-depthwise-to-vector"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in kernels_of(op, "depthwise"):
            try:
                problem = analyse(function)
            except Unsupported as reason:
                function.attributes["lamina.not_tiled"] = StringAttr(str(reason))
                continue
            loops = Channels if problem.convolution.channels_last else Planes

            def write(code: Loops, problem: Problem = problem, loops: type[Channels | Planes] = loops) -> None:
                loops(problem, code, machine).write()

            replace_structured(function, problem.kernel.contraction.op.location, write)
