"""systolic-flatten-products: what is in front of the matrices of a product is one dimension.

    %y = "onnx.QLinearMatMul"(%a, ..., %b, ...) : tensor<1x12x128x64xi8>, ..., tensor<1x12x64x128xi8>, ...
    ->
    %0 = "onnx.Reshape"(%a, %s0) : ... -> tensor<12x128x64xi8>
    %1 = "onnx.Reshape"(%b, %s1) : ... -> tensor<12x64x128xi8>
    %2 = "onnx.QLinearMatMul"(%0, ..., %1, ...) : ... -> tensor<12x128x128xi8>
    %y = "onnx.Reshape"(%2, %s2) : ... -> tensor<1x12x128x128xi8>

Tensors of four dimensions are images to an array, whose channels come last there; those of three are rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.weights import WeightStore
from ...dialects.onnx import op_class
from ...dialects.onnx.attributes import constant_attribute


@dataclass(frozen=True)
class FlattenProducts(ModulePass):
    """Flattens in every function of ONNX's operators."""

    name = "systolic-flatten-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                for each in list(function.body.block.ops):
                    if each.name == "onnx.QLinearMatMul":
                        _flatten(each, weights)


def _flatten(op: Operation, weights: WeightStore) -> None:
    """Rewrites a product of tensors of known sizes, as many matrices in the second as in the first, or one."""
    values = op.operands[0], op.operands[3], op.results[0]
    if not all(isinstance(v.type, TensorType) and v.type.has_static_shape() for v in values):
        return
    a, b, y = (_shape(value) for value in values)
    if len(a) < 4 or (len(b) != 2 and b[:-2] != a[:-2]):
        return
    first = _reshaped(op.operands[0], (prod(a[:-2]), *a[-2:]), op, weights)
    second = op.operands[3] if len(b) == 2 else _reshaped(op.operands[3], (prod(b[:-2]), *b[-2:]), op, weights)
    operands = [first, *op.operands[1:3], second, *op.operands[4:]]
    made = type(op).create(operands=operands, result_types=[_like(op.results[0], (prod(y[:-2]), *y[-2:]))])
    _insert(made, op)
    op.results[0].replace_all_uses_with(_reshaped(made.results[0], y, op, weights))
    op.detach()
    op.erase()


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return tuple(value.type.get_shape())


def _like(value: SSAValue, shape: tuple[int, ...]) -> TensorType:
    assert isinstance(value.type, TensorType)
    return TensorType(value.type.element_type, shape)


def _reshaped(value: SSAValue, shape: tuple[int, ...], before: Operation, weights: WeightStore) -> SSAValue:
    attribute = constant_attribute(np.array(shape, np.int64), weights, "shape")
    told = _made("Constant", [], attribute.type, before, value=attribute)  # pyright: ignore
    return _made("Reshape", [value, told], _like(value, shape), before)


def _made(
    operator: str, operands: list[SSAValue], type_: TensorType, before: Operation, **attributes: object
) -> SSAValue:
    cls = op_class(f"onnx.{operator}")
    assert cls is not None
    op = cls.create(operands=operands, result_types=[type_], attributes=attributes)  # pyright: ignore
    _insert(op, before)
    return op.results[0]


def _insert(op: Operation, before: Operation) -> None:
    assert before.parent is not None
    op.location = before.location
    before.parent.insert_op_before(op, before)
