"""What each elementwise op does to one element: the table that generics' and reductions' bodies are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, cast

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IndexType, IntegerType, f32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue

from ....compiler.diagnostics import LaminaError
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo import chlo
from .conversions import bounds_of, convert_scalar, float_remainder, round_to_precision
from .rules import Scalars, is_unsigned, signless

Scalar = Callable[[Any, Scalars, Sequence[SSAValue]], SSAValue]
SCALARS: dict[type[Operation], Scalar] = {}


def scalar(*ops: type[Operation]) -> Callable[[Scalar], Scalar]:
    """Registers the decorated function as what one element of `ops` becomes."""

    def register(function: Scalar) -> Scalar:
        SCALARS.update(dict.fromkeys(ops, function))
        return function

    return register


def scalar_region(s: Scalars, block: Block, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Inlines a block of ops on tensors without dimensions as scalar ops; the values it returns."""
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, args, strict=True))
    for op in block.ops:
        operands = [values[v] if v in values else _captured(s, op, v) for v in op.operands]
        if op.next_op is None:
            return operands
        rule = SCALARS.get(type(op))
        if rule is None:
            raise LaminaError("this operation cannot be lowered inside a reduction's body", where=op)
        values[op.results[0]] = rule(op, s, operands)
    raise LaminaError("the body has no terminator", where=block.parent_op())


def _captured(s: Scalars, op: Operation, value: SSAValue) -> SSAValue:
    """A constant that was moved out of the body, made anew in it."""
    owner = value.owner
    if isinstance(owner, hlo.ConstantOp | arith.ConstantOp) and isinstance(owner.value, DenseIntOrFPElementsAttr):
        return s.constant(cast(Any, owner.value).get_values()[0], signless(owner.value.get_element_type()))
    raise LaminaError("the body of a reduction may not use values from outside", where=op)


def is_float(value: SSAValue) -> bool:
    return isinstance(value.type, AnyFloat)


def is_bool(value: SSAValue) -> bool:
    return isinstance(value.type, IntegerType) and value.type.width.data == 1


def width(value: SSAValue) -> int:
    return cast(IntegerType, value.type).width.data


@scalar(hlo.ConstantOp)
def constant(op: hlo.ConstantOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    value = cast(Any, op.value)
    return s.constant(value.get_values()[0], signless(value.get_element_type()))


_ANY_ZERO = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])


def _by_kind(of_float: Any, of_signed: Any, of_unsigned: Any, of_bool: Any) -> Scalar:
    """One arith op, chosen by the kind of elements."""

    def lower(op: Operation, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
        if is_float(args[0]):
            return s(of_float(*args))
        if is_bool(args[0]):
            return s(of_bool(*args))
        return s((of_unsigned if is_unsigned(op) else of_signed)(*args))

    return lower


def _extreme(of_float: Any, of_signed: Any, of_unsigned: Any, of_bool: Any) -> Scalar:
    """The larger or smaller of two. Of zeros a reduction may keep either, as NumPy's: that is fewer instructions."""
    plain = _by_kind(of_float, of_signed, of_unsigned, of_bool)

    def lower(op: Operation, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
        reduces = isinstance(op.parent_op(), hlo.ReduceOp | hlo.ReduceWindowOp)
        if not reduces or not is_float(args[0]):
            return plain(op, s, args)
        # the new one first: it is what LLVM asks whether it is NaN, and else it stores what is kept under a mask
        return s(of_float(*reversed(args), _ANY_ZERO))

    return lower


SCALARS[hlo.AddOp] = _by_kind(arith.AddfOp, arith.AddiOp, arith.AddiOp, arith.OrIOp)
SCALARS[hlo.SubtractOp] = _by_kind(arith.SubfOp, arith.SubiOp, arith.SubiOp, arith.XOrIOp)
SCALARS[hlo.MultiplyOp] = _by_kind(arith.MulfOp, arith.MuliOp, arith.MuliOp, arith.AndIOp)
SCALARS[hlo.MaximumOp] = _extreme(arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp, arith.OrIOp)
SCALARS[hlo.MinimumOp] = _extreme(arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp, arith.AndIOp)
SCALARS[hlo.AndOp] = lambda op, s, args: s(arith.AndIOp(args[0], args[1]))
SCALARS[hlo.OrOp] = lambda op, s, args: s(arith.OrIOp(args[0], args[1]))
SCALARS[hlo.XorOp] = lambda op, s, args: s(arith.XOrIOp(args[0], args[1]))


def _in_f32(function: Callable[[Scalars, Sequence[SSAValue]], SSAValue]) -> Scalar:
    """Floats narrower than 32 bits are computed in f32 and rounded once."""

    def lower(op: Operation, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
        type_ = cast(AnyFloat, args[0].type)
        if type_.bitwidth >= 32:
            return function(s, args)
        wide = function(s, [s(arith.ExtFOp(a, f32)) for a in args])
        return s(arith.TruncFOp(wide, type_))

    return lower


def _math(class_: Any) -> Scalar:
    return _in_f32(lambda s, args: s(class_(*args)))


SCALARS[hlo.Atan2Op] = _math(math.Atan2Op)
SCALARS[hlo.CbrtOp] = _math(math.CbrtOp)
SCALARS[hlo.CeilOp] = _math(math.CeilOp)
SCALARS[hlo.CosineOp] = _math(math.CosOp)
SCALARS[hlo.ExponentialOp] = _math(math.ExpOp)
SCALARS[hlo.ExponentialMinusOneOp] = _math(math.ExpM1Op)
SCALARS[hlo.FloorOp] = _math(math.FloorOp)
SCALARS[hlo.LogOp] = _math(math.LogOp)
SCALARS[hlo.LogPlusOneOp] = _math(math.Log1pOp)
SCALARS[hlo.RoundNearestAfzOp] = _math(math.RoundOp)
SCALARS[hlo.RoundNearestEvenOp] = _math(math.RoundEvenOp)
SCALARS[hlo.SineOp] = _math(math.SinOp)
SCALARS[hlo.SqrtOp] = _math(math.SqrtOp)
SCALARS[hlo.TanOp] = _math(math.TanOp)
SCALARS[hlo.TanhOp] = _math(math.TanhOp)
SCALARS[chlo.ErfOp] = _math(math.ErfOp)
SCALARS[chlo.AcosOp] = _math(math.AcosOp)
SCALARS[chlo.AcoshOp] = _math(math.AcoshOp)
SCALARS[chlo.AsinOp] = _math(math.AsinOp)
SCALARS[chlo.AsinhOp] = _math(math.AsinhOp)
SCALARS[chlo.AtanOp] = _math(math.AtanOp)
SCALARS[chlo.AtanhOp] = _math(math.AtanhOp)
SCALARS[chlo.CoshOp] = _math(math.CoshOp)
SCALARS[chlo.SinhOp] = _math(math.SinhOp)
SCALARS[hlo.PopcntOp] = lambda op, s, args: s(math.CtPopOp(args[0]))
SCALARS[hlo.CountLeadingZerosOp] = lambda op, s, args: s(math.CountLeadingZerosOp(args[0]))
SCALARS[hlo.RealOp] = lambda op, s, args: args[0]
SCALARS[hlo.ImagOp] = lambda op, s, args: s.constant(0.0, args[0].type)


def _rsqrt(s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    return s(arith.DivfOp(s.constant(1.0, args[0].type), s(math.SqrtOp(args[0]))))


def _logistic(s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    one = s.constant(1.0, args[0].type)
    return s(arith.DivfOp(one, s(arith.AddfOp(one, s(math.ExpOp(s(arith.NegfOp(args[0]))))))))


SCALARS[hlo.RsqrtOp] = _in_f32(_rsqrt)
SCALARS[hlo.LogisticOp] = _in_f32(_logistic)


@scalar(hlo.AbsOp)
def absolute(op: hlo.AbsOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    [x] = args
    if is_float(x):
        return s(math.AbsFOp(x))
    return s(arith.MaxSIOp(x, s(arith.SubiOp(s.constant(0, x.type), x))))


@scalar(hlo.NegateOp)
def negate(op: hlo.NegateOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    [x] = args
    return s(arith.NegfOp(x)) if is_float(x) else s(arith.SubiOp(s.constant(0, x.type), x))


@scalar(hlo.NotOp)
def invert(op: hlo.NotOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    return s(arith.XOrIOp(args[0], s.constant(-1, args[0].type)))


@scalar(hlo.SignOp)
def sign(op: hlo.SignOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    """Zeros and NaN stay as they are."""
    [x] = args
    zero, one = s.constant(0, x.type), s.constant(1, x.type)
    if is_float(x):
        signed = s(math.CopySignOp(one, x))
        return s(arith.SelectOp(s(arith.CmpfOp(x, zero, "one")), signed, x))
    sign_ = s(arith.SelectOp(s(arith.CmpiOp(x, zero, "slt")), s.constant(-1, x.type), one))
    return s(arith.SelectOp(s(arith.CmpiOp(x, zero, "eq")), zero, sign_))


@scalar(hlo.IsFiniteOp)
def is_finite(op: hlo.IsFiniteOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    [x] = args
    return s(arith.CmpfOp(s(math.AbsFOp(x)), s.constant(inf, x.type), "olt"))


@scalar(hlo.DivideOp)
def divide(op: hlo.DivideOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    """Integers: by zero gives all bits set, the lowest by -1 wraps; neither may reach the machine's division."""
    x, y = args
    if is_float(x):
        return s(arith.DivfOp(x, y))
    one, zero = s.constant(1, x.type), s.constant(0, x.type)
    by_zero = s(arith.CmpiOp(y, zero, "eq"))
    if is_unsigned(op):
        quotient = s(arith.DivUIOp(x, s(arith.SelectOp(by_zero, one, y))))
    else:
        negates = s(arith.CmpiOp(y, s.constant(-1, x.type), "eq"))
        special = s(arith.OrIOp(by_zero, negates))
        plain = s(arith.DivSIOp(x, s(arith.SelectOp(special, one, y))))
        quotient = s(arith.SelectOp(negates, s(arith.SubiOp(zero, x)), plain))
    return s(arith.SelectOp(by_zero, s.constant(-1, x.type), quotient))


@scalar(hlo.RemainderOp)
def remainder(op: hlo.RemainderOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    """Has the sign of the dividend. Integers by zero give the dividend."""
    x, y = args
    if is_float(x):
        return float_remainder(s, x, y)
    one, zero = s.constant(1, x.type), s.constant(0, x.type)
    by_zero = s(arith.CmpiOp(y, zero, "eq"))
    if is_unsigned(op):
        rest = s(arith.RemUIOp(x, s(arith.SelectOp(by_zero, one, y))))
    else:
        special = s(arith.OrIOp(by_zero, s(arith.CmpiOp(y, s.constant(-1, x.type), "eq"))))
        rest = s(arith.RemSIOp(x, s(arith.SelectOp(special, one, y))))
    return s(arith.SelectOp(by_zero, x, rest))


@scalar(hlo.ShiftLeftOp)
def shift_left(op: hlo.ShiftLeftOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    return _shift_out(s, arith.ShLIOp, *args)


@scalar(hlo.ShiftRightLogicalOp)
def shift_right_logical(op: hlo.ShiftRightLogicalOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    return _shift_out(s, arith.ShRUIOp, *args)


def _shift_out(s: Scalars, shift: Any, x: SSAValue, y: SSAValue) -> SSAValue:
    """From the width on, everything is shifted out."""
    bits, zero = s.constant(width(x), x.type), s.constant(0, x.type)
    inside = s(arith.CmpiOp(y, bits, "ult"))
    shifted = s(shift(x, s(arith.SelectOp(inside, y, zero))))
    return s(arith.SelectOp(inside, shifted, zero))


@scalar(hlo.ShiftRightArithmeticOp)
def shift_right_arithmetic(op: hlo.ShiftRightArithmeticOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    x, y = args
    return s(arith.ShRSIOp(x, s(arith.MinUIOp(y, s.constant(width(x) - 1, x.type)))))


@scalar(hlo.PowerOp)
def power(op: hlo.PowerOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    x, y = args
    if is_float(x):
        return _math(math.PowFOp)(op, s, args)
    raised = _integer_power(s, x, y)
    if is_unsigned(op):
        return raised
    zero, one = s.constant(0, x.type), s.constant(1, x.type)
    odd = s(arith.CmpiOp(s(arith.AndIOp(y, one)), zero, "ne"))
    is_one = s(arith.CmpiOp(x, one, "eq"))
    is_minus_one = s(arith.CmpiOp(x, s.constant(-1, x.type), "eq"))
    unit = s(arith.SelectOp(odd, x, one))
    inverse = s(arith.SelectOp(s(arith.OrIOp(is_one, is_minus_one)), unit, zero))
    return s(arith.SelectOp(s(arith.CmpiOp(y, zero, "slt")), inverse, raised))


def _integer_power(s: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """Squares and multiplies, one step per bit of the exponent."""
    index = IndexType()
    lower, upper, step = s.constant(0, index), s.constant(width(x), index), s.constant(1, index)
    one = s.constant(1, x.type)
    body = Block(arg_types=[index, x.type, x.type, x.type])
    t = Scalars(body)
    _, total, base, exponent = body.args
    bit = t(arith.CmpiOp(t(arith.AndIOp(exponent, one)), one, "eq"))
    multiplied = t(arith.SelectOp(bit, t(arith.MuliOp(total, base)), total))
    squared, rest = t(arith.MuliOp(base, base)), t(arith.ShRUIOp(exponent, one))
    body.add_op(scf.YieldOp(multiplied, squared, rest))
    return s(scf.ForOp(lower, upper, step, [one, x, y], Region(body)))


@scalar(hlo.ClampOp)
def clamp(op: hlo.ClampOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    low, x, high = args
    above = SCALARS[hlo.MaximumOp](op, s, [x, low])
    return SCALARS[hlo.MinimumOp](op, s, [above, high])


@scalar(hlo.SelectOp)
def select(op: hlo.SelectOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    return s(arith.SelectOp(*args))


_FLOAT_PREDICATES = {"EQ": "oeq", "NE": "une", "GE": "oge", "GT": "ogt", "LE": "ole", "LT": "olt"}


@scalar(hlo.CompareOp)
def compare(op: hlo.CompareOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    x, y = args
    direction = op.comparison_direction.data.value
    if is_float(x):
        if op.compare_type is None or op.compare_type.data.value != "TOTALORDER":
            return s(arith.CmpfOp(x, y, _FLOAT_PREDICATES[direction]))
        x, y = _total_order(s, x), _total_order(s, y)
    signed = not (is_unsigned(op) or is_bool(x))
    prefix = "" if direction in ("EQ", "NE") else "s" if signed else "u"
    return s(arith.CmpiOp(x, y, prefix + direction.lower()))


def _total_order(s: Scalars, x: SSAValue) -> SSAValue:
    """Integers in the order -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    integer = IntegerType(cast(AnyFloat, x.type).bitwidth)
    bits = s(arith.BitcastOp(x, integer))
    lowest = s.constant(1 << (integer.width.data - 1), integer)
    flipped = s(arith.SubiOp(s(arith.SubiOp(lowest, bits)), s.constant(1, integer)))
    return s(arith.SelectOp(s(arith.CmpiOp(bits, s.constant(0, integer), "slt")), flipped, bits))


@scalar(hlo.ConvertOp)
def convert(op: hlo.ConvertOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    target = cast(Any, op.result.type).element_type
    return convert_scalar(s, args[0], is_unsigned(op), target, bounds_of(op.operand))


@scalar(hlo.ReducePrecisionOp)
def reduce_precision(op: hlo.ReducePrecisionOp, s: Scalars, args: Sequence[SSAValue]) -> SSAValue:
    return round_to_precision(s, args[0], op.exponent_bits.value.data, op.mantissa_bits.value.data)
