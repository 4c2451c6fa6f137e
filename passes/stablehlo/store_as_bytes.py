"""stablehlo-store-as-bytes: elements narrower than a byte, and floats of eight bits or less, become the bytes they
are stored in; conversions from and to them become arithmetic on bits.

before: %y = stablehlo.convert %x : (tensor<4xi4>) -> tensor<4xf32>
after:  %low = stablehlo.shift_left %x, 4 : tensor<4xui8>, then as i8 an arithmetic shift right by 4
        %y = stablehlo.convert ... : (tensor<4xi8>) -> tensor<4xf32>

What only moves elements moves bytes; what computes with them computes in i8, ui8 or f32 and converts back. An element's
bits are the lowest of its byte, the others zero. A float is read by a table of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, Float32Type, Float64Type, IntegerType, ModuleOp, Signedness, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.conversion import RuleBuilder, Rules, convert
from ...compiler.dtypes import dtype_of
from ...compiler.weights import WeightStore
from ...dialects import stablehlo as hlo
from ...dialects.stablehlo import chlo
from ...dialects.stablehlo.constants import constant_value, make_constant
from .narrow_formats import Arithmetic, decoded, encoded

BYTE = IntegerType(8, Signedness.UNSIGNED)

MOVEMENT = (
    hlo.BroadcastInDimOp,
    hlo.CaseOp,
    hlo.CompositeOp,
    hlo.ConcatenateOp,
    hlo.DynamicSliceOp,
    hlo.DynamicUpdateSliceOp,
    hlo.GatherOp,
    hlo.GetDimensionSizeOp,
    hlo.IfOp,
    hlo.OptimizationBarrierOp,
    hlo.PadOp,
    hlo.ReshapeOp,
    hlo.ReturnOp,
    hlo.ReverseOp,
    hlo.SelectOp,
    hlo.SliceOp,
    hlo.TransposeOp,
    hlo.WhileOp,
)


@dataclass(frozen=True)
class StoreAsBytes(ModulePass):
    """Rewrites narrow element types; a module without them is left alone."""

    name = "stablehlo-store-as-bytes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(_is_narrow(value.type) for inner in op.walk() for value in _values(inner)):
            convert(op, _rules(lamina_context(ctx).weights), illegal=set())


def _values(op: Operation) -> Sequence[SSAValue]:
    return [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]


def _is_narrow(type_: Attribute) -> bool:
    if not isinstance(type_, TensorType):
        return False
    element = cast(Attribute, type_.element_type)
    if isinstance(element, IntegerType):
        return 1 < element.width.data < 8
    return isinstance(element, AnyFloat) and element.bitwidth <= 8


def _stored(type_: Attribute) -> Attribute:
    return TensorType(BYTE, type_.get_shape()) if isinstance(type_, TensorType) and _is_narrow(type_) else type_


def _wide(type_: Attribute) -> Attribute:
    """What elements of a narrow type are computed in."""
    if not isinstance(type_, TensorType) or not _is_narrow(type_):
        return type_
    element = cast(Attribute, type_.element_type)
    if isinstance(element, IntegerType):
        return TensorType(IntegerType(8, element.signedness.data), type_.get_shape())
    return TensorType(Float32Type(), type_.get_shape())


def _rules(weights: WeightStore) -> Rules:
    rules = Rules("stablehlo-store-as-bytes", types=_stored)

    @rules.lowers(hlo.ConstantOp)
    def constant(op: hlo.ConstantOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        array = constant_value(op, weights)
        if array is None or not _is_narrow(op.results[0].type):
            return b(op.clone()).results[0]
        return b(make_constant(np.ascontiguousarray(array).view(np.uint8), weights)).results[0]

    @rules.lowers(hlo.ConvertOp)
    def convert_(op: hlo.ConvertOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        source, target = op.operands[0].type, op.results[0].type
        assert isinstance(target, TensorType)
        value = _read(b, operands[0], source, weights)
        if _is_narrow(target):
            return _written(b, value, target)
        return Arithmetic(b).convert(value, cast(Attribute, target.element_type))

    @rules.lowers(hlo.BitcastConvertOp)
    def bitcast(op: hlo.BitcastConvertOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        source, target = op.operands[0].type, op.results[0].type
        assert isinstance(target, TensorType) and isinstance(source, TensorType)
        if not _is_narrow(source) and not _is_narrow(target):
            return b(op.clone({op.operands[0]: operands[0]})).results[0]
        if _bits(source) != _bits(target):
            raise b.fail(f"bit casts from {source} to {target} are not lowered")
        element = cast("TensorType[Attribute]", _stored(target)).element_type
        return Arithmetic(b).bitcast(operands[0], element)

    computes = (*_computing(), hlo.CompareOp, hlo.ClampOp, hlo.DotGeneralOp, hlo.ConvolutionOp)

    @rules.lowers(*computes)
    def compute(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        if not any(_is_narrow(value.type) for value in (*op.operands, *op.results)):
            return b(op.clone(dict(zip(op.operands, operands, strict=True)))).results[0]
        values = [_read(b, new, old.type, weights) for old, new in zip(op.operands, operands, strict=True)]
        target = op.results[0].type
        made = b(
            type(op).create(
                operands=values, result_types=[_wide(target)], properties=op.properties, attributes=op.attributes
            )
        )
        return _written(b, made.results[0], target) if _is_narrow(target) else made.results[0]

    @rules.lowers(hlo.ReduceOp, hlo.ReduceWindowOp, hlo.ScatterOp, hlo.SortOp, hlo.MapOp, hlo.SelectAndScatterOp)
    def with_body(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
        narrow = next((v.type for v in (*op.operands, *op.results) if _is_narrow(v.type)), None)
        if narrow is not None and not _only_replaces(op):
            raise b.fail(f"arithmetic on {narrow} is not lowered", "convert to a wider type before, and back after")
        mapping = dict(zip(op.operands, operands, strict=True))
        if narrow is None:
            return b(op.clone(mapping)).results
        regions = [b.convert_region(region) for region in list(op.regions)]
        types = [_stored(result.type) for result in op.results]
        return b(
            type(op).create(
                operands=operands,
                result_types=types,
                properties=op.properties,
                attributes=op.attributes,
                regions=regions,
            )
        ).results

    return rules


def _computing() -> tuple[type[Operation], ...]:
    """Every elementwise operation that looks at its elements."""
    found = {
        value
        for module in (hlo, chlo)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, hlo.UnaryOp | hlo.BinaryOp)
    }
    given = {hlo.UnaryOp, hlo.BinaryOp, hlo.ConvertOp, hlo.BitcastConvertOp, *MOVEMENT}
    return tuple(sorted(found - given, key=lambda op: op.__name__))


def _only_replaces(op: Operation) -> bool:
    """Whether a body returns one of its arguments and does nothing else."""
    block = op.regions[0].block
    return block.first_op is block.last_op


def _bits(type_: Attribute) -> int:
    element: Any = cast("TensorType[Attribute]", type_).element_type
    return element.width.data if isinstance(element, IntegerType) else element.bitwidth


def _read(b: RuleBuilder, value: SSAValue, type_: Attribute, weights: WeightStore) -> SSAValue:
    """The elements of `value`, stored as `type_` says, in what they are computed in."""
    if not _is_narrow(type_):
        return value
    element = cast("TensorType[Attribute]", type_).element_type
    a = Arithmetic(b)
    if not isinstance(element, IntegerType):
        return decoded(a, value, dtype_of(element), weights)
    unused = 8 - element.width.data
    if element.signedness.data == Signedness.UNSIGNED:
        return a.binary(hlo.AndOp, value, (1 << element.width.data) - 1)
    raised = a.bitcast(a.binary(hlo.ShiftLeftOp, value, unused), IntegerType(8))
    return a.binary(hlo.ShiftRightArithmeticOp, raised, unused)


def _written(b: RuleBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """`value` converted to the narrow `type_`, as bytes. Floats become integers by truncation, and saturate."""
    element = cast("TensorType[Attribute]", type_).element_type
    own = cast("TensorType[Attribute]", value.type).element_type
    a = Arithmetic(b)
    if not isinstance(element, IntegerType):
        wide = own if isinstance(own, Float64Type) else Float32Type()
        return encoded(a, a.convert(value, wide), dtype_of(element))
    width = element.width.data
    if isinstance(own, AnyFloat):
        low, high = (
            (0, 2**width - 1)
            if element.signedness.data == Signedness.UNSIGNED
            else (
                -(2 ** (width - 1)),
                2 ** (width - 1) - 1,
            )
        )
        whole = a.convert(value, IntegerType(32))
        value = a.binary(hlo.MinimumOp, a.binary(hlo.MaximumOp, whole, low), high)
    return a.binary(hlo.AndOp, a.convert(value, BYTE), (1 << width) - 1)
