"""Floats of eight bits and less, read from and written to bytes in hub ops, to nearest even, for any split of the bits.

The formats are what `ml_dtypes` says they are: infinities, NaN and what overflows become the codes it gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import Float64Type, IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...compiler.conversion import RuleBuilder
from ...compiler.dtypes import DType, dtype_of
from ...compiler.weights import Array, WeightStore
from ...dialects import stablehlo as hlo
from ...dialects.stablehlo.constants import make_constant


@dataclass(frozen=True)
class Arithmetic:
    """Elementwise ops between values and numbers, which are spread to the value's shape."""

    b: RuleBuilder

    def _type(self, x: SSAValue) -> TensorType[Attribute]:
        return cast("TensorType[Attribute]", x.type)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A constant in the type of `like`."""
        type_ = self._type(like)
        one = self.b(make_constant(np.asarray(value).astype(dtype_of(type_)), WeightStore())).results[0]
        return self.b(hlo.BroadcastInDimOp(one, shape=list(type_.get_shape()), broadcast_dimensions=[])).results[0]

    def binary(self, op: Any, x: SSAValue, y: SSAValue | float) -> SSAValue:
        return self.b(op(x, y if isinstance(y, SSAValue) else self.number(y, x))).results[0]

    def unary(self, op: Any, x: SSAValue) -> SSAValue:
        return self.b(op(x)).results[0]

    def compare(self, x: SSAValue, y: SSAValue | float, direction: str) -> SSAValue:
        right = y if isinstance(y, SSAValue) else self.number(y, x)
        return self.b(hlo.CompareOp(x, right, comparison_direction=direction)).results[0]

    def select(self, where: SSAValue, x: SSAValue | float, y: SSAValue) -> SSAValue:
        return self.b(hlo.SelectOp(where, x if isinstance(x, SSAValue) else self.number(x, y), y)).results[0]

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        return x if self._type(x).element_type == element else self.unary_to(hlo.ConvertOp, x, element)

    def bitcast(self, x: SSAValue, element: Attribute) -> SSAValue:
        return x if self._type(x).element_type == element else self.unary_to(hlo.BitcastConvertOp, x, element)

    def unary_to(self, op: Any, x: SSAValue, element: Attribute) -> SSAValue:
        made: Operation = op(x, element)
        return self.b(made).results[0]


def decoded(a: Arithmetic, codes: SSAValue, dtype: DType, weights: WeightStore) -> SSAValue:
    """The numbers that bytes stand for, as f32, by a table of all."""
    table = a.b(make_constant(_values(dtype), weights, f"values_of_{dtype.name}")).results[0]
    kind = cast("TensorType[Attribute]", codes.type)
    rank = kind.get_num_dims()
    places = a.convert(codes, IntegerType(32))
    return a.b(
        hlo.GatherOp(
            table, places, collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=rank, slice_sizes=[1]
        )
    ).results[0]


@cache
def _values(dtype: DType) -> Array:
    return np.arange(1 << ml_dtypes.finfo(dtype).bits).astype(np.uint8).view(dtype).astype(np.float32)


def encoded(a: Arithmetic, x: SSAValue, dtype: DType) -> SSAValue:
    """The bytes of the numbers of `dtype` nearest to `x` (f32 or f64)."""
    double = isinstance(cast("TensorType[Attribute]", x.type).element_type, Float64Type)
    mantissa, bias, width = (52, 1023, 64) if double else (23, 127, 32)
    integer, byte = IntegerType(width), IntegerType(8, Signedness.UNSIGNED)
    bits = a.bitcast(x, integer)
    size = a.binary(hlo.AndOp, bits, (1 << (width - 1)) - 1)
    info: Any = ml_dtypes.finfo(dtype)
    if info.nmant == 0:  # powers of two and nothing else, not even zero
        return _power(a, x, bits, mantissa, bias, dtype)
    fraction, lowest = int(info.nmant), int(np.frexp(np.float64(info.smallest_normal))[1]) - 1

    # x = k p / 2^fraction with p the power of two below it, at least the smallest normal; k is rounded
    finite = a.compare(size, ((1 << width - 1 - mantissa) - 1) << mantissa, "LT")
    magnitude = a.bitcast(a.select(finite, size, a.number(0, size)), cast(Any, x.type).element_type)
    exponents = a.binary(hlo.AndOp, a.bitcast(magnitude, integer), ((1 << width - 1 - mantissa) - 1) << mantissa)
    smallest = (lowest + bias) << mantissa
    power = a.binary(hlo.MaximumOp, exponents, smallest)
    scaled = a.binary(hlo.DivideOp, magnitude, a.bitcast(power, cast(Any, x.type).element_type))
    count = a.unary(hlo.RoundNearestEvenOp, a.binary(hlo.MultiplyOp, scaled, float(1 << fraction)))
    # the exponent's code is one more than that of numbers below the normal ones, k has that one in front
    steps = a.binary(hlo.SubtractOp, a.binary(hlo.ShiftRightLogicalOp, power, mantissa), lowest + bias)
    code = a.binary(hlo.AddOp, a.binary(hlo.ShiftLeftOp, steps, fraction), a.convert(count, integer))
    negative = a.compare(bits, 0, "LT")
    largest = _code(dtype, float(info.max))
    sign = 1 << (info.bits - 1)
    signed = a.binary(hlo.OrOp, code, sign)
    if _code(dtype, -0.0) == 0:  # no negative zero
        signed = a.select(a.compare(code, 0, "EQ"), code, signed)
    result = a.select(negative, signed, code)
    for special, where in (
        ((_code(dtype, 1e30), _code(dtype, -1e30)), a.compare(code, largest, "GT")),
        ((_code(dtype, np.inf), _code(dtype, -np.inf)), a.unary(hlo.NotOp, finite)),
    ):
        result = a.select(where, a.select(negative, special[1], a.number(special[0], result)), result)
    result = a.select(a.compare(x, x, "NE"), _code(dtype, np.nan), result)
    return a.convert(result, byte)


def _power(a: Arithmetic, x: SSAValue, bits: SSAValue, mantissa: int, bias: int, dtype: DType) -> SSAValue:
    """The exponent, rounded to nearest even, of positive numbers; NaN for all others."""
    half = (1 << (mantissa - 1)) - 1
    odd = a.binary(hlo.AndOp, a.binary(hlo.ShiftRightLogicalOp, bits, mantissa), 1)
    rounded = a.binary(hlo.AddOp, bits, a.binary(hlo.AddOp, odd, half))
    code = a.binary(hlo.SubtractOp, a.binary(hlo.ShiftRightLogicalOp, rounded, mantissa), bias - 127)
    outside = a.binary(hlo.OrOp, a.compare(bits, 0, "LE"), a.compare(code, 254, "GT"))
    outside = a.binary(hlo.OrOp, outside, a.compare(code, 0, "LT"))
    del x
    return a.convert(a.select(outside, _code(dtype, np.nan), code), IntegerType(8, Signedness.UNSIGNED))


def _code(dtype: DType, value: float) -> int:
    """The byte of a number."""
    with np.errstate(all="ignore"):
        return int(np.asarray(value, np.float32).astype(dtype).reshape(1).view(np.uint8)[0])
