"""The part of CHLO that models need: functions that the StableHLO specification has no op for.

`%r = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>`
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition
from xdsl.parser import Parser
from xdsl.printer import Printer

from .ops_unary import FLOAT, UnaryOp
from .syntax import parse_attributes, print_attributes


class ChloUnaryOp(UnaryOp, ABC):
    """A function of real numbers, element by element."""

    ACCEPTS: ClassVar = (FLOAT,)

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
class AcosOp(ChloUnaryOp):
    """The inverse cosine."""

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(ChloUnaryOp):
    """The inverse hyperbolic cosine."""

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(ChloUnaryOp):
    """The inverse sine."""

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(ChloUnaryOp):
    """The inverse hyperbolic sine."""

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(ChloUnaryOp):
    """The inverse tangent."""

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(ChloUnaryOp):
    """The inverse hyperbolic tangent."""

    name = "chlo.atanh"


@irdl_op_definition
class CoshOp(ChloUnaryOp):
    """The hyperbolic cosine."""

    name = "chlo.cosh"


@irdl_op_definition
class SinhOp(ChloUnaryOp):
    """The hyperbolic sine."""

    name = "chlo.sinh"


CHLO = Dialect(
    "chlo",
    [
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
    ],
)
