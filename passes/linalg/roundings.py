"""Bodies of structured ops seen without their roundings between one 16-bit float type and f32.

    %a = arith.truncf %score : f32 to bf16           %t = arith.mulf %score, %c : f32
    %t = arith.mulf %a, %c : bf16              is    %r = arith.addf %t, %wide : f32
    %r = arith.addf %t, %mask : bf16

Leaving them out is more exact. `half` is that type, None where nothing is rounded: then bodies are what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, Float32Type, FloatAttr, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

Half = BFloat16Type | Float16Type
_Rounding = arith.TruncFOp | arith.ExtFOp


def half_of(value: SSAValue) -> Half | None:
    """The type of a tensor's elements where they are floats of 16 bits."""
    element = cast("TensorType[Attribute]", value.type).element_type
    return element if isinstance(element, Half) else None


def is_rounding(op: object, half: Half | None) -> bool:
    """Whether an op takes f32 to `half`, or back."""
    return half is not None and isinstance(op, _Rounding) and {op.input.type, op.result.type} == {half, f32}


def unrounded(value: SSAValue, half: Half | None) -> SSAValue:
    """What a scalar was before it was rounded and widened."""
    while is_rounding(value.owner, half):
        value = cast(Operation, value.owner).operands[0]
    return value


def can_widen(op: Operation, half: Half | None) -> bool:
    """Whether `widened` can say what an op of a body does: it takes numbers, not bits, and no third float type."""
    if op.regions or isinstance(op, arith.BitcastOp):
        return False
    types = [value.type for value in (*op.operands, *op.results)]
    return all(type_ in (half, f32) for type_ in types if isinstance(type_, AnyFloat))


def widened(op: Operation, values: Mapping[SSAValue, SSAValue], half: Half | None) -> Operation:
    """A copy of an op on other operands, with f32 where it has `half`."""
    properties = op.properties.copy()
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) and op.value.type == half:
        properties["value"] = FloatAttr(op.value.value.data, f32)
    copy = type(op).create(
        operands=[values.get(value, value) for value in op.operands],
        result_types=[Float32Type() if result.type == half else result.type for result in op.results],
        properties=properties,
        attributes=op.attributes.copy(),
    )
    copy.location = op.location
    return copy
