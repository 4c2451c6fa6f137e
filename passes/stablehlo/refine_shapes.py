"""Finds the sizes of dimensions that are not known from those that are, and replaces dynamic ops by their static forms.

before: %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<4x3xf32>) -> tensor<i32>
        %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %y = stablehlo.dynamic_broadcast_in_dim %v, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
        %z = stablehlo.negate %y : tensor<?xf32>
after:  %y = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<4xf32>
        %z = stablehlo.negate %y : tensor<4xf32>

Small integers that depend on constants and sizes only are computed as the ops are passed, in order. A
`shape_assertion` that holds goes; one that does not is an error with its message. Calls are inlined before.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.effects import is_trivially_dead
from ...compiler.interpreter import Interpreter
from ...compiler.verifier import verify
from ...compiler.weights import Array, WeightStore
from ...dialects import stablehlo as hlo
from ...dialects.stablehlo.constants import constant_value, make_constant
from ...dialects.stablehlo.syntax import has_unknown_sizes

SMALL = 64  # elements of what may say a shape


@dataclass(frozen=True)
class RefineShapes(ModulePass):
    """Shapes that follow from others become known."""

    name = "stablehlo-refine-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration and _concerns(function):
                _Refining(weights).function(function)
                verify(function)


def _concerns(function: FuncOp) -> bool:
    return any(type(op) in _DYNAMIC or _is_assertion(op) or has_unknown_sizes(op) for op in function.walk())


def _is_assertion(op: Operation) -> bool:
    return isinstance(op, hlo.CustomCallOp) and op.call_target_name.data == "shape_assertion"


class _Refining:
    def __init__(self, weights: WeightStore):
        self.weights = weights
        self.interpreter = Interpreter(weights)
        self.known: dict[SSAValue, Array] = {}

    def function(self, function: FuncOp) -> None:
        """All of a function, whose results may become known."""
        for block in function.body.blocks:
            self._block(block)
        end = function.body.blocks.last
        if end is not None and isinstance(end.last_op, ReturnOp):
            inputs = list(function.function_type.inputs)
            function.properties["function_type"] = FunctionType.from_lists(inputs, list(end.last_op.operand_types))

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if _is_assertion(op):
                self._assertion(cast(hlo.CustomCallOp, op))
                continue
            self._op(op)
        op = block.last_op
        while op is not None:
            before = op.prev_op
            if is_trivially_dead(op):
                op.detach()
                op.erase()
            op = before

    def _op(self, op: Operation) -> None:
        if isinstance(op, hlo.WhileOp):
            for region in op.regions:
                for argument, operand in zip(region.block.args, op.operands, strict=True):
                    Rewriter.replace_value_with_new_type(argument, operand.type)
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        static = _DYNAMIC.get(type(op))
        if static is not None:
            with _sizes_that_fit(op):
                new = static(op, self)
                if new is not None:
                    new.verify_()
            self._replace(op, new)
            return
        with _sizes_that_fit(op):
            if op.results and has_unknown_sizes(op) and not any(_unknown(v) for v in op.operands):
                self._infer(op)
            if isinstance(op, hlo.StableHLOOp):
                op.verify_()
        self._evaluate(op)

    def _infer(self, op: Operation) -> None:
        if isinstance(op, hlo.IfOp | hlo.CaseOp):
            types: Sequence[Attribute] | None = cast(Any, op.regions[0].block.last_op).operand_types
        elif isinstance(op, hlo.WhileOp):
            types = op.operand_types
        elif isinstance(op, hlo.StableHLOOp):
            types = op.infer()
        else:
            types = None
        if types is None and isinstance(op, hlo.ConvertOp | hlo.BitcastConvertOp):
            types = [TensorType(_tensor(op.results[0]).element_type, _tensor(op.operands[0]).get_shape())]
        for result, type_ in zip(op.results, types or (), strict=False):
            Rewriter.replace_value_with_new_type(result, type_)

    def _evaluate(self, op: Operation) -> None:
        """Keeps the value of what is small, whole and known."""
        kinds = [value.type for value in op.results]
        if len(kinds) != 1 or not isinstance(kinds[0], TensorType) or op.regions or op.dialect_name() != "stablehlo":
            return
        kind = kinds[0]
        if any(n < 0 for n in kind.get_shape()) or prod(kind.get_shape()) > SMALL or "f" in str(kind.element_type):
            return
        if isinstance(op, hlo.ConstantOp):
            value = constant_value(op, self.weights)
        elif isinstance(op, hlo.GetDimensionSizeOp):
            size = _tensor(op.operand).get_shape()[op.dimension.value.data]
            value = None if size < 0 else np.array(size, np.int32)
        elif op.operands and all(operand in self.known for operand in op.operands):
            [value] = self.interpreter.evaluate(op, [self.known[operand] for operand in op.operands])
        else:
            return
        if value is not None:
            self.known[op.results[0]] = value
            if isinstance(op, hlo.GetDimensionSizeOp):
                new = make_constant(value, self.weights)
                self.known[new.output] = value
                self._replace(op, new)

    def _assertion(self, op: hlo.CustomCallOp) -> None:
        held = self.known.get(op.operands[0])
        if held is None:
            raise LaminaError("it is not known whether this assertion about shapes holds", where=op)
        if not held.all():
            text = op.properties.get("error_message", op.attributes.get("error_message"))
            message = text.data if isinstance(text, StringAttr) else "an assertion about shapes does not hold"
            for i, value in enumerate(op.operands[1:]):
                message = message.replace(f"{{{i}}}", str(self.known.get(value, "?")))
            raise LaminaError(message, where=op)
        op.detach()
        op.erase()

    def _replace(self, op: Operation, new: Operation | None) -> None:
        if new is None:
            return
        assert op.parent is not None
        new.location = op.location
        op.parent.insert_op_before(new, op)
        new.results[0].name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(new.results[0])
        op.detach()
        op.erase()
        if not isinstance(new, hlo.ConstantOp):
            self._evaluate(new)

    def numbers(self, value: SSAValue) -> list[int] | None:
        """What a small tensor of integers holds, where it is known."""
        found = self.known.get(value)
        return None if found is None else [int(n) for n in found.reshape(-1)]

    def shape(self, result: SSAValue, value: SSAValue) -> list[int] | None:
        """The shape of a result: that of its type, or what `value` holds."""
        given = _tensor(result).get_shape()
        found = list(given) if all(n >= 0 for n in given) else self.numbers(value)
        if found is not None and any(n < 0 for n in found):
            raise ValueError(f"a shape {found}")
        return found


@contextmanager
def _sizes_that_fit(op: Operation) -> Generator[None]:
    """What an op does not take once sizes are known is an error of the program."""
    try:
        yield
    except (VerifyException, ValueError) as error:
        raise LaminaError(f"the sizes that follow from others do not fit: {error}", where=op) from error


def _tensor(value: SSAValue) -> TensorType[Attribute]:
    assert isinstance(value.type, TensorType)
    return value.type


def _unknown(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and any(n < 0 for n in value.type.get_shape())


def _reshape(op: hlo.DynamicReshapeOp, r: _Refining) -> Operation | None:
    shape = r.shape(op.result, op.output_shape)
    return None if shape is None or _unknown(op.operand) else hlo.ReshapeOp(op.operand, shape)


def _broadcast(op: hlo.DynamicBroadcastInDimOp, r: _Refining) -> Operation | None:
    shape = r.shape(op.result, op.output_dimensions)
    if shape is None or _unknown(op.operand):
        return None
    return hlo.BroadcastInDimOp(op.operand, shape=shape, broadcast_dimensions=op.broadcast_dimensions)


def _iota(op: hlo.DynamicIotaOp, r: _Refining) -> Operation | None:
    shape = r.shape(op.result, op.output_shape)
    return None if shape is None else hlo.IotaOp(TensorType(op.result.type.element_type, shape), op.iota_dimension)


def _pad(op: hlo.DynamicPadOp, r: _Refining) -> Operation | None:
    amounts = [r.numbers(value) for value in (op.edge_padding_low, op.edge_padding_high, op.interior_padding)]
    if any(each is None for each in amounts) or _unknown(op.operand):
        return None
    low, high, interior = (cast("list[int]", each) for each in amounts)
    return hlo.PadOp(
        op.operand, op.padding_value, edge_padding_low=low, edge_padding_high=high, interior_padding=interior
    )


def _slice(op: hlo.RealDynamicSliceOp, r: _Refining) -> Operation | None:
    bounds = [r.numbers(value) for value in (op.start_indices, op.limit_indices, op.strides)]
    if any(each is None for each in bounds) or _unknown(op.operand):
        return None
    start, limit, strides = (cast("list[int]", each) for each in bounds)
    return hlo.SliceOp(op.operand, start_indices=start, limit_indices=limit, strides=strides)


def _gather(op: hlo.DynamicGatherOp, r: _Refining) -> Operation | None:
    sizes = r.numbers(op.slice_sizes)
    if sizes is None or _unknown(op.operand) or _unknown(op.start_indices):
        return None
    return hlo.GatherOp(op.operand, op.start_indices, slice_sizes=sizes, dimension_numbers=op.dimension_numbers)


def _convolution(op: hlo.DynamicConvOp, r: _Refining) -> Operation | None:
    padding = r.numbers(op.padding)
    if padding is None or _unknown(op.lhs) or _unknown(op.rhs):
        return None
    return hlo.ConvolutionOp(
        op.lhs,
        op.rhs,
        dimension_numbers=op.dimension_numbers,
        window_strides=op.window_strides,
        padding=list(zip(padding[::2], padding[1::2], strict=True)),
        lhs_dilation=op.lhs_dilation,
        rhs_dilation=op.rhs_dilation,
        window_reversal=op.window_reversal,
        feature_group_count=op.feature_group_count.value.data,
        batch_group_count=op.batch_group_count.value.data,
        precision_config=op.precision_config,
        element_type=op.result.type.element_type,
    )


_DYNAMIC: dict[type[Operation], Any] = {
    hlo.DynamicReshapeOp: _reshape,
    hlo.DynamicBroadcastInDimOp: _broadcast,
    hlo.DynamicIotaOp: _iota,
    hlo.DynamicPadOp: _pad,
    hlo.RealDynamicSliceOp: _slice,
    hlo.DynamicGatherOp: _gather,
    hlo.DynamicConvOp: _convolution,
}
