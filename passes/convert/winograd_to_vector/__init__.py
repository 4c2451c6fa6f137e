"""convert-winograd-to-vector: Winograd's transforms become loops over tiles on vectors of channels.

before, on buffers:
    func.func private @kernel(%x: memref<1x14x14x64xf32>, %v: memref<6x6x4x4x1x64xf32>)
        attributes {lamina.kernel = "winograd"} {
      linalg.winograd_input_transform {pad = array<i64: 1, 1>} fmr(F_4_3) ins(%x : ...) outs(%v : ...)

after:
    affine.parallel (%row) = (0) to (4) {
      %scratch = memref.alloca() : memref<288xf32>
      affine.for %column = 1 to 3 {            // neighbours whose windows are cut off alike; so too the first, the last
        affine.for %c = 0 to 64 step 8 {
          affine.for %i = max(0, %row * -4 + 1) to min(6, %row * -4 + 15) {     // rows inside the image
            ... six affine.vector_load %x, twelve operations, six affine.vector_store to %scratch
          }                                                                     // and zeros for those outside
          affine.for %j = 0 to 6 {
            ... six loads from %scratch, twelve operations, six stores to %v

A transform on both sides of a tile is two one-dimensional ones, the first along rows, the second along columns, with
a tile of vectors in between that stays in the first-level cache: so no more than a dozen values live in registers.
What is done with the outputs (bias, residual, activation) is done before they are stored. A kernel that holds both
transforms and the contraction between them takes a block of tiles at a time through all three: see `blocks`. One that
holds the filter's transform and the contraction transforms a part of the filter at a time: see `panels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.locations import fuse
from ....compiler.machine import Machine
from ....dialects.linalg import (
    FillOp,
    GenericOp,
    WinogradFilterTransformOp,
    WinogradInputTransformOp,
    WinogradOp,
    WinogradOutputTransformOp,
)
from ..contraction_to_vector.loops import Loops
from ..structured_kernels import kernels_of, replace_structured
from .blocks import write_blocks
from .input_tiles import InputTiles
from .output_tiles import Output, OutputTiles
from .panels import write_panels


@dataclass(frozen=True)
class ConvertWinogradToVector(ModulePass):
    """Writes the loops of every kernel that is a transform."""

    name = "convert-winograd-to-vector"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in kernels_of(op, "winograd"):
            transforms = [inner for inner in function.body.block.ops if isinstance(inner, WinogradOp)]
            location = fuse(transform.location for transform in transforms)
            write = partial(_write, function, transforms, machine)
            replace_structured(function, location, write)


def _write(function: FuncOp, transforms: Sequence[WinogradOp], machine: Machine, code: Loops) -> None:
    ops = list(function.body.block.ops)
    fills = [op for op in ops if isinstance(op, FillOp)]
    written = next((op.output for op in ops if isinstance(op, WinogradOutputTransformOp)), None)
    fill = next((op for op in fills if op.output is written), None)
    generics = [op for op in ops if isinstance(op, GenericOp)]
    match transforms, generics:
        case [WinogradInputTransformOp() as image], []:
            InputTiles(image, code, machine).write(machine.cores)
        case [WinogradFilterTransformOp() as filter_], [contraction]:
            [begin] = fills
            write_panels(function, filter_, begin, contraction, code, machine)
        case [WinogradOutputTransformOp() as op], _:
            OutputTiles(Output(op, fill, generics), code, machine).write(machine.cores)
        case [WinogradInputTransformOp() as image, WinogradOutputTransformOp() as op], [contraction, *epilogue]:
            [begin] = [each for each in fills if each is not fill]
            inputs, outputs = InputTiles(image, code, machine), OutputTiles(Output(op, fill, epilogue), code, machine)
            write_blocks(function, inputs, begin, contraction, outputs, code, machine)
        case _:
            raise LaminaError(
                "a kernel of Winograd's is one transform, perhaps with a contraction, or both around one",
                where=function,
            )
