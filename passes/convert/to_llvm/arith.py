"""arith to llvm: one instruction each, but for division with rounding and for bfloat16, which has no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    bf16,
    f32,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ....compiler.conversion import Rule, RuleBuilder
from ....compiler.dtypes import dense_array
from ....dialects.arith import IndexCastUIOp
from ....dialects.arith.marks import STRICT
from ....dialects.llvm.instructions import FCmpOp, FPToSIOp, FPToUIOp, FreezeOp, SelectOp, UIToFPOp
from ....dialects.llvm.intrinsics import (
    MaximumOp,
    MinimumOp,
    SMaxOp,
    SMinOp,
    UMaxOp,
    UMinOp,
)
from .rules import (
    CONTRACT,
    NO_FLAGS,
    RULES,
    binary,
    cast,
    compare,
    constant,
    element_of,
    like,
    llvm_type,
)

_BINARY: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.RemUIOp: llvm.URemOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.MaxSIOp: SMaxOp,
    arith.MinSIOp: SMinOp,
    arith.MaxUIOp: UMaxOp,
    arith.MinUIOp: UMinOp,
}

_FLOAT: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.MaximumfOp: MaximumOp,
    arith.MinimumfOp: MinimumOp,
    arith.MaxnumfOp: llvm.VectorFMaxOp,
    arith.MinnumfOp: llvm.VectorFMinOp,
    arith.NegfOp: llvm.FNegOp,
}
_CONTRACTED = (arith.AddfOp, arith.SubfOp, arith.MulfOp)  # may become part of an fma


def fast_math(op: Operation) -> llvm.FastMathAttr:
    """The flags of `op`, and leave to contract where that is the house's default."""
    flags = op.properties.get("fastmath")
    own = flags.data if isinstance(flags, arith.FastMathFlagsAttr) else frozenset[FastMathFlag]()
    if isinstance(op, _CONTRACTED) and STRICT not in op.attributes:
        return llvm.FastMathAttr([*own, FastMathFlag.ALLOW_CONTRACT]) if own else CONTRACT
    return llvm.FastMathAttr(own) if own else NO_FLAGS


def _integer_rule(target: type[Operation]) -> Rule:
    def rule(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        new = target.create(operands=operands, result_types=[operands[0].type])
        overflow = op.properties.get("overflowFlags")
        if isinstance(overflow, arith.IntegerOverflowAttr) and overflow.data:
            new.properties["overflowFlags"] = _overflow(overflow)
        return b(new).results[0]

    return rule


@cache
def _overflow(told: arith.IntegerOverflowAttr) -> IntegerAttr[IntegerType]:
    flags = llvm.OverflowAttr([llvm.OverflowFlag(flag.value) for flag in told.data])
    return IntegerAttr(flags.to_int(), i32)


def _float_rule(target: type[Operation]) -> Rule:
    def rule(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        flags = fast_math(op)
        if target in _ORDERS and FastMathFlag.NO_NANS in flags.data:
            return chosen(b, target, *operands)
        return float_op(b, target, operands, flags)

    return rule


_ORDERS: dict[type[Operation], str] = {MaximumOp: "ogt", MinimumOp: "olt"}


def chosen(b: RuleBuilder, target: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
    """The larger or smaller float, y where one is not a number: one instruction, and what comes out is defined."""
    return b(SelectOp(compare_floats(b, _ORDERS[target], x, y), x, y)).res


for _source, _target in _BINARY.items():
    RULES.lowers(_source)(_integer_rule(_target))
for _source, _target in _FLOAT.items():
    RULES.lowers(_source)(_float_rule(_target))


def float_op(
    b: RuleBuilder, target: type[Operation], operands: Sequence[SSAValue], flags: llvm.FastMathAttr
) -> SSAValue:
    """`target` on floats of one type; bfloat16 is computed in f32, since few machines can do otherwise."""
    type_ = operands[0].type
    narrow = isinstance(element_of(type_), BFloat16Type)
    values = [extend_bf16(b, value, like(type_, f32)) for value in operands] if narrow else list(operands)
    new = target.create(operands=values, result_types=[values[0].type], properties={"fastmathFlags": flags})
    result = b(new).results[0]
    return truncate_to_bf16(b, result, type_) if narrow else result


def extend_bf16(b: RuleBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """bfloat16 is the upper half of a float32."""
    bits = cast(b, llvm.BitcastOp, value, like(value.type, i16))
    wide = cast(b, llvm.ZExtOp, bits, like(value.type, i32))
    shifted = binary(b, llvm.ShlOp, wide, constant(b, 16, wide.type))
    single = cast(b, llvm.BitcastOp, shifted, like(value.type, f32))
    return single if element_of(type_) == f32 else cast(b, llvm.FPExtOp, single, type_)


def truncate_to_bf16(b: RuleBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """Rounds a float32 to nearest even; a NaN stays one."""
    integer = like(value.type, i32)
    bits = cast(b, llvm.BitcastOp, value, integer)
    lowest = binary(b, llvm.AndOp, binary(b, llvm.LShrOp, bits, constant(b, 16, integer)), constant(b, 1, integer))
    bias = binary(b, llvm.AddOp, lowest, constant(b, 0x7FFF, integer))
    rounded = binary(b, llvm.AddOp, bits, bias)
    quiet = binary(b, llvm.OrOp, bits, constant(b, 0x400000, integer))
    chosen = b(SelectOp(compare_floats(b, "uno", value, value), quiet, rounded)).res
    return cast(b, llvm.BitcastOp, _upper_halves(b, chosen), like(type_, bf16))


def _upper_halves(b: RuleBuilder, value: SSAValue) -> SSAValue:
    """The upper 16 of 32 bits: of vectors every other half, which one instruction takes from two registers."""
    if not isinstance(value.type, VectorType):
        upper = binary(b, llvm.LShrOp, value, constant(b, 16, i32))
        return cast(b, llvm.TruncOp, upper, i16)
    (lanes,) = value.type.get_shape()
    halves = cast(b, llvm.BitcastOp, value, VectorType(i16, [2 * lanes]))
    mask = DenseArrayBase.from_list(i32, range(1, 2 * lanes, 2))
    return b(llvm.ShuffleVectorOp(halves, halves, mask, VectorType(i16, [lanes]))).res


def _round_to_odd(b: RuleBuilder, value: SSAValue) -> SSAValue:
    """f64 to f32 with the last bit telling that something was cut off: rounding again then rounds rightly."""
    single = cast(b, llvm.FPTruncOp, value, like(value.type, f32))
    integer = like(value.type, i32)
    back = cast(b, llvm.FPExtOp, single, value.type)
    bits = cast(b, llvm.BitcastOp, single, integer)
    one = constant(b, 1, integer)
    magnitudes = [b(llvm.FAbsOp(x, x.type)).result for x in (back, value)]
    away = compare_floats(b, "ogt", *magnitudes)
    towards_zero = b(SelectOp(away, binary(b, llvm.SubOp, bits, one), bits)).res
    inexact = compare_floats(b, "one", back, value)
    odd = b(SelectOp(inexact, binary(b, llvm.OrOp, towards_zero, one), bits)).res
    return cast(b, llvm.BitcastOp, odd, like(value.type, f32))


def compare_floats(b: RuleBuilder, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """Float comparison by LLVM's predicate name."""
    properties: dict[str, Attribute] = {
        "predicate": IntegerAttr(llvm.FCmpPredicateFlag(predicate).to_int(), i64),
        "fastmathFlags": NO_FLAGS,
    }
    return b(FCmpOp.create(operands=[x, y], result_types=[like(x.type, i1)], properties=properties)).results[0]


@RULES.lowers(arith.ConstantOp)
def lower_constant(op: arith.ConstantOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = llvm_type(op.result.type)
    value = op.value
    if isinstance(value, IntegerAttr):
        assert isinstance(type_, IntegerType)
        value = IntegerAttr(value.value.data, type_, truncate_bits=True)
    elif isinstance(value, DenseIntOrFPElementsAttr):
        if isinstance(value.get_element_type(), IndexType):
            assert isinstance(type_, VectorType)
            value = DenseIntOrFPElementsAttr.from_list(type_, dense_array(value).ravel().tolist())
    elif not isinstance(value, FloatAttr):
        raise b.fail(f"constant {value} cannot be an immediate")
    return b(llvm.ConstantOp.create(result_types=[type_], properties={"value": value})).results[0]


@RULES.lowers(arith.CmpiOp)
def lower_cmpi(op: arith.CmpiOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    new = llvm.ICmpOp.create(
        operands=operands,
        result_types=[like(operands[0].type, i1)],
        properties={"predicate": op.predicate},
    )
    return b(new).results[0]


@RULES.lowers(arith.CmpfOp)
def lower_cmpf(op: arith.CmpfOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    x, y = operands
    if isinstance(element_of(x.type), BFloat16Type):
        wide = like(x.type, f32)
        x, y = extend_bf16(b, x, wide), extend_bf16(b, y, wide)
    # The two dialects number the predicates alike.
    return compare_floats(b, llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).value, x, y)


@RULES.lowers(arith.SelectOp)
def lower_select(op: arith.SelectOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(SelectOp(*operands)).res


def _conversion_rule(target: type[Operation]) -> Rule:
    return lambda op, operands, b: cast(b, target, operands[0], llvm_type(op.results[0].type))


for _source, _target in {
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.BitcastOp: llvm.BitcastOp,
}.items():
    RULES.lowers(_source)(_conversion_rule(_target))


@RULES.lowers(arith.ExtFOp)
def lower_extf(op: arith.ExtFOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    if isinstance(element_of(operands[0].type), BFloat16Type):
        return extend_bf16(b, operands[0], op.result.type)
    return cast(b, llvm.FPExtOp, operands[0], op.result.type)


@RULES.lowers(arith.TruncFOp)
def lower_truncf(op: arith.TruncFOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    value = operands[0]
    target = element_of(op.result.type)
    if isinstance(target, (BFloat16Type, Float16Type)) and isinstance(element_of(value.type), Float64Type):
        value = _round_to_odd(b, value)
    if isinstance(target, BFloat16Type):
        if element_of(value.type) != f32:
            value = cast(b, llvm.FPExtOp, value, like(value.type, f32))
        return truncate_to_bf16(b, value, op.result.type)
    return cast(b, llvm.FPTruncOp, value, op.result.type)


@RULES.lowers(arith.SIToFPOp, arith.UIToFPOp)
def lower_int_to_float(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    target = llvm.SIToFPOp if isinstance(op, arith.SIToFPOp) else UIToFPOp
    type_ = op.results[0].type
    if isinstance(element_of(type_), BFloat16Type):
        return truncate_to_bf16(b, cast(b, target, operands[0], like(type_, f32)), type_)
    if isinstance(element_of(type_), Float16Type):  # what f32 rounds is infinite; LLVM would go by way of f64
        return cast(b, llvm.FPTruncOp, cast(b, target, operands[0], like(type_, f32)), type_)
    return cast(b, target, operands[0], type_)


@RULES.lowers(arith.FPToSIOp, arith.FPToUIOp)
def lower_float_to_int(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """A number that does not fit gives some number, never undefined behaviour further down."""
    value = operands[0]
    if isinstance(element_of(value.type), BFloat16Type):
        value = extend_bf16(b, value, like(value.type, f32))
    target = FPToSIOp if isinstance(op, arith.FPToSIOp) else FPToUIOp
    return b(FreezeOp(cast(b, target, value, llvm_type(op.results[0].type)))).res


@RULES.lowers(arith.IndexCastOp, IndexCastUIOp)
def lower_index_cast(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    value = operands[0]
    type_ = llvm_type(op.results[0].type)
    source, target = element_of(value.type), element_of(type_)
    assert isinstance(source, IntegerType) and isinstance(target, IntegerType)
    if source.width.data == target.width.data:
        return value
    if source.width.data > target.width.data:
        return cast(b, llvm.TruncOp, value, type_)
    return cast(b, llvm.SExtOp if isinstance(op, arith.IndexCastOp) else llvm.ZExtOp, value, type_)


@RULES.lowers(arith.CeilDivSIOp)
def lower_ceildivsi(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _rounded_division(b, operands, up=True)


@RULES.lowers(arith.FloorDivSIOp)
def lower_floordivsi(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _rounded_division(b, operands, up=False)


def _rounded_division(b: RuleBuilder, operands: Sequence[SSAValue], *, up: bool) -> SSAValue:
    """Division rounds to zero; one more (less) where the exact quotient has a rest and is positive (negative)."""
    x, y = operands
    quotient, rest = binary(b, llvm.SDivOp, x, y), binary(b, llvm.SRemOp, x, y)
    zero, one = constant(b, 0, x.type), constant(b, 1, x.type)
    signs = binary(b, llvm.XOrOp, x, y)
    same_sign = compare(b, "sge" if up else "slt", signs, zero)
    adjust = binary(b, llvm.AndOp, compare(b, "ne", rest, zero), same_sign)
    moved = binary(b, llvm.AddOp if up else llvm.SubOp, quotient, one)
    return b(SelectOp(adjust, moved, quotient)).res


@RULES.lowers(arith.CeilDivUIOp)
def lower_ceildivui(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    x, y = operands
    quotient, rest = binary(b, llvm.UDivOp, x, y), binary(b, llvm.URemOp, x, y)
    more = binary(b, llvm.AddOp, quotient, constant(b, 1, x.type))
    return b(SelectOp(compare(b, "ne", rest, constant(b, 0, x.type)), more, quotient)).res


def _high_product(b: RuleBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """The upper half of an unsigned 64-bit product, from products of halves, which vectors have."""
    mask, shift = constant(b, 0xFFFFFFFF, x.type), constant(b, 32, x.type)
    (x_low, y_low) = (binary(b, llvm.AndOp, value, mask) for value in (x, y))
    (x_high, y_high) = (binary(b, llvm.LShrOp, value, shift) for value in (x, y))
    low, cross1 = binary(b, llvm.MulOp, x_low, y_low), binary(b, llvm.MulOp, x_low, y_high)
    cross2, high = binary(b, llvm.MulOp, x_high, y_low), binary(b, llvm.MulOp, x_high, y_high)
    middle = binary(b, llvm.LShrOp, low, shift)
    for cross in (cross1, cross2):
        middle = binary(b, llvm.AddOp, middle, binary(b, llvm.AndOp, cross, mask))
        high = binary(b, llvm.AddOp, high, binary(b, llvm.LShrOp, cross, shift))
    return binary(b, llvm.AddOp, high, binary(b, llvm.LShrOp, middle, shift))


def _extended_product(extend: type[Operation]) -> Callable[..., Sequence[SSAValue]]:
    def rule(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
        type_ = operands[0].type
        element = element_of(type_)
        assert isinstance(element, IntegerType)
        width = element.width.data
        if width == 64:
            x, y = operands
            high = _high_product(b, x, y)
            if extend is llvm.SExtOp:
                for sign, other in ((x, y), (y, x)):
                    all_bits = binary(b, llvm.AShrOp, sign, constant(b, 63, type_))
                    high = binary(b, llvm.SubOp, high, binary(b, llvm.AndOp, all_bits, other))
            return [binary(b, llvm.MulOp, x, y), high]
        wide = like(type_, IntegerType(2 * width))
        x, y = (cast(b, extend, value, wide) for value in operands)
        product = binary(b, llvm.MulOp, x, y)
        high = binary(b, llvm.LShrOp, product, constant(b, width, wide))
        return [cast(b, llvm.TruncOp, product, type_), cast(b, llvm.TruncOp, high, type_)]

    return rule


RULES.lowers(arith.MulSIExtendedOp)(_extended_product(llvm.SExtOp))
RULES.lowers(arith.MulUIExtendedOp)(_extended_product(llvm.ZExtOp))
