"""stablehlo-legalize-quant-to-math: quantised numbers become the integers they are stored in, and arithmetic.

before: %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>
        %y = stablehlo.abs %q : tensor<4x!quant.uniform<i8:f32, 0.5:3>>
after:  %0 = stablehlo.divide %x, 0.5
        %1 = stablehlo.add %0, 3.0
        %2 = stablehlo.clamp -128.0, %1, 127.0
        %3 = stablehlo.round_nearest_even %2
        %q = stablehlo.convert %3 : (tensor<4xf32>) -> tensor<4xi8>
        ...                                       // to floats, abs, and back as above

Functions take and give the stored integers. Ops that compute are taken apart by
`stablehlo-legalize-quantized-op-to-qdq` first; every step rounds as the specification's formulas do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType, TupleType, UnitAttr, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.conversion import RuleBuilder, Rules, convert
from ...compiler.dtypes import dtype_of
from ...compiler.weights import WeightStore
from ...dialects import stablehlo as hlo
from ...dialects.arith.marks import STRICT
from ...dialects.stablehlo.constants import constant_value, make_constant
from ...dialects.stablehlo.quant import Quantization, expressed_type, quantization, stored_type
from .elements import Elements
from .legalize_quantized_op_to_qdq import LegalizeQuantizedOpToQdq


@dataclass(frozen=True)
class LegalizeQuantToMath(ModulePass):
    """Quantised element types are gone; a module without them is left alone."""

    name = "stablehlo-legalize-quant-to-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(_as_stored(value.type) != value.type for inner in op.walk() for value in _values(inner)):
            LegalizeQuantizedOpToQdq().apply(ctx, op)
            convert(op, _rules(lamina_context(ctx).weights), illegal=set())


def _values(op: Operation) -> Sequence[SSAValue]:
    return [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]


def _as_stored(kind: Attribute) -> Attribute:
    if isinstance(kind, TupleType):
        return TupleType(tuple(cast(TypeAttribute, _as_stored(part)) for part in kind.types.data))
    return stored_type(kind)


def _rules(weights: WeightStore) -> Rules:
    rules = Rules("stablehlo-legalize-quant-to-math", types=_as_stored)

    @rules.lowers(hlo.UniformDequantizeOp)
    def dequantize(op: hlo.UniformDequantizeOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        return _dequantized(Elements(b, operands[0]), _of(op.operand)).value

    @rules.lowers(hlo.UniformQuantizeOp)
    def quantize(op: hlo.UniformQuantizeOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        x = Elements(b, operands[0])
        if quantization(op.operand.type):
            x = _dequantized(x, _of(op.operand))
        return _quantized(x, _of(op.result)).value

    @rules.lowers(hlo.IotaOp, hlo.DynamicIotaOp)
    def iota(op: hlo.IotaOp | hlo.DynamicIotaOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        kind = cast("TensorType[Attribute]", op.results[0].type)
        made = b(
            type(op).create(
                operands=operands,
                result_types=[expressed_type(kind)],
                properties=op.properties,
                attributes=op.attributes,
            )
        ).results[0]
        q = quantization(kind)
        return made if q is None else _quantized(Elements(b, made), q).value

    @rules.lowers(hlo.ConstantOp)
    def constant(op: hlo.ConstantOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        array = constant_value(op, weights) if quantization(op.output.type) else None
        return b(op.clone() if array is None else make_constant(array, weights)).results[0]

    @rules.lowers(hlo.BitcastConvertOp)
    def bitcast(op: hlo.BitcastConvertOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        target = _as_stored(op.results[0].type)
        if operands[0].type == target:
            return operands[0]
        return b(hlo.BitcastConvertOp(operands[0], result_type=target)).results[0]

    return rules


def _of(value: SSAValue) -> Quantization:
    found = quantization(value.type)
    assert found is not None
    return found


def _along(x: Elements, numbers: Sequence[float | int], axis: int | None) -> Elements | float | int:
    """A number for each index of a dimension of `x`; one for all."""
    if axis is None or len(set(numbers)) == 1:
        return numbers[0]
    array = np.asarray(numbers).astype(dtype_of(x.element_type))
    return x.of(make_constant(array, WeightStore())).broadcast(x.shape, (axis,))


def _dequantized(x: Elements, q: Quantization) -> Elements:
    """(x - zero point) * scale. The difference is exact: in floats that hold it, else in integers wide enough."""
    bits, expressed = q.storage_type.width.data, cast(AnyFloat, q.expressed_type)
    exact = bits <= 16 and expressed.bitwidth >= 32
    whole = x.convert(expressed if exact else i32 if bits <= 16 else i64) if any(q.zero_points) else x
    if any(q.zero_points):
        whole = whole - _along(whole, q.zero_points, q.quantization_dimension)
    numbers = whole.convert(expressed)
    result = numbers * _along(numbers, q.scales, q.quantization_dimension)
    if isinstance(product := result.value.owner, hlo.MultiplyOp):
        product.attributes[STRICT] = UnitAttr()  # sums of quantised numbers are often halves, which round by a hair
    return result


def _quantized(x: Elements, q: Quantization) -> Elements:
    """x / scale + zero point within the limits, to nearest even."""
    moved = x / _along(x, q.scales, q.quantization_dimension)
    if any(q.zero_points):
        moved = moved + _along(moved, q.zero_points, q.quantization_dimension)
    rounded = _clamped(moved, q.limits)
    rounded = rounded.of(hlo.RoundNearestEvenOp(rounded.value))
    whole = rounded.convert(q.storage_type)
    with np.errstate(over="ignore"):
        ends = np.asarray(q.limits).astype(dtype_of(q.expressed_type)).astype(np.float64)
    within = q.limits[0] <= 0 <= q.limits[1]  # what NaN becomes
    if within and (q.storage_min is None or list(ends) == list(q.limits)):
        return whole
    return _clamped(whole, q.limits)


def _clamped(x: Elements, limits: tuple[int, int]) -> Elements:
    with np.errstate(over="ignore"):
        ends = [np.asarray(end).astype(dtype_of(x.element_type)) for end in limits]
    low, high = (x.of(make_constant(end, WeightStore())).value for end in ends)
    return x.of(hlo.ClampOp(low, x.value, high))
