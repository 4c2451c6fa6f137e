"""stablehlo-narrow-integers: integer products are taken of the narrowest operands that hold the same numbers.

before: %x = stablehlo.convert %0 : (tensor<4x64xui8>) -> tensor<4x64xi32>
        %d = stablehlo.subtract %x, %zero_point : tensor<4x64xi32>                  // -255 .. 255
        %y = stablehlo.dot_general %d, %w : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
after:  %x = stablehlo.convert %0 : (tensor<4x64xui8>) -> tensor<4x64xi16>
        %d = stablehlo.subtract %x, %zero_point : tensor<4x64xi16>
        %y = stablehlo.dot_general %d, %w : (tensor<4x64xi16>, tensor<64x8xi16>) -> tensor<4x8xi32>

That is how quantised models come in: 8 bits, widened, less a zero point. Processors multiply pairs of 16 bits and
add them up in 32 at twice the rate of floats. Those that multiply bytes are given bytes (`byte_operands`):
        %x = %0 - 128 : tensor<4x64xi8>
        %p = stablehlo.dot_general %x, %w ... : (tensor<4x64xi8>, tensor<64x8xi8>) -> tensor<4x8xi32>
        %y = stablehlo.subtract %p, %excess      // (zero point - 128) times the sums of the columns of %w
So do those that add up pairs of products of bytes in 16 bits, where the weights are small enough for that to be right.

The range of each operand is proved from the ops that make it (constants
by their elements); sums are those of the wide product, to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.rewriting import GreedyRewriter
from ...dialects.dot.pairs import pairs_fit
from ...dialects.stablehlo import ConvolutionOp, DotGeneralOp
from ...dialects.stablehlo.canonical.contraction import dot_like
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, RuleTable, element_type
from ...dialects.stablehlo.canonical.windows import convolution_like
from .byte_operands import eight_bits, known_elements
from .integer_ranges import narrowed, type_range, value_range

pairs = RuleTable()
fours = RuleTable()
few_bits = RuleTable()
i16 = IntegerType(16)


@dataclass(frozen=True)
class NarrowIntegers(ModulePass):
    """Products of 32-bit integers that are known to fit become products of 16 or 8 bits, summed in 32."""

    name = "stablehlo-narrow-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        machine = ours.machine
        table = fours if machine.multiplies_bytes else few_bits if machine.multiplies_pairs_of_bytes else pairs
        GreedyRewriter(ours, table.patterns(ours.weights), fold=False).run(op)


fours(DotGeneralOp, ConvolutionOp)(eight_bits)


@few_bits(DotGeneralOp, ConvolutionOp)
def small_weights(op: DotGeneralOp | ConvolutionOp, b: Builder) -> Replacement:
    """On bytes, where the weights are such that two products always fit in 16 bits."""
    weights = known_elements(op.rhs, b) if element_type(op.rhs) == i32 else None
    if weights is None:
        return None
    if isinstance(op, DotGeneralOp):
        axes = op.dot_dimension_numbers.data.rhs_contracting_dimensions
    else:
        axes = (op.dims.kernel_input_feature_dimension,)
    return eight_bits(op, b) if axes and pairs_fit(weights, axes[-1]) else None


@few_bits(DotGeneralOp, ConvolutionOp)
@fours(DotGeneralOp, ConvolutionOp)
@pairs(DotGeneralOp, ConvolutionOp)
def sixteen_bits(op: DotGeneralOp | ConvolutionOp, b: Builder) -> Replacement:
    operands = (op.lhs, op.rhs)
    if any(element_type(v) != i32 for v in (*operands, op.result)):
        return None
    for value in operands:
        found = value_range(value, b.constant_of)
        if found is None or not found.within(type_range(i16)):
            return None
    lhs, rhs = (narrowed(value, i16, b) for value in operands)
    if isinstance(op, DotGeneralOp):
        return b.value(dot_like(op, lhs, rhs))
    return b.value(convolution_like(op, lhs, rhs))
