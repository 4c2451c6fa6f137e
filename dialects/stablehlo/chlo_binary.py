"""CHLO's functions of two operands, and those whose operands broadcast as NumPy's do."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from . import shapes
from .attributes import ComparisonDirection, ComparisonType, Precision, ints
from .ops_unary import BOOLEAN, FLOAT, INTEGER, Value, element_kind
from .syntax import TENSOR, StableHLOOp, parse_attributes, print_attributes, tensor_operand


@irdl_attr_definition
class ChloDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    name = "chlo.comparison_direction"


@irdl_attr_definition
class ChloComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    name = "chlo.comparison_type"


@irdl_attr_definition
class ChloPrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    name = "chlo.precision"


class ChloOp(StableHLOOp, ABC):
    """Written `chlo.name %a, %b : T, U -> V`; `PARENS`: the operand types stand in parentheses."""

    PARENS: ClassVar[bool] = False
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        print_attributes(printer, self)
        printer.print_string(" : (" if self.PARENS else " : ")
        printer.print_list(self.operand_types, printer.print_attribute)
        printer.print_string(") -> " if self.PARENS else " -> ")
        printer.print_list(self.result_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        properties: dict[str, Attribute] = {}
        attributes = parse_attributes(cls, parser, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        delimiter = parser.Delimiter.PAREN if cls.PARENS else parser.Delimiter.NONE
        kinds = parser.parse_comma_separated_list(delimiter, parser.parse_type)
        parser.parse_punctuation("->")
        result = parser.parse_type()
        values = parser.resolve_operands(operands, kinds, position)
        return cls.create(operands=values, result_types=[result], properties=properties, attributes=attributes)


class ChloBinaryOp(ChloOp, ABC):
    """A function of two numbers of one type."""

    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)
    ACCEPTS: ClassVar[tuple[str, ...]] = (FLOAT,)

    def __init__(self, lhs: Value, rhs: Value):
        self._build([lhs, rhs])

    def infer(self) -> Sequence[Attribute] | None:
        if self.lhs.type != self.rhs.type:
            shapes.fail(f"operands must have the same type, got {self.lhs.type} and {self.rhs.type}")
        check_kind(self.lhs.type, self.ACCEPTS)
        return (self.lhs.type,)


def check_kind(kind: TensorType, accepted: Sequence[str]) -> None:
    """The elements are of one of these kinds; any will do where none are listed."""
    if accepted and element_kind(kind.element_type) not in accepted:
        shapes.fail(f"operands must be tensors of {' or '.join(accepted)} elements, got {kind}")


@irdl_op_definition
class NextAfterOp(ChloBinaryOp):
    """The next number after lhs in the direction of rhs."""

    name = "chlo.next_after"


@irdl_op_definition
class PolygammaOp(ChloBinaryOp):
    """The derivative of order lhs of the digamma function, at rhs."""

    name = "chlo.polygamma"


@irdl_op_definition
class ZetaOp(ChloBinaryOp):
    """The Hurwitz zeta function: the sum of (rhs + k) to the power of -lhs, for k from 0."""

    name = "chlo.zeta"


@irdl_op_definition
class MulhiOp(ChloBinaryOp):
    """The upper half of the bits of the product."""

    name = "chlo.mulhi"
    ACCEPTS: ClassVar = INTEGER


def broadcast_shape(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The shape of both together, as NumPy has it. Raises VerifyException where they do not fit."""
    rank = max(len(left), len(right))
    wide, other = (1,) * (rank - len(left)) + tuple(left), (1,) * (rank - len(right)) + tuple(right)
    for a, b in zip(wide, other, strict=True):
        if a != b and 1 not in (a, b):
            shapes.fail(f"the shapes {list(left)} and {list(right)} do not broadcast")
    return [b if a == 1 else a for a, b in zip(wide, other, strict=True)]


class ChloBroadcastOp(ChloOp, ABC):
    """The element-wise op of StableHLO or CHLO that its name ends in, on operands that broadcast.

    `broadcast_dimensions` says which dimensions of the result those of the operand of lower rank are; the last ones
    where it is not given.
    """

    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)
    broadcast_dimensions = opt_prop_def(DenseArrayBase)
    PARENS: ClassVar = True

    def element(self) -> Attribute:
        """The element type of the result."""
        return self.lhs.type.element_type

    def infer(self) -> Sequence[Attribute] | None:
        shapes.same_element((self.lhs.type, self.rhs.type), "lhs and rhs", "")
        self.dimensions()
        left, right = self.lhs.type.get_shape(), self.rhs.type.get_shape()
        return (shapes.tensor_type(self.element(), broadcast_shape(left, right)),)

    def dimensions(self) -> list[int]:
        """Which dimensions of the result the operand of lower rank has."""
        ranks = sorted((self.lhs.type.get_num_dims(), self.rhs.type.get_num_dims()))
        low, high = ranks
        last = list(range(high - low, high))
        given = ints(self.broadcast_dimensions, last)
        if list(given) != last:
            shapes.fail(f"broadcast_dimensions = {list(given)} must be the last ones, {last}")
        return last


def _broadcast(name: str, doc: str) -> type[ChloBroadcastOp]:
    made: Any = type(
        f"Broadcast{name.title().replace('_', '')}Op",
        (ChloBroadcastOp,),
        {"__doc__": doc, "__module__": __name__, "name": f"chlo.broadcast_{name}"},
    )
    return irdl_op_definition(made)


_MEANINGS = {
    "add": "The sum.",
    "and": "Boolean or bitwise and.",
    "atan2": "The angle of the point (rhs, lhs).",
    "divide": "The quotient.",
    "maximum": "The larger.",
    "minimum": "The smaller.",
    "multiply": "The product.",
    "next_after": "The next number after lhs in the direction of rhs.",
    "or": "Boolean or bitwise or.",
    "polygamma": "The derivative of order lhs of the digamma function.",
    "power": "lhs to the power of rhs.",
    "remainder": "The remainder of the division towards zero.",
    "shift_left": "lhs shifted left.",
    "shift_right_arithmetic": "lhs shifted right, the sign bit moving in.",
    "shift_right_logical": "lhs shifted right, zeros moving in.",
    "subtract": "The difference.",
    "xor": "Boolean or bitwise exclusive or.",
    "zeta": "The Hurwitz zeta function.",
}
BROADCAST: dict[str, type[ChloBroadcastOp]] = {name: _broadcast(name, doc) for name, doc in _MEANINGS.items()}


@irdl_op_definition
class BroadcastComplexOp(ChloBroadcastOp):
    """Complex numbers of real and imaginary parts."""

    name = "chlo.broadcast_complex"

    def element(self) -> Attribute:
        return shapes.complex_element(self.lhs.type.element_type)


@irdl_op_definition
class BroadcastCompareOp(ChloBroadcastOp):
    """How lhs and rhs compare."""

    name = "chlo.broadcast_compare"
    comparison_direction = prop_def(ChloDirectionAttr)
    compare_type = opt_prop_def(ChloComparisonTypeAttr)

    def element(self) -> Attribute:
        return i1


@irdl_op_definition
class BroadcastSelectOp(ChloOp):
    """`on_true` where `pred`, else `on_false`.

    `%r = chlo.broadcast_select %p, %a, %b : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>`
    """

    name = "chlo.broadcast_select"
    pred = tensor_operand()
    on_true = tensor_operand()
    on_false = tensor_operand()
    result = result_def(TENSOR)
    PARENS: ClassVar = True

    def infer(self) -> Sequence[Attribute] | None:
        check_kind(self.pred.type, (BOOLEAN,))
        shapes.same_element((self.on_true.type, self.on_false.type), "on_true and on_false", "")
        shape = broadcast_shape(self.on_true.type.get_shape(), self.on_false.type.get_shape())
        shape = broadcast_shape(self.pred.type.get_shape(), shape)
        return (shapes.tensor_type(self.on_true.type.element_type, shape),)


BINARY: Sequence[type[Operation]] = (
    NextAfterOp,
    PolygammaOp,
    ZetaOp,
    MulhiOp,
    *BROADCAST.values(),
    BroadcastComplexOp,
    BroadcastCompareOp,
    BroadcastSelectOp,
)
