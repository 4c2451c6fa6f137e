"""onnx-infer-shapes: types of all values at the onnx level, from those of the inputs.

    %y = "onnx.Relu"(%x) : (tensor<8x3xf32>) -> tensor<?x3xf32>
    ->
    %y = "onnx.Relu"(%x) : (tensor<8x3xf32>) -> tensor<8x3xf32>

The knowledge is ONNX's own (`onnx.shape_inference`, with propagation of shape values); the module is written out
as a model without weights, and the inferred types are read back. Dimensions that stay symbolic stay `?`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...compiler.context import lamina_context
from ...compiler.weights import WeightStore
from ...dialects.onnx import OnnxOp
from ...dialects.onnx.attributes import import_type
from ...dialects.onnx.inference import infer_value_types
from ...dialects.onnx.save import save_skeleton


@dataclass(frozen=True)
class InferShapes(ModulePass):
    """Infers the types of intermediate values and outputs."""

    name = "onnx-infer-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks and _is_graph(function):
                _infer(op, function, weights)


def _is_graph(function: FuncOp) -> bool:
    """Whether a function is one of ONNX operators, and not of another level."""
    return all(isinstance(op, OnnxOp | ReturnOp) for op in function.body.block.ops)


def _infer(module: ModuleOp, function: FuncOp, weights: WeightStore) -> None:
    model, names = save_skeleton(module, function, weights)
    types = infer_value_types(model, function.sym_name.data)
    known: dict[SSAValue, Attribute] = {
        value: import_type(types[name], name) for value, name in names.items() if name in types
    }
    for value, kind in known.items():
        if kind != value.type:
            Rewriter.replace_value_with_new_type(value, kind)
    last = function.body.block.last_op
    assert last is not None
    function.properties["function_type"] = FunctionType.from_lists(
        list(function.body.block.arg_types), [operand.type for operand in last.operands]
    )
