"""convert-rounding-to-x86: vectors are rounded to bfloat16 by the instruction, where it may take what it takes.

before, on machines that have AVX512_BF16:
    %y = arith.truncf %x {flushes} : vector<16xf32> to vector<16xbf16>
after:
    %y = "x86.cvtneps_pbh"(%x) : (vector<16xf32>) -> vector<16xbf16>

It knows no subnormal numbers: a rounding that must is nine instructions, for which LLVM has no better either.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, VectorType, bf16, f32
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...compiler.context import lamina_context
from ...compiler.locations import locate
from ...compiler.walking import all_ops
from ...dialects.arith.marks import FLUSHES
from ...dialects.x86 import ToBFloat16Op


@dataclass(frozen=True)
class ConvertRoundingToX86(ModulePass):
    """Roundings of vectors to bfloat16 that may flush become the machine's instruction, where it has one."""

    name = "convert-rounding-to-x86"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if "avx512bf16" not in lamina_context(ctx).machine.features:
            return
        for inner in all_ops(op):
            if isinstance(inner, arith.TruncFOp) and FLUSHES in inner.attributes and _is_vector(inner):
                new = ToBFloat16Op(inner.input)
                locate(new, inner.location)
                Rewriter.replace_op(inner, new)


def _is_vector(op: arith.TruncFOp) -> bool:
    source: Attribute = op.input.type
    lines = isinstance(source, VectorType) and len(source.get_shape()) == 1 and source.element_type == f32
    return lines and isinstance(op.result.type, VectorType) and op.result.type.element_type == bf16
