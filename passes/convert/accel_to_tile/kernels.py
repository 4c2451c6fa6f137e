"""Which kernel a layer needs; kernels that are alike are made once."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.func import FuncOp

from ....compiler.diagnostics import LaminaError
from ....compiler.systolic_machine import SystolicMachine
from ....dialects import accel
from ....dialects.accel.ops import numbers_of, shape_of
from ...systolic.contraction import Plus, contraction_kernel
from ...systolic.geometry import Convolution, Windows
from ...systolic.schedule import search
from ...systolic.vector_kernels import add_kernel, copy_kernel, depthwise_kernel, max_pool_kernel

CONVOLUTIONS = (accel.ConvOp, accel.ConvAddOp, accel.ConvPoolOp)  # which may write between the channels of others


class Kernels:
    """The kernels of a module by what they compute."""

    def __init__(self) -> None:
        self.made: dict[object, FuncOp] = {}

    def kernel(self, op: accel.LayerOp, machine: SystolicMachine, pitch: int = 0) -> FuncOp:
        """The kernel of a layer, for one image; with `pitch` that of one of `CONVOLUTIONS` whose result is between so
        many channels."""
        attributes = tuple((name, str(value)) for name, value in op.properties.items())
        shapes = tuple(shape_of(v)[1:] for v in op.operands), shape_of(op.result)[1:]
        key = (type(op), machine.name, attributes, shapes, pitch)
        if key not in self.made:
            try:
                self.made[key] = self._make(op, machine, pitch, f"{op.name.removeprefix('accel.')}_{len(self.made)}")
            except LaminaError as error:  # a layer that does not fit: which one
                raise LaminaError(error.message, where=op, hint=error.hint) from None
        return self.made[key]

    def copy(self, pixels: int, channels: int, pitch: int, machine: SystolicMachine) -> FuncOp:
        """The kernel that puts an image between the channels of another."""
        key = ("copy", machine.name, pixels, channels, pitch)
        if key not in self.made:
            self.made[key] = copy_kernel(f"concat_{len(self.made)}", pixels, channels, pitch, machine)
        return self.made[key]

    def _make(self, op: accel.LayerOp, machine: SystolicMachine, pitch: int, name: str) -> FuncOp:
        match op:
            case accel.ConvOp() | accel.GroupedConvOp():
                windows = _pitched(geometry_of(op).windows(machine.rows), pitch)
                return contraction_kernel(name, windows, search(windows, machine), machine, op.pad_value, post_of(op))
            case accel.ConvPoolOp():
                windows = _pitched(geometry_of(op).windows(machine.rows), pitch).pooled(op.block)
                return contraction_kernel(name, windows, search(windows, machine), machine, op.pad_value, post_of(op))
            case accel.ConvAddOp():
                windows = replace(_pitched(geometry_of(op).windows(machine.rows), pitch), added=True)
                plus = Plus([f.value.data for f in op.factors.data], post_of(op, "total"), op.behind is not None)
                schedule = search(windows, machine)
                return contraction_kernel(name, windows, schedule, machine, op.pad_value, post_of(op), plus)
            case accel.ProductOp():
                m, k, n = op.sizes
                windows = replace(Convolution((1, m), k, n).windows(machine.rows), matrix=True)
                return contraction_kernel(name, windows, search(windows, machine), machine, 0, post_of(op))
            case accel.DepthwiseOp():
                return depthwise_kernel(name, single_lanes(op), machine, op.pad_value, post_of(op))
            case accel.MaxPoolOp():
                return max_pool_kernel(name, single_lanes(op), machine, op.pad_value)
            case accel.AddOp():
                _, height, width, channels = shape_of(op.a)
                factors = [f.value.data for f in op.factors.data]
                return add_kernel(name, height * width, channels, machine, factors, post_of(op))
            case _:
                raise LaminaError("is no layer that has a kernel", where=op)


def _pitched(windows: Windows, pitch: int) -> Windows:
    return replace(windows, pitch=pitch or windows.pitch)


def post_of(op: accel.LayerOp, name: str = "post") -> tuple[int, int, int]:
    """Zero point and limits of a layer's result."""
    zero, low, high = numbers_of(op.properties[name])
    return zero, low, high


def geometry_of(op: accel.WindowedOp) -> Convolution:
    """The geometry of a layer."""
    _, height, width, channels = shape_of(op.operands[0])
    (kh, kw), (sh, sw), (dh, dw) = (op.numbers(name) for name in ("kernel", "strides", "dilations"))
    top, left, bottom, right = op.numbers("pads")
    filters, groups = shape_of(op.result)[3], op.groups
    pitch = (0, 0) if groups == 1 else (channels, filters)
    told = (kh, kw), (sh, sw), (dh, dw), (top, left, bottom, right), pitch
    return Convolution((height, width), channels // groups, filters // groups, *told)


def single_lanes(op: accel.WindowedOp) -> Windows:
    """Windows of a layer that takes each channel for itself: never packed, never one row."""
    g = geometry_of(op)
    channels = g.channels
    return Windows(
        rows=g.image[0],
        row_bytes=g.image[1] * channels,
        out=g.out,
        run=channels,
        taps=g.kernel,
        steps=(1, channels),
        strides=g.strides,
        dilations=g.dilations,
        advance=(g.strides[0], g.strides[1] * channels),
        origin=(-g.pads[0], -g.pads[1] * channels),
        filters=channels,
        pitch=channels,
    )
