"""stablehlo-legalize-quantized-op-to-qdq: ops on quantised numbers become ops on floats between conversions.

before: %c = stablehlo.add %a, %b : tensor<4x!quant.uniform<i8:f32, 0.5:3>>
after:  %0 = stablehlo.uniform_dequantize %a : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32>
        %1 = stablehlo.uniform_dequantize %b : ...
        %2 = stablehlo.add %0, %1 : tensor<4xf32>
        %c = stablehlo.uniform_quantize %2 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>

That is what the specification says they mean. Ops that only move numbers stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.stablehlo import UniformDequantizeOp, UniformQuantizeOp
from ...dialects.stablehlo.quant import expressed_type, quantization, quantized_values
from ...dialects.stablehlo.quantized_ops import COMPUTING, with_types
from .elements import before


@dataclass(frozen=True)
class LegalizeQuantizedOpToQdq(ModulePass):
    """Computation on quantised numbers is computation on floats."""

    name = "stablehlo-legalize-quantized-op-to-qdq"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if inner.name in COMPUTING and quantized_values(inner):
                _between_conversions(inner)


def _between_conversions(op: Operation) -> None:
    insert = before(op)
    operands = [
        insert(UniformDequantizeOp(value)).results[0] if quantization(value.type) else value for value in op.operands
    ]
    made = insert(with_types(op, expressed_type, operands))
    for old, new in zip(op.results, made.results, strict=True):
        if quantization(old.type):
            new = insert(UniformQuantizeOp(new, result_type=old.type)).results[0]
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
