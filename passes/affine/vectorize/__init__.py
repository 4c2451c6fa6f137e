"""affine-vectorize: innermost loops run a vector's worth of rounds at a time.

before:
    %sum = affine.for %j = 0 to 77 iter_args(%acc = %zero) -> (f32) {
      %a = affine.load %x[%i, %j] : memref<8x77xf32>
      %s = arith.addf %acc, %a : f32
      affine.yield %s : f32
    }

after, for registers of 8 floats:
    %sums = affine.for %j = 0 to 64 step 32 iter_args(%acc = %neutral) -> (vector<32xf32>) {
      %a = affine.vector_load %x[%i, %j] : memref<8x77xf32>, vector<32xf32>
      %s = arith.addf %acc, %a : vector<32xf32>
      affine.yield %s : vector<32xf32>
    }
    %whole = vector.reduction <add>, %sums, %zero fastmath<reassoc> : vector<32xf32> into f32
    ... the 13 that are left, in a masked vector<16xf32>, and their reduction

Copies that read across what they write are turned in registers (`transpose`), copies of short rows stay loops
(`copies`), rows of two to four elements are put together from vectors (`interleave`).
Loads are contiguous vectors, scalars for all lanes, or gathers where the arithmetic is worth them; stores are
contiguous. What does not fill a vector is done in a last one of as few registers as it needs, that overlaps the one
before, or under a mask where a round may not run twice. Loops whose trip count is not known or that carry other than
reductions stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.walking import all_ops
from ....dialects import affine
from ..loops import functions
from .analysis import NotVectorizable, analyse
from .copies import keep_short_copies
from .emit import vectorise
from .interleave import interleave_nest
from .transpose import transpose_nest


@dataclass(frozen=True)
class Vectorize(ModulePass):
    """Vectorises the innermost loops for the registers of the machine."""

    name = "affine-vectorize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        loops = [inner for inner in all_ops(op) if isinstance(inner, affine.ForOp)]
        for loop in loops:
            if any(inner.regions for inner in loop.body.block.ops):
                continue
            if transpose_nest(loop, machine) or interleave_nest(loop, machine):
                continue
            try:
                plan = analyse(loop)
            except NotVectorizable:
                continue
            vectorise(plan, machine)
        for function in functions(op):
            keep_short_copies(function, machine)
