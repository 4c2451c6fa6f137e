"""Loops with arithmetic on vectors of f32, and with what the kernel keeps for itself on the stack."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import (
    AffineMapAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects import affine, arith, memref, vector
from ....dialects.math import WEIGHT
from ..contraction_to_vector.loops import D, Loops

OEQ, OGT = 1, 2  # predicates of arith.cmpf
SLE = 3  # of arith.cmpi


class Vectors(Loops):
    """Appends ops on vectors of `lanes` f32."""

    lanes: int = 1

    @property
    def type(self) -> VectorType:
        """A vector of f32."""
        return VectorType(f32, [self.lanes])

    def scalar(self, number: float) -> SSAValue:
        """A constant f32."""
        return self(arith.ConstantOp(FloatAttr(number, f32))).result

    def all_lanes(self, value: SSAValue | float) -> SSAValue:
        """A number in every lane."""
        scalar = value if isinstance(value, SSAValue) else self.scalar(value)
        return self(vector.BroadcastOp(scalar, VectorType(scalar.type, [self.lanes]))).vector

    def plus(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y"""
        return self._float(arith.AddfOp, x, y)

    def minus(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y"""
        return self._float(arith.SubfOp, x, y)

    def times(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y"""
        return self._float(arith.MulfOp, x, y)

    def over(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x / y"""
        return self._float(arith.DivfOp, x, y)

    def weight(self, x: SSAValue) -> SSAValue:
        """e to the x, which is not above 0; 0 instead of what is no normal number."""
        result = self._float(math.ExpOp, x)
        result.owner.attributes[WEIGHT] = UnitAttr()  # pyright: ignore
        return result

    def _float(self, op: type[Operation], *operands: SSAValue) -> SSAValue:
        properties = {"fastmath": arith.FastMathFlagsAttr("none")}
        return self(op.create(operands=operands, result_types=[operands[0].type], properties=properties)).results[0]

    def multiply_add(self, x: SSAValue, y: SSAValue, total: SSAValue) -> SSAValue:
        """x * y + total in one rounding"""
        return self(vector.FMAOp(x, y, total)).res

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """By lane."""
        return self(arith.SelectOp.create(operands=[condition, x, y], result_types=[x.type])).results[0]

    def compare(self, predicate: int, x: SSAValue, y: SSAValue) -> SSAValue:
        """By lane; floats."""
        properties = {"predicate": IntegerAttr(predicate, i64), "fastmath": arith.FastMathFlagsAttr("none")}
        type_ = VectorType(i1, [self.lanes])
        return self(arith.CmpfOp.create(operands=[x, y], result_types=[type_], properties=properties)).results[0]

    def larger(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The larger one; y where one is not a number. An instruction, where maximumf is four."""
        return self.select(self.compare(OGT, x, y), x, y)

    def not_above(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x <= y by lane; integers."""
        properties = {"predicate": IntegerAttr(SLE, i64)}
        type_ = VectorType(i1, [self.lanes])
        return self(arith.CmpiOp.create(operands=[x, y], result_types=[type_], properties=properties)).results[0]

    def integer(self, index: SSAValue) -> SSAValue:
        """An index as i32."""
        return self(arith.IndexCastOp(index, i32)).result

    def count_up(self, first: SSAValue) -> SSAValue:
        """first, first + 1, ... as i32."""
        steps = self(vector.StepOp(self.lanes)).result
        narrow = self(arith.IndexCastOp.create(operands=[steps], result_types=[VectorType(i32, [self.lanes])])).results[
            0
        ]
        return self(arith.AddiOp(narrow, self.all_lanes(self.integer(first)))).result

    def bounded(
        self, op: type[affine.MinOp] | type[affine.MaxOp], exprs: Sequence[AffineExpr], of: SSAValue
    ) -> SSAValue:
        """The least or greatest of some expressions of one index."""
        return self(op([of], AffineMapAttr(AffineMap(1, 0, tuple(exprs))))).result

    def clamped(self, index: SSAValue, shift: SSAValue | None, most: int) -> SSAValue:
        """index - shift, not below 0 nor above `most`."""
        apart = self.index(D(0) - D(1), index, shift)
        above = self.bounded(affine.MaxOp, (D(0), AffineExpr.constant(0)), apart)
        return self.bounded(affine.MinOp, (D(0), AffineExpr.constant(most)), above)

    def stack(self, elements: int) -> SSAValue:
        """Room for some f32, each thread its own."""
        op = memref.AllocaOp.build(
            operands=[[], []],
            result_types=[MemRefType(f32, [elements])],
            properties={"alignment": IntegerAttr(64, i64)},
        )
        return self(op).memref
