"""Arithmetic on floats of one type, scalar or vector, f32 or f64: what the expansions are written in.

Every op is marked `strict`: it means exactly what it says and is not contracted, because several expansions rely on
the rounding of single operations. Fused operations are asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import math, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    UnitAttr,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...compiler.conversion import RuleBuilder
from ...dialects import arith
from ...dialects.arith.marks import STRICT
from ...dialects.arith.shaped import element_type, with_element
from ...dialects.vector import BroadcastOp, CombiningKindAttr, CombiningKindFlag, ExtractOp, ReductionOp
from ...dialects.x86 import PermuteOp

_NO_FLAGS = arith.FastMathFlagsAttr("none")
_CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
PREDICATES = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "ugt": 9, "ult": 11, "une": 13, "uno": 14}
_INT_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ugt": 8}
MAGIC = 1.5 * 2.0**23  # a sum of f32 with it has no room for a fraction, and holds the nearest integer in its low bits


class Numbers:
    """Builds ops at the builder's point on values of `type_`; integers have the same width and number of lanes."""

    def __init__(self, b: RuleBuilder, type_: Attribute):
        self.b = b
        self.type = type_
        element = element_type(type_)
        if not isinstance(element, (Float32Type, Float64Type)):
            raise b.fail(f"no expansion for {type_}")
        self.double = isinstance(element, Float64Type)
        self.mantissa_bits = 52 if self.double else 23
        self.bias = 1023 if self.double else 127
        self.int_type = with_element(type_, i64 if self.double else i32)
        self.bool_type = with_element(type_, i1)
        self._constants: dict[tuple[str, float | int], SSAValue] = {}

    # Constants

    def c(self, value: float) -> SSAValue:
        """A float constant, in every lane."""
        key = ("f", float(np.float32(value)) if not self.double else float(value))
        found = self._constants.get((key[0] + str(np.signbit(value)), key[1]))
        if found is None:
            element = f64 if self.double else f32
            found = self._constant(FloatAttr(value, element), value)
            self._constants[(key[0] + str(np.signbit(value)), key[1])] = found
        return found

    def n(self, value: int) -> SSAValue:
        """An integer constant of the floats' width, in every lane; taken modulo the width."""
        width = 64 if self.double else 32
        value = (value + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
        found = self._constants.get(("i", value))
        if found is None:
            scalar = IntegerAttr(value, i64 if self.double else i32)
            if isinstance(self.int_type, VectorType):
                lanes = self.int_type.get_shape()[0]
                dense = DenseIntOrFPElementsAttr.from_list(self.int_type, [value] * lanes)
                found = self.b(arith.ConstantOp(dense)).result
            else:
                found = self.b(arith.ConstantOp(scalar)).result
            self._constants[("i", value)] = found
        return found

    def _constant(self, scalar: FloatAttr, value: float) -> SSAValue:
        if isinstance(self.type, VectorType):
            lanes = self.type.get_shape()[0]
            dense = DenseIntOrFPElementsAttr.from_list(self.type, [value] * lanes)
            return self.b(arith.ConstantOp(dense)).result
        return self.b(arith.ConstantOp(scalar)).result

    # Floats

    def _float(self, op: type[Operation], *operands: SSAValue) -> SSAValue:
        new = op.create(
            operands=operands,
            result_types=[self.type],
            properties={"fastmath": _NO_FLAGS},
            attributes={STRICT: UnitAttr()},
        )
        return self.b(new).results[0]

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._float(arith.AddfOp, x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._float(arith.SubfOp, x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._float(arith.MulfOp, x, y)

    def loose_mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y, which may be fused with a sum."""
        return self.b(arith.MulfOp(x, y, _CONTRACT)).result

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._float(arith.DivfOp, x, y)

    def neg(self, x: SSAValue) -> SSAValue:
        return self._float(arith.NegfOp, x)

    def fma(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        """x * y + z, rounded once."""
        return self._float(math.FmaOp, x, y, z)

    def abs(self, x: SSAValue) -> SSAValue:
        return self._float(math.AbsFOp, x)

    def sqrt(self, x: SSAValue) -> SSAValue:
        return self._float(math.SqrtOp, x)

    def trunc(self, x: SSAValue) -> SSAValue:
        return self._float(math.TruncOp, x)

    def copysign(self, magnitude: SSAValue, sign: SSAValue) -> SSAValue:
        return self._float(math.CopySignOp, magnitude, sign)

    def poly(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """c0 + c1 x + c2 x² + …, by Horner's rule with steps that are fused where that costs nothing.

        Long ones go by pairs, in x² (Estrin's scheme, once): as many steps, and half as many wait for each other.
        """
        if len(coefficients) < 6:
            return self._horner(x, coefficients)
        square = self.mul(x, x)
        pairs = [self._horner(x, coefficients[start : start + 2]) for start in range(0, len(coefficients), 2)]
        result = pairs.pop()
        while pairs:
            result = self._step(result, square, pairs.pop())
        return result

    def _horner(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        result = self.c(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self._step(result, x, self.c(coefficient))
        return result

    def _step(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        return self.b(math.FmaOp(x, y, z, _CONTRACT)).result

    def cmp(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """A comparison by arith's predicate name: `o…` is false where either is NaN, `u…` true."""
        properties: dict[str, Attribute] = {
            "predicate": IntegerAttr(PREDICATES[predicate], i64),
            "fastmath": _NO_FLAGS,
        }
        new = arith.CmpfOp.create(operands=[x, y], result_types=[self.bool_type], properties=properties)
        return self.b(new).results[0]

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """By lane; floats or integers."""
        return self.b(arith.SelectOp.create(operands=[condition, x, y], result_types=[x.type])).results[0]

    def at_most(self, x: SSAValue, limit: float) -> SSAValue:
        """min(x, limit); NaN stays."""
        bound = self.c(limit)
        return self.select(self.cmp("ogt", x, bound), bound, x)

    def at_least(self, x: SSAValue, limit: float) -> SSAValue:
        """max(x, limit); NaN stays."""
        bound = self.c(limit)
        return self.select(self.cmp("olt", x, bound), bound, x)

    # Integers and bits

    def _convert(self, op: type[Operation], x: SSAValue, type_: Attribute) -> SSAValue:
        return self.b(op.create(operands=[x], result_types=[type_])).results[0]

    def bits(self, x: SSAValue) -> SSAValue:
        return self._convert(arith.BitcastOp, x, self.int_type)

    def from_bits(self, i: SSAValue) -> SSAValue:
        return self._convert(arith.BitcastOp, i, self.type)

    def int(self, op: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
        """An integer op of arith, such as `arith.AddiOp`."""
        return self.b(op.create(operands=[x, y], result_types=[x.type])).results[0]

    def icmp(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        new = arith.CmpiOp.create(
            operands=[x, y],
            result_types=[with_element(x.type, i1)],
            properties={"predicate": IntegerAttr(_INT_PREDICATES[predicate], i64)},
        )
        return self.b(new).results[0]

    def both(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.int(arith.AndIOp, x, y)

    def either(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.int(arith.OrIOp, x, y)

    def round_to_int(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The nearest integer of |x| < 2^(mantissa - 2), as float and as integer.

        Adding 1.5 * 2^mantissa leaves the integer in the low bits: AVX2 cannot convert f64 to i64.
        """
        magic = 1.5 * 2.0**self.mantissa_bits
        moved = self.add(x, self.c(magic))
        number = np.float64(magic).view(np.int64) if self.double else np.float32(magic).view(np.int32)
        return self.sub(moved, self.c(magic)), self.int(arith.SubiOp, self.bits(moved), self.n(int(number)))

    def round_to_biased(self, x: SSAValue, bias: int, factor: float = 1.0) -> tuple[SSAValue, SSAValue]:
        """The integer nearest to x * factor, as a float, and with `bias` added in the low bits of an integer.

        What that integer holds above as many bits as a mantissa has, a shift into the exponent pushes out.
        """
        magic = self.c(1.5 * 2.0**self.mantissa_bits + bias)
        moved = self.add(x, magic) if factor == 1.0 else self.fma(x, self.c(factor), magic)
        return self.sub(moved, magic), self.bits(moved)

    def in_exponent(self, biased: SSAValue) -> SSAValue:
        """The float whose exponent's bits are the low bits of an integer: 2^(biased - bias)."""
        return self.from_bits(self.int(arith.ShLIOp, biased, self.n(self.mantissa_bits)))

    def small_int_to_float(self, i: SSAValue) -> SSAValue:
        """An integer below 2^(mantissa - 2) as a float."""
        magic = 1.5 * 2.0**self.mantissa_bits
        number = np.float64(magic).view(np.int64) if self.double else np.float32(magic).view(np.int32)
        return self.sub(self.from_bits(self.int(arith.AddiOp, i, self.n(int(number)))), self.c(magic))

    def power_of_two(self, k: SSAValue) -> SSAValue:
        """2^k for k in the range of normal numbers."""
        biased = self.int(arith.AddiOp, k, self.n(self.bias))
        return self.from_bits(self.int(arith.ShLIOp, biased, self.n(self.mantissa_bits)))

    def scale(self, x: SSAValue, k: SSAValue) -> SSAValue:
        """x * 2^k in two steps, so that results may be subnormal or overflow rightly."""
        half = self.int(arith.ShRSIOp, k, self.n(1))
        rest = self.int(arith.SubiOp, k, half)
        return self.mul(self.mul(x, self.power_of_two(half)), self.power_of_two(rest))

    def looked_up(self, table: Sequence[float], index: SSAValue) -> SSAValue:
        """By lane, the entry of a table, a register's worth of f32, that the low bits of an integer name."""
        numbers = DenseIntOrFPElementsAttr.from_list(VectorType(f32, [len(table)]), list(table))
        return self.b(PermuteOp(self.b(arith.ConstantOp(numbers)).result, index)).result

    # Structure

    def by_lanes(self, x: SSAValue, work: Callable[[Numbers, SSAValue], SSAValue]) -> SSAValue:
        """`work` on a vector: a scalar is one of one lane."""
        if isinstance(self.type, VectorType):
            return work(self, x)
        alone = VectorType(self.type, [1])
        result = work(Numbers(self.b, alone), self.b(BroadcastOp(x, alone)).vector)
        return self.b(ExtractOp(result, [0], self.type)).result

    def inside(self, block: Block) -> Numbers:
        """The same arithmetic, at the end of a block of a nested region."""
        return Numbers(self.b.at(InsertPoint.at_end(block)), self.type)

    def any(self, condition: SSAValue) -> SSAValue:
        """Whether the condition holds in any lane, as an i1."""
        if not isinstance(condition.type, VectorType):
            return condition
        kind = CombiningKindAttr(CombiningKindFlag.OR)
        new = ReductionOp.create(
            operands=[condition], result_types=[i1], properties={"kind": kind, "fastmath": _NO_FLAGS}
        )
        return self.b(new).results[0]

    def rarely(
        self,
        condition: SSAValue,
        slow: Callable[[Numbers], Sequence[SSAValue]],
        fast: Callable[[Numbers], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """`slow` in all lanes when the condition holds in any, else `fast`."""
        blocks = Block(), Block()
        results: list[list[SSAValue]] = []
        for block, work in zip(blocks, (slow, fast), strict=True):
            inner = self.inside(block)
            values = list(work(inner))
            inner.b(scf.YieldOp(*values))
            results.append(values)
        types = [value.type for value in results[0]]
        return self.b(scf.IfOp(self.any(condition), types, Region(blocks[0]), Region(blocks[1]))).results

    def wide(self) -> Numbers:
        """The same lanes in f64."""
        return self if self.double else Numbers(self.b, with_element(self.type, f64))

    def widen(self, x: SSAValue) -> SSAValue:
        """f32 to f64."""
        return x if self.double else self._convert(arith.ExtFOp, x, with_element(self.type, f64))

    def narrow(self, x: SSAValue) -> SSAValue:
        """f64 back to this type."""
        return x if self.double else self._convert(arith.TruncFOp, x, self.type)


def quotient(e: Numbers, x: SSAValue, divisor: float) -> SSAValue:
    """x / divisor in f32 to half an ulp and a little, by its reciprocal in two parts; subnormal ones lose more.

    Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor is known in
    advance", 2004.
    """
    high, low = reciprocal(divisor)
    return e.fma(x, e.c(high), e.mul(x, e.c(low))) if low else e.mul(x, e.c(high))


def reciprocal(divisor: float) -> tuple[float, float]:
    """1 / divisor as the sum of two f32 of one sign, so that the quotient of an infinite number is infinite."""
    whole = 1 / divisor
    high = np.float32(whole)
    if abs(float(high)) > abs(whole):
        high = np.nextafter(high, np.float32(0))
    return float(high), float(np.float32(whole - float(high)))


def constant_of(value: SSAValue) -> float | None:
    """The number that `value` is in every lane, when it is a constant."""
    source = value.owner
    if isinstance(source, BroadcastOp):
        return constant_of(source.source)
    attribute = source.value if isinstance(source, arith.ConstantOp) else None
    if isinstance(attribute, FloatAttr | IntegerAttr):
        return float(attribute.value.data)
    if isinstance(attribute, DenseIntOrFPElementsAttr) and attribute.is_splat():
        return float(attribute.get_values()[0])  # pyright: ignore[reportArgumentType]
    return None


def in_f32(
    b: RuleBuilder, operands: Sequence[SSAValue], work: Callable[[Numbers, list[SSAValue]], SSAValue]
) -> SSAValue:
    """Runs `work` on floats; half precisions are widened for it and rounded after it."""
    type_ = operands[0].type
    if not isinstance(element_type(type_), (Float16Type, BFloat16Type)):
        return work(Numbers(b, type_), list(operands))
    wide = with_element(type_, f32)
    values = [
        b(arith.ExtFOp.create(operands=[value], result_types=[wide])).results[0] if value.type == type_ else value
        for value in operands
    ]
    result = work(Numbers(b, wide), values)
    return b(arith.TruncFOp.create(operands=[result], result_types=[type_])).results[0]
