"""dots-lower: products of the graph become instructions, all else stays with the host.

%y = "onnx.QLinearMatMul"(%x, ...) : ... -> tensor<3x4xi8>
->
func.func private @systolic_1(%x: tensor<3x8xi8>) -> tensor<3x4xi8> attributes {systolic.machine = "dots"} {
  %y = dots.product %x, %w, %t {post = array<i64: 4, -128, 127>} : ...
"""

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.compiler.context import lamina_context
from lamina.compiler.weights import Array, WeightStore
from lamina.dialects.onnx import OnnxOp
from lamina.dialects.stablehlo.constants import constant_attr
from lamina.passes.systolic.layers import Layer, Reader, Summed, sizes
from lamina.passes.systolic.names import MACHINE
from lamina.passes.systolic.partition import partition
from lamina_dots.dialect import ProductOp


class Products(Reader):
    """Knows products of signed bytes alone."""

    def layer(self, op: OnnxOp) -> Layer | None:
        found = super().layer(op)
        if not isinstance(found, Summed) or found.depthwise or op.name == "onnx.QLinearConv":
            return None
        return None if "ui8" in f"{op.operands[0].type}{op.results[0].type}" else found


@dataclass(frozen=True)
class LowerDots(ModulePass):
    """Parts the graph, and writes the products as instructions."""

    name = "dots-lower"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        partition(op, Products(weights), "dots")
        for function in op.ops:
            if isinstance(function, FuncOp) and MACHINE in function.attributes:
                for node in list(function.body.block.ops):
                    layer = Products(weights).layer(node) if isinstance(node, OnnxOp) else None
                    if isinstance(layer, Summed):
                        _product(node, layer, weights)
                for node in reversed(list(function.body.block.ops)):
                    if isinstance(node, OnnxOp):  # constants that went into instructions
                        node.detach()
                        node.erase()


def _product(node: Operation, layer: Summed, weights: WeightStore) -> None:
    block = node.parent
    assert block is not None
    table = np.stack([layer.bias, np.ascontiguousarray(layer.scale, np.float32).view(np.int32)], axis=1)

    def constant(array: Array) -> SSAValue:
        made = ConstantOp(constant_attr(array, weights))
        block.insert_op_before(made, node)
        return made.result

    columns = constant(np.ascontiguousarray(layer.weights[0, 0].T))
    made = ProductOp(node.operands[0], columns, constant(table), list(sizes(node.results[0])), layer.post)
    made.location = node.location
    block.insert_op_before(made, node)
    node.results[0].replace_all_uses_with(made.y)
