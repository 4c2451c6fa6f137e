"""onnx-dynamic-quantization: a MatMulNBits that allows it takes its rows as bytes, each block with a scale of its own.

    %y = "onnx.com.microsoft.MatMulNBits"(%x, %w, %s) {accuracy_level = 4, bits = 4, ...}
    ->
    %y = "onnx.com.microsoft.MatMulNBits"(%x, %w, %s) {accuracy_level = 4, bits = 4, onnx.dynamic_quantization, ...}

An accuracy_level is the least that is asked for: 4, of bytes. Without this pass every level is computed in floats.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from ...dialects.onnx import OnnxOp
from ...dialects.onnx.ops import DYNAMIC_QUANTIZATION

BYTES = 4  # the accuracy_level


@dataclass(frozen=True)
class DynamicQuantization(ModulePass):
    """Marks what may round its rows."""

    name = "onnx-dynamic-quantization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, OnnxOp) and inner.operator == "MatMulNBits":
                level = inner.attributes.get("accuracy_level")
                if isinstance(level, IntegerAttr) and level.value.data == BYTES:
                    inner.attributes[DYNAMIC_QUANTIZATION] = UnitAttr()
