"""The `check` dialect: what a test program expects of its own values. A failed check is the program's result.

check.expect_eq_const %r, dense<[2, 0, 2]> : tensor<3xi64>
"""

from __future__ import annotations

from abc import ABC
from typing import Self

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    f64,
    i1,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...compiler.diagnostics import LaminaError
from . import shapes
from .ops_call import CustomCallOp
from .syntax import StableHLOOp, parse_attributes, print_attributes, tensor_operand

Value = SSAValue | Operation

DEFAULT_TOLERANCE = 1e-4

CHECK_CALLS = frozenset({"check.eq", "check.expect_eq", "check.expect_almost_eq", "check.expect_close"})
"""Custom calls that say the same, as JAX and the tests of StableHLO write them."""


def is_check(op: Operation) -> bool:
    """Whether an op states an expectation: of the check dialect, or a custom call.

    Raises LaminaError for such a call of other operands than two tensors of one type, or of results other than
    `tensor<i1>`, which are true.
    """
    if not isinstance(op, CustomCallOp) or op.call_target_name.data not in CHECK_CALLS:
        return op.name.startswith("check.")
    kinds, target = op.operand_types, op.call_target_name.data
    if len(kinds) != 2 or kinds[0] != kinds[1] or not isinstance(kinds[0], TensorType):
        raise LaminaError(f"@{target} compares two tensors of one type", where=op)
    if any(kind != TensorType(i1, []) for kind in op.result_types):
        raise LaminaError(f"@{target} gives tensor<i1>, or nothing", where=op)
    return True


def unsigned64(value: int) -> IntegerAttr:
    """`value : ui64`."""
    return IntegerAttr(value, IntegerType(64, Signedness.UNSIGNED))


class ExpectOp(StableHLOOp, ABC):
    """Compares `lhs` with another value or a constant; has an effect, so that it is never removed."""

    lhs = tensor_operand()

    def _print_options(self, printer: Printer) -> None:
        tolerance = self.properties.get("tolerance")
        if tolerance is not None:
            assert isinstance(tolerance, FloatAttr)
            printer.print_string(", tolerance = ")
            printer.print_float(tolerance.value.data, f64)

    @staticmethod
    def _parse_options(parser: Parser) -> dict[str, Attribute]:
        if parser.parse_optional_punctuation(",") is None:
            return {}
        parser.parse_keyword("tolerance")
        parser.parse_punctuation("=")
        return {"tolerance": FloatAttr(float(parser.parse_number()), f64)}


class ExpectValueOp(ExpectOp, ABC):
    """`check.name %lhs, %rhs : type`."""

    rhs = tensor_operand()

    def __init__(self, lhs: Value, rhs: Value, *, tolerance: float | None = None):
        properties = {"tolerance": None if tolerance is None else FloatAttr(tolerance, f64)}
        self._build([lhs, rhs], properties, result_types=())

    def verify_(self) -> None:
        super().verify_()
        if self.lhs.type != self.rhs.type:
            shapes.fail(f"both values must have the same type, got {self.lhs.type} and {self.rhs.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        self._print_options(printer)
        print_attributes(printer, self, ("tolerance",))
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        properties = cls._parse_options(parser)
        attributes = parse_attributes(cls, parser, properties)
        parser.parse_punctuation(":")
        if parser.parse_optional_keyword("f64"):  # the type of the tolerance, which may be written
            parser.parse_punctuation(":")
        position = parser.pos
        kind = parser.parse_type()
        operands = parser.resolve_operands([lhs, rhs], [kind, kind], position)
        return cls.create(operands=operands, properties=properties, attributes=attributes)


class ExpectConstOp(ExpectOp, ABC):
    """`check.name %lhs, dense<..> : type`."""

    value = prop_def(DenseIntOrFPElementsAttr)

    def __init__(self, lhs: Value, value: DenseIntOrFPElementsAttr, *, tolerance: float | None = None):
        properties = {"value": value, "tolerance": None if tolerance is None else FloatAttr(tolerance, f64)}
        self._build([lhs], properties, result_types=())

    def verify_(self) -> None:
        super().verify_()
        if self.lhs.type != self.value.type:
            shapes.fail(f"value and constant must have the same type, got {self.lhs.type} and {self.value.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.lhs)
        printer.print_string(", ")
        printer.print_attribute(self.value)
        self._print_options(printer)
        print_attributes(printer, self, ("tolerance", "value"))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected dense<...>", position)
        properties: dict[str, Attribute] = {"value": value, **cls._parse_options(parser)}
        attributes = parse_attributes(cls, parser, properties)
        operand = parser.resolve_operand(lhs, value.get_type())
        return cls.create(operands=[operand], properties=properties, attributes=attributes)


@irdl_op_definition
class ExpectEqOp(ExpectValueOp):
    """The two values are equal, element for element; NaN equals NaN."""

    name = "check.expect_eq"


@irdl_op_definition
class ExpectEqConstOp(ExpectConstOp):
    """The value equals the constant, element for element; NaN equals NaN."""

    name = "check.expect_eq_const"


@irdl_op_definition
class ExpectAlmostEqOp(ExpectValueOp):
    """The two values differ by at most `tolerance`, relative or absolute; 1e-4 where it is not given."""

    name = "check.expect_almost_eq"
    tolerance = opt_prop_def(FloatAttr)


@irdl_op_definition
class ExpectAlmostEqConstOp(ExpectConstOp):
    """The value differs from the constant by at most `tolerance`; 1e-4 where it is not given."""

    name = "check.expect_almost_eq_const"
    tolerance = opt_prop_def(FloatAttr)


@irdl_op_definition
class ExpectCloseOp(StableHLOOp):
    """As many floats lie between the two values, at each element, as the limits allow.

    `check.expect_close %a, %b, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>`
    """

    name = "check.expect_close"
    actual = tensor_operand()
    expected = tensor_operand()
    max_ulp_difference = prop_def(IntegerAttr)
    min_ulp_difference = opt_prop_def(IntegerAttr)

    def __init__(self, actual: Value, expected: Value, *, max_ulp_difference: int = 1, min_ulp_difference: int = 0):
        properties = {
            "max_ulp_difference": unsigned64(max_ulp_difference),
            "min_ulp_difference": unsigned64(min_ulp_difference),
        }
        self._build([actual, expected], properties, result_types=())

    def verify_(self) -> None:
        super().verify_()
        if self.actual.type != self.expected.type:
            shapes.fail(f"values must have the same type, got {self.actual.type} and {self.expected.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(f", max_ulp_difference = {self.max_ulp_difference.value.data}")
        if self.min_ulp_difference is not None and self.min_ulp_difference.value.data:
            printer.print_string(f", min_ulp_difference = {self.min_ulp_difference.value.data}")
        print_attributes(printer, self, ("max_ulp_difference", "min_ulp_difference"))
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> ExpectCloseOp:
        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        properties: dict[str, Attribute] = {"max_ulp_difference": unsigned64(1)}
        while parser.parse_optional_punctuation(","):
            key = parser.parse_keyword_in(("max_ulp_difference", "min_ulp_difference"))
            parser.parse_punctuation("=")
            properties[key] = unsigned64(parser.parse_integer(allow_negative=False))
        attributes = parse_attributes(cls, parser, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        kinds = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        resolved = parser.resolve_operands(operands, kinds, position)
        return cls.create(operands=resolved, properties=properties, attributes=attributes)


Check = Dialect("check", [ExpectEqOp, ExpectEqConstOp, ExpectAlmostEqOp, ExpectAlmostEqConstOp, ExpectCloseOp])
