"""convert-onnx-to-accel: functions of an array are written in its layers, with weights as it takes them.

    %y = "onnx.QLinearConv"(%x, %sx, %zx, %w, ...) : ... -> tensor<1x8x16x16xi8>
    ->
    %0 = accel.enter %x : tensor<1x3x16x16xi8> -> tensor<1x16x16x3xi8>
    %1 = accel.conv %0, %w, %t {kernel = ..., post = ...} : ... -> tensor<1x16x16x8xi8>
    %y = accel.leave %1 : tensor<1x16x16x8xi8> -> tensor<1x8x16x16xi8>

Between layers images stay as they are; only at the borders of a part do channels change their place, and do the rows
of a first layer's kernel come beside each other, where the array has less to do then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.systolic_machine import SystolicMachine
from ....compiler.weights import Array, WeightStore
from ....dialects import accel
from ....dialects.accel.ops import integers, numbers_of, shape_of, window_properties
from ....dialects.onnx import NoValueOp, OnnxOp
from ....dialects.stablehlo.constants import constant_attr
from ...systolic.geometry import Convolution
from ...systolic.groups import diagonal, group_of, merged_groups
from ...systolic.layers import Added, Joined, Limited, Multiplied, Pooled, Reader, Same, Summed, image_shape, sizes
from ...systolic.names import MACHINE
from ...systolic.packing import blocked, blocked_lanes, table_of
from ...systolic.schedule import entering


@dataclass(frozen=True)
class ConvertOnnxToAccel(ModulePass):
    """Lowers the functions that name a machine."""

    name = "convert-onnx-to-accel"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        for function in op.ops:
            name = function.attributes.get(MACHINE)
            if isinstance(function, FuncOp) and isinstance(name, StringAttr):
                _Converter(function, SystolicMachine.preset(name.data), weights).run()


class _Converter:
    def __init__(self, function: FuncOp, machine: SystolicMachine, weights: WeightStore):
        self.function, self.machine, self.weights = function, machine, weights
        self.reader = Reader(weights)
        self.block = Block(arg_types=[arg.type for arg in function.body.block.args])
        self.entered: dict[SSAValue, SSAValue] = {}
        self.images: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        old = self.function.body.block
        self.entered = dict(zip(old.args, self.block.args, strict=True))
        for op in old.ops:
            if isinstance(op, ReturnOp):
                leaving = [self._add(accel.LeaveOp(self._image(v), v.type), op) for v in op.operands]
                self.block.add_op(ReturnOp(*leaving))
            elif isinstance(op, OnnxOp) and op.name != "onnx.Constant":
                self.images[op.results[0]] = self._layer(op)
            elif not isinstance(op, OnnxOp | NoValueOp):
                raise LaminaError(f"'{op.name}' is no operator of ONNX", where=op)
        self.function.detach_region(self.function.body)
        self.function.add_region(Region(self.block))

    def _add(self, op: Operation, origin: Operation) -> SSAValue:
        op.location = origin.location
        self.block.add_op(op)
        return op.results[0]

    def _image(self, value: SSAValue) -> SSAValue:
        if value not in self.images:
            entered = accel.EnterOp(self.entered[value], image_shape(sizes(value)))
            self.block.add_op(entered)
            self.images[value] = entered.result
        return self.images[value]

    def _constant(self, array: Array, hint: str, origin: Operation) -> SSAValue:
        attribute = constant_attr(np.ascontiguousarray(array), self.weights, hint)
        return self._add(ConstantOp(attribute), origin)  # pyright: ignore[reportArgumentType]

    def _layer(self, op: OnnxOp) -> SSAValue:
        layer = self.reader.layer(op)
        if isinstance(layer, Summed) and not layer.depthwise and layer.groups == 1:
            layer = self._entering(layer, op.operands[0])
        image = self._image(op.operands[0])
        match layer:
            case Summed():
                return self._summed(layer, image, op)
            case Multiplied():
                bias, scale = np.zeros(layer.filters, np.int32), np.full(layer.filters, layer.scale, np.float32)
                table = self._constant(table_of(bias, scale, self.machine), "table", op)
                operands = image, self._image(op.operands[3]), table
                shape = *shape_of(image)[:3], layer.filters
                return self._add(accel.ProductOp(operands, shape, layer.count, layer.post), op)
            case Pooled():
                shape = *shape_of(image)[:1], *layer.geometry.out, shape_of(image)[3]
                return self._add(accel.MaxPoolOp(image, shape, _window(layer.geometry, -128)), op)
            case Added():
                return self._add(accel.AddOp(image, self._image(op.operands[3]), layer.factors, layer.post), op)
            case Joined():
                parts = [self._image(value) for value in op.operands]
                shape = *shape_of(image)[:3], sum(shape_of(part)[3] for part in parts)
                return self._add(accel.ConcatOp(parts, shape), op)
            case Limited():
                before = image.owner
                assert isinstance(before, Operation)
                zero, low, high = numbers_of(before.properties["post"])
                first, last = (min(max(bound, layer.low), layer.high) for bound in (low, high))
                before.properties["post"] = integers([zero, first, last])
                return image
            case Same():
                return image
            case None:
                raise LaminaError("does not run on a systolic array", where=op)

    def _entering(self, layer: Summed, value: SSAValue) -> Summed:
        """A layer whose image nobody else reads, and comes from the host, which can gather its rows."""
        if value not in self.entered or len(list(value.uses)) > 1 or len(sizes(value)) != 4:
            return layer
        try:
            geometry = entering(layer.geometry, self.machine)
        except LaminaError:  # it does not fit; the next level says why
            return layer
        if geometry == layer.geometry:
            return layer
        kh, kw, channels, filters = layer.weights.shape
        shape = sizes(value)[0], *geometry.image, geometry.channels
        entered = accel.EnterOp(self.entered[value], shape, (*layer.geometry.gather, layer.pad))
        self.block.add_op(entered)
        self.images[value] = entered.result
        weights = layer.weights.transpose(1, 0, 2, 3).reshape(1, kw, kh * channels, filters)
        return replace(layer, geometry=geometry, weights=weights)

    def _summed(self, layer: Summed, image: SSAValue, op: OnnxOp) -> SSAValue:
        machine, geometry = self.machine, layer.geometry
        if layer.depthwise:
            made, weights = accel.DepthwiseOp, blocked_lanes(layer.weights, machine)
            table = table_of(layer.bias, layer.scale, machine)
        else:
            groups = merged_groups(geometry, layer.groups, machine)
            made = accel.ConvOp if groups == 1 else accel.GroupedConvOp
            parts = diagonal(layer.weights, layer.groups, groups)
            windows = group_of(geometry, groups).windows(machine.rows)
            weights = np.stack([blocked(part, windows, machine) for part in parts])
            biases, scales = np.split(layer.bias, groups), np.split(layer.scale, groups)
            table = np.stack([table_of(b, s, machine) for b, s in zip(biases, scales, strict=True)])
            if groups == 1:
                weights, table = weights[0], table[0]
        operands = image, self._constant(weights, "weights", op), self._constant(table, "table", op)
        shape = shape_of(image)[0], *geometry.out, geometry.filters
        return self._add(made(operands, shape, _window(geometry, layer.pad), layer.post), op)


def _window(geometry: Convolution, pad: int) -> dict[str, Attribute]:
    return window_properties(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads, pad)
