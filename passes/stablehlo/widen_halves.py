"""stablehlo-widen-halves: products of 16-bit floats are taken in f32, where the machine has no instruction for theirs.

before: %y = stablehlo.dot_general %x, %w ... : (tensor<64x64xbf16>, tensor<64x8xbf16>) -> tensor<64x8xbf16>
after:  %a = stablehlo.convert %x : (tensor<64x64xbf16>) -> tensor<64x64xf32>
        %s = stablehlo.dot_general %a, %v ... : (tensor<64x64xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
        %y = stablehlo.convert %s : (tensor<64x8xf32>) -> tensor<64x8xbf16>

Convolutions likewise. Widening is exact, and sums are f32 either way. Each element is widened once instead of every
time it is multiplied; constants are widened here. Products of few rows stay: their time goes into reading weights, of
half the size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...dialects.stablehlo import ConvertOp, ConvolutionOp, DotGeneralOp
from ...dialects.stablehlo.canonical.contraction import dot_like
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, element_type
from ...dialects.stablehlo.canonical.windows import convolution_like
from .lower_precision import has_few_rows
from .one_rule import apply_rule

Half = BFloat16Type | Float16Type


@dataclass(frozen=True)
class WidenHalves(ModulePass):
    """Products of bfloat16 and of f16 become those of f32."""

    name = "stablehlo-widen-halves"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for kind, multiplied in ((BFloat16Type, machine.multiplies_bf16), (Float16Type, machine.multiplies_f16)):
            if not multiplied:
                apply_rule(ctx, op, partial(widen, kind=kind), DotGeneralOp, ConvolutionOp)


def widen(op: DotGeneralOp | ConvolutionOp, b: Builder, kind: type[Half]) -> Replacement:
    """The product of the widened operands, rounded where the result was narrow."""
    result = element_type(op.result)
    if not isinstance(result, Half) or not all(isinstance(element_type(v), kind) for v in op.operands):
        return None
    if isinstance(op, DotGeneralOp) and has_few_rows(op):
        return None
    lhs, rhs = (_widened(v, b) for v in op.operands)
    is_dot = isinstance(op, DotGeneralOp)
    product = dot_like(op, lhs, rhs, element_type=f32) if is_dot else convolution_like(op, lhs, rhs, element_type=f32)
    return b.value(ConvertOp(b.value(product), result))


def _widened(value: SSAValue, b: Builder) -> SSAValue:
    array = b.constant_of(value)
    if array is None:
        return b.value(ConvertOp(value, f32))
    return b.constant(np.ascontiguousarray(array).astype(np.float32), "widened")
