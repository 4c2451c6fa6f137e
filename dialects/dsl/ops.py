"""The ops of index notation: a tensor told element by element, reductions over indices, and reads at subscripts.

Their bodies are hub ops on scalars (tensors of rank 0), so that nothing of the hub is said twice; an index is a
`tensor<i64>` that counts from 0. What a body captures from outside may be of any rank. Bodies have no effects.

    %y = dsl.comprehension [2, 3] {
    ^bb0(%i: tensor<i64>, %j: tensor<i64>):
      %s = dsl.reduce sum [4] {
      ^bb1(%k: tensor<i64>):
        %a = dsl.access %x[%i, %k] : tensor<2x4xf32>
        %b = dsl.access %w[%k, %j] : tensor<4x3xf32>
        %p = stablehlo.multiply %a, %b : tensor<f32>
        dsl.yield %p : tensor<f32>
      } : tensor<f32>
      dsl.yield %s : tensor<f32>
    } : tensor<2x3xf32>
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ComplexType, DenseArrayBase, TensorType, i1, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.str_enum import StrEnum

from ..stablehlo.attributes import Ints, int_array, ints
from ..stablehlo.shapes import Shape, fail, scalar, tensor, tensor_type
from ..stablehlo.syntax import TENSOR, StableHLOOp, parse_attributes, print_attributes, tensor_operand, tensor_operands

Value = SSAValue | Operation


class ReduceKind(StrEnum):
    """How `dsl.reduce` combines the elements."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    ANY = "any"
    ALL = "all"
    ARGMAX = "argmax"
    ARGMIN = "argmin"


ARG_KINDS = (ReduceKind.ARGMAX, ReduceKind.ARGMIN)
BOOL_KINDS = (ReduceKind.ANY, ReduceKind.ALL)


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a reduction as an attribute."""

    name = "dsl.reduce_kind"


@irdl_op_definition
class YieldOp(StableHLOOp):
    """Ends a body with its element, in a reduction optionally followed by the guard.

    `dsl.yield %v : tensor<f32>`, `dsl.yield %v, %guard : tensor<f32>, tensor<i1>`
    """

    name = "dsl.yield"
    values = var_operand_def(TENSOR)
    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *values: Value):
        self._build(values, result_types=())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parse_attributes(cls, parser, {})
        parser.parse_punctuation(":")
        position = parser.pos
        kinds = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(operands=parser.resolve_operands(operands, kinds, position), attributes=attributes)


class IndexedOp(StableHLOOp, ABC):
    """An op over a box of indices: its extents, and a body with one argument per index."""

    @property
    def block(self) -> Block:
        """The one block of the body."""
        return self.regions[0].block

    @property
    def sizes(self) -> Shape:
        """How many values each index takes."""
        extents = self.properties["extents"]
        assert isinstance(extents, DenseArrayBase)
        return ints(extents)

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        """The arguments of the body."""
        return tuple(self.block.args)

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """What the body gives: the element, and the guard if there is one."""
        end = self.block.last_op
        assert end is not None
        return tuple(end.operands)

    def check_body(self) -> list[TensorType]:
        """The types the body yields, once extents and arguments are as they must be (C1-C3 of both ops)."""
        if any(size < 0 for size in self.sizes):
            fail(f"extents must not be negative, got {list(self.sizes)}", "C1")
        block = self.regions[0].first_block
        if block is None or block.next_block is not None or not isinstance(block.last_op, YieldOp):
            fail("the body must be one block that ends in dsl.yield", "C2")
        if [arg.type for arg in block.args] != [scalar(i64)] * len(self.sizes):
            found = ", ".join(str(arg.type) for arg in block.args)
            fail(f"the body must take one tensor<i64> for each of {len(self.sizes)} extents, got ({found})", "C2")
        kinds = [tensor(value, "what is yielded") for value in block.last_op.operands]
        for kind in kinds:
            if kind.get_num_dims():
                fail(f"the body must yield scalars, got {kind}", "C3")
        return kinds

    def print_indexed(self, printer: Printer) -> None:
        """`[extents] attributes { body } : type`."""
        printer.print_string(f" [{', '.join(map(str, self.sizes))}]")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.regions[0])
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    @classmethod
    def parse_indexed(cls, parser: Parser, properties: dict[str, Attribute]) -> Self:
        """The inverse of `print_indexed`."""
        extents = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        properties["extents"] = int_array(extents)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()],
            properties=properties,
            attributes=attributes.data if attributes else {},
            regions=[body],
        )


@irdl_op_definition
class ComprehensionOp(IndexedOp):
    """The tensor whose element at (i, j, ...) is what the body yields for these indices.

    C1: extents are not negative. C2: the body is one block that takes one tensor<i64> per extent and ends in
    dsl.yield. C3: it yields a scalar. C4: it yields exactly one value. C5: the result has the extents as its shape
    and the element type of what is yielded.

    `%y = dsl.comprehension [3] { ^bb0(%i: tensor<i64>): dsl.yield %i : tensor<i64> } : tensor<3xi64>`
    """

    name = "dsl.comprehension"
    extents = prop_def(DenseArrayBase)
    body = region_def("single_block")
    result = result_def(TENSOR)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, extents: Ints, body: Region):
        self._build([], {"extents": int_array(extents)}, regions=[body])

    def infer(self) -> Sequence[Attribute] | None:
        kinds = self.check_body()
        if len(kinds) != 1:
            fail(f"the body must yield one value, got {len(kinds)}", "C4")
        return (tensor_type(kinds[0].element_type, self.sizes),)

    def print(self, printer: Printer) -> None:
        self.print_indexed(printer)

    @classmethod
    def parse(cls, parser: Parser) -> ComprehensionOp:
        return cls.parse_indexed(parser, {})


@irdl_op_definition
class ReduceOp(IndexedOp):
    """What the elements over all indices combine to; where the guard is false, an element counts as the neutral one.

    Over nothing: 0 (sum), 1 (prod), false (any), true (all), -inf (max) and +inf (min) or the lowest and highest
    integer, 0 (argmax and argmin). In max and min, and for argmax and argmin, a NaN is the extreme; argmax and argmin
    give the first index of equals, and guarded elements take part as the neutral one of max and min.

    C1-C3 are those of the comprehension. C4: the body yields an element and optionally a tensor<i1>, the guard.
    C5: any and all take tensor<i1>, sum and prod no tensor<i1>, and an order needs real numbers.
    C6: argmax and argmin take exactly one index. C7: the result is a scalar of the element's type; tensor<i64> for
    argmax and argmin.

    `%s = dsl.reduce sum [4] { ^bb0(%k: tensor<i64>): dsl.yield %v, %guard : tensor<f32>, tensor<i1> } : tensor<f32>`
    """

    name = "dsl.reduce"
    kind = prop_def(ReduceKindAttr)
    extents = prop_def(DenseArrayBase)
    body = region_def("single_block")
    result = result_def(TENSOR)
    traits = traits_def(RecursiveMemoryEffect())
    ORDERED: ClassVar = (ReduceKind.MAX, ReduceKind.MIN, *ARG_KINDS)

    def __init__(self, kind: ReduceKind | str, extents: Ints, body: Region):
        properties = {"kind": ReduceKindAttr(ReduceKind(kind)), "extents": int_array(extents)}
        self._build([], properties, regions=[body])

    @property
    def guard(self) -> SSAValue | None:
        """Where the element counts; None for everywhere."""
        return self.yielded[1] if len(self.yielded) == 2 else None

    def infer(self) -> Sequence[Attribute] | None:
        kinds, kind = self.check_body(), self.kind.data
        if len(kinds) not in (1, 2) or kinds[1:] not in ([], [scalar(i1)]):
            fail(f"the body must yield an element and optionally a tensor<i1>, got {', '.join(map(str, kinds))}", "C4")
        element = kinds[0].element_type
        if (kind in BOOL_KINDS and element != i1) or (kind in (ReduceKind.SUM, ReduceKind.PROD) and element == i1):
            fail(f"{kind} does not combine {kinds[0]}", "C5")
        if kind in self.ORDERED and isinstance(element, ComplexType):
            fail(f"{kind} needs an order, which {kinds[0]} has not", "C5")
        if kind in ARG_KINDS and len(self.sizes) != 1:
            fail(f"{kind} takes one index, got {len(self.sizes)}", "C6")
        return (scalar(i64) if kind in ARG_KINDS else kinds[0],)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data.value}")
        self.print_indexed(printer)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        kind = parser.expect(lambda: parser.parse_optional_str_enum(ReduceKind), "expected a kind of reduction")
        return cls.parse_indexed(parser, {"kind": ReduceKindAttr(kind)})


@irdl_op_definition
class AccessOp(StableHLOOp):
    """The element of a tensor at the subscripts.

    With `outside` that value is read where any subscript is not within its axis; without it subscripts are clamped to
    the axis (and of a tensor without elements 0 is read).

    C1: one subscript per axis. C2: subscripts are tensor<i64>. C3: `outside` is a scalar of the source's element
    type. C4: so is the result.

    `%a = dsl.access %x[%i, %j] : tensor<4x5xf32>`, `%a = dsl.access %x[%i] outside %zero : tensor<4xf32>`
    """

    name = "dsl.access"
    source = tensor_operand()
    rest = tensor_operands()
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    def __init__(self, source: Value, subscripts: Sequence[Value], outside: Value | None = None):
        self._build([source, *subscripts, *([] if outside is None else [outside])])

    @property
    def subscripts(self) -> SSAValues[SSAValue[TensorType]]:
        """One value per axis of the source."""
        return self.rest[: self.source.type.get_num_dims()]

    @property
    def outside(self) -> SSAValue | None:
        """What is read out of bounds; None to clamp."""
        return self.rest[-1] if len(self.rest) > self.source.type.get_num_dims() else None

    def infer(self) -> Sequence[Attribute] | None:
        source = tensor(self.source, "source")
        rank = source.get_num_dims()
        if len(self.rest) - rank not in (0, 1):
            fail(f"needs {rank} subscripts, one per axis of {source}, got {len(self.rest)}", "C1")
        for value in self.subscripts:
            if value.type != scalar(i64):
                fail(f"subscripts must be tensor<i64>, got {value.type}", "C2")
        element = scalar(source.element_type)
        if self.outside is not None and self.outside.type != element:
            fail(f"outside must be {element}, got {self.outside.type}", "C3")
        return (element,)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        with printer.in_square_brackets():
            printer.print_list(self.subscripts, printer.print_operand)
        if self.outside is not None:
            printer.print_string(" outside ")
            printer.print_operand(self.outside)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    @classmethod
    def parse(cls, parser: Parser) -> AccessOp:
        source = parser.parse_unresolved_operand()
        subscripts = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        outside = [parser.parse_unresolved_operand()] if parser.parse_optional_keyword("outside") else []
        attributes = parse_attributes(cls, parser, {})
        parser.parse_punctuation(":")
        position = parser.pos
        kind = tensor(parser.parse_type(), "source")
        element = scalar(kind.element_type)
        types = [kind, *[scalar(i64)] * len(subscripts), *[element] * len(outside)]
        operands = parser.resolve_operands([source, *subscripts, *outside], types, position)
        return cls.create(operands=operands, result_types=[element], attributes=attributes)
