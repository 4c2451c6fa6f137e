"""CHLO: functions that the StableHLO specification has no op for, and element-wise ops whose operands broadcast.

`%r = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>`
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition
from xdsl.parser import Parser
from xdsl.printer import Printer

from . import shapes
from .ops_unary import COMPLEX, FLOAT, UnaryOp
from .syntax import parse_attributes, print_attributes


class ChloUnaryOp(UnaryOp, ABC):
    """A function of real numbers, element by element."""

    ACCEPTS: ClassVar = (FLOAT,)
    ONE_TYPE: ClassVar = False

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        attributes = parse_attributes(cls, parser, {})
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        value = parser.resolve_operand(operand, kind)
        return cls.create(operands=[value], result_types=[result], attributes=attributes)


class ChloAnalyticOp(ChloUnaryOp, ABC):
    """A function of real or complex numbers."""

    ACCEPTS: ClassVar = (FLOAT, COMPLEX)


class ChloPredicateOp(ChloUnaryOp, ABC):
    """A question about each number."""

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.with_element(self.operand.type, i1),)


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    """The error function."""

    name = "chlo.erf"


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    """One minus the error function, exact where that is small."""

    name = "chlo.erfc"


@irdl_op_definition
class ErfInvOp(ChloUnaryOp):
    """The inverse of the error function."""

    name = "chlo.erf_inv"


@irdl_op_definition
class LgammaOp(ChloUnaryOp):
    """The logarithm of the absolute value of the gamma function."""

    name = "chlo.lgamma"


@irdl_op_definition
class DigammaOp(ChloUnaryOp):
    """The derivative of the logarithm of the gamma function."""

    name = "chlo.digamma"


@irdl_op_definition
class AcosOp(ChloAnalyticOp):
    """The inverse cosine."""

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(ChloAnalyticOp):
    """The inverse hyperbolic cosine."""

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(ChloAnalyticOp):
    """The inverse sine."""

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(ChloAnalyticOp):
    """The inverse hyperbolic sine."""

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(ChloAnalyticOp):
    """The inverse tangent."""

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(ChloAnalyticOp):
    """The inverse hyperbolic tangent."""

    name = "chlo.atanh"


@irdl_op_definition
class CoshOp(ChloAnalyticOp):
    """The hyperbolic cosine."""

    name = "chlo.cosh"


@irdl_op_definition
class SinhOp(ChloAnalyticOp):
    """The hyperbolic sine."""

    name = "chlo.sinh"


@irdl_op_definition
class TanOp(ChloAnalyticOp):
    """The tangent."""

    name = "chlo.tan"


@irdl_op_definition
class SquareOp(ChloAnalyticOp):
    """The number times itself."""

    name = "chlo.square"


@irdl_op_definition
class ConjOp(ChloAnalyticOp):
    """The complex conjugate; a real number is its own."""

    name = "chlo.conj"


@irdl_op_definition
class BesselI1eOp(ChloUnaryOp):
    """The modified Bessel function of the first kind and order 1, times exp(-abs(x))."""

    name = "chlo.bessel_i1e"


@irdl_op_definition
class IsInfOp(ChloPredicateOp):
    """Whether it is infinite."""

    name = "chlo.is_inf"


@irdl_op_definition
class IsPosInfOp(ChloPredicateOp):
    """Whether it is positive infinity."""

    name = "chlo.is_pos_inf"


@irdl_op_definition
class IsNegInfOp(ChloPredicateOp):
    """Whether it is negative infinity."""

    name = "chlo.is_neg_inf"


UNARY: Sequence[type[Operation]] = (
    ErfOp,
    ErfcOp,
    ErfInvOp,
    LgammaOp,
    DigammaOp,
    AcosOp,
    AcoshOp,
    AsinOp,
    AsinhOp,
    AtanOp,
    AtanhOp,
    CoshOp,
    SinhOp,
    TanOp,
    SquareOp,
    ConjOp,
    BesselI1eOp,
    IsInfOp,
    IsPosInfOp,
    IsNegInfOp,
)
