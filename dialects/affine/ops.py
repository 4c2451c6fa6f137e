"""Affine ops: xDSL's with what they lack. Each class here *is* the upstream op (a subclass under the same name),
so code that knows the upstream class knows ours; added are memory effects, MLIR's own syntax where upstream has
only the generic one, and access maps over dimensions instead of symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Self, TypeVar, cast

from xdsl.dialects import affine
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpTraits, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from .syntax import (
    parse_bounds,
    parse_map_application,
    parse_map_of_ssa_names,
    print_application,
    print_bounds,
    print_map_of_ssa_names,
)

_Access = TypeVar("_Access", bound=Operation)


@lru_cache(256)
def _sizes(groups: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, groups)


class ForOp(affine.ForOp):
    """`affine.for %i = 0 to 10 step 2 iter_args(%acc = %init) -> (f32) { ... }`"""

    traits = OpTraits(lambda: (RecursiveMemoryEffect(),))

    @staticmethod
    def from_region(
        lowerBoundOperands: Sequence[Operation | SSAValue],
        upperBoundOperands: Sequence[Operation | SSAValue],
        inits: Sequence[Operation | SSAValue],
        result_types: Sequence[Attribute],
        lower_bound: int | AffineMapAttr,
        upper_bound: int | AffineMapAttr,
        region: Region,
        step: int | IntegerAttr = 1,
    ) -> ForOp:
        """As upstream's, for this class."""
        groups = [[SSAValue.get(value) for value in given] for given in (lowerBoundOperands, upperBoundOperands, inits)]
        return ForOp.create(
            operands=[value for group in groups for value in group],
            result_types=result_types,
            properties={
                "lowerBoundMap": _bound(lower_bound),
                "upperBoundMap": _bound(upper_bound),
                "step": IntegerAttr.from_index_int_value(step) if isinstance(step, int) else step,
                "operandSegmentSizes": _sizes(tuple(map(len, groups))),
            },
            regions=[region],
        )

    @staticmethod
    def of(lower: int, upper: int, body: Block, *, step: int = 1, inits: Sequence[SSAValue] = ()) -> ForOp:
        """A loop with constant bounds; `body` has the loop variable and the carried values as arguments."""
        types = [init.type for init in inits]
        return ForOp.from_region([], [], inits, types, lower, upper, Region(body), step)

    @property
    def variable(self) -> BlockArgument:
        """The loop variable."""
        return self.body.block.args[0]

    @property
    def carried(self) -> Sequence[BlockArgument]:
        """The values carried from iteration to iteration, inside the loop."""
        return self.body.block.args[1:]

    def constant_bounds(self) -> tuple[int, int, int] | None:
        """Lower bound, upper bound and step when the bounds are constants."""
        lower, upper = self.lowerBoundMap.data, self.upperBoundMap.data
        if len(self.operands) != len(self.results):  # more than what is carried: a bound has operands
            return None
        first, last = lower.results[0], upper.results[0]
        single = len(lower.results) == len(upper.results) == 1
        if single and isinstance(first, AffineConstantExpr) and isinstance(last, AffineConstantExpr):
            return first.value, last.value, self.step.value.data
        return max(lower.eval((), ())), min(upper.eval((), ())), self.step.value.data

    def outer_bounds(self) -> tuple[int, int, int] | None:
        """As `constant_bounds`, of all iterations there may be: of an upper bound, its constants alone count.

        None when it has none, or the lower bound has operands, as nobody knows then which steps are taken.
        `0 to min(32, 777 - %i * 32)` is within (0, 32, 1).
        """
        if self.lowerBoundOperands:
            return None
        upper = [e.value for e in self.upperBoundMap.data.results if isinstance(e, AffineConstantExpr)]
        lower = max(self.lowerBoundMap.data.eval((), ()))
        return (lower, min(upper), self.step.value.data) if upper else None

    @property
    def trip_count(self) -> int | None:
        """How many iterations run, when the bounds are constants."""
        bounds = self.constant_bounds()
        return None if bounds is None else max(0, -((bounds[0] - bounds[1]) // bounds[2]))


class LoadOp(affine.LoadOp):
    """`%v = affine.load %m[%i + 3, %j] : memref<8x8xf32>`"""

    traits = OpTraits(lambda: (MemoryReadEffect(),))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        memref, map, operands, attributes, type = _parse_access(parser)
        return _with(attributes, cls(memref, operands, map, type.element_type))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_access(printer, self)


class StoreOp(affine.StoreOp):
    """`affine.store %v, %m[%i + 3, %j] : memref<8x8xf32>`"""

    traits = OpTraits(lambda: (MemoryWriteEffect(),))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref, map, operands, attributes, type = _parse_access(parser)
        return _with(attributes, cls(parser.resolve_operand(value, type.element_type), memref, operands, map))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_access(printer, self)


class VectorLoadOp(affine.VectorLoadOp):
    """`%v = affine.vector_load %m[%i] : memref<64xf32>, vector<8xf32>`"""

    traits = OpTraits(lambda: (MemoryReadEffect(),))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        memref, map, operands, attributes, _ = _parse_access(parser)
        parser.parse_punctuation(",")
        return _with(attributes, cls(memref, operands, map, cast(VectorType, parser.parse_type())))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_access(printer, self)
        printer.print_string(", ")
        printer.print_attribute(self.result.type)


class VectorStoreOp(affine.VectorStoreOp):
    """`affine.vector_store %v, %m[%i] : memref<64xf32>, vector<8xf32>`"""

    traits = OpTraits(lambda: (MemoryWriteEffect(),))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref, map, operands, attributes, _ = _parse_access(parser)
        parser.parse_punctuation(",")
        return _with(attributes, cls(parser.resolve_operand(value, parser.parse_type()), memref, operands, map))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_access(printer, self)
        printer.print_string(", ")
        printer.print_attribute(self.value.type)


class MinOp(affine.MinOp):
    """`%r = affine.min affine_map<(d0) -> (d0, 8)>(%i)`"""

    traits = OpTraits(lambda: (Pure(),))

    @classmethod
    def parse(cls, parser: Parser) -> Self:  # upstream's gives upstream's class
        map, operands = parse_map_application(parser)
        return cls(operands, AffineMapAttr(map))


@irdl_op_definition
class MaxOp(IRDLOperation):
    """`%r = affine.max affine_map<(d0) -> (d0, 8)>(%i)`"""

    name = "affine.max"

    arguments = var_operand_def(IndexType())
    result = result_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(Pure())

    def __init__(self, map_operands: Sequence[SSAValue | Operation], affine_map: AffineMapAttr):
        super().__init__(operands=[map_operands], properties={"map": affine_map}, result_types=[IndexType()])

    def verify_(self) -> None:
        expected = self.map.data.num_dims + self.map.data.num_symbols
        if len(self.arguments) != expected:
            raise VerifyException(f"the map takes {expected} operands, got {len(self.arguments)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        map, operands = parse_map_application(parser)
        return cls(operands, AffineMapAttr(map))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.map)
        print_application(printer, self.arguments, self.map.data.num_dims)


class IfOp(affine.IfOp):
    """`%r = affine.if affine_set<(d0)[s0] : (s0 - d0 - 1 >= 0)>(%i)[%n] -> f32 { ... } else { ... }`"""

    def __init__(
        self,
        condition: AffineSetAttr,
        args: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        then_region: Region,
        else_region: Region | None = None,
    ):
        IRDLOperation.__init__(
            self,
            operands=[args],
            result_types=[result_types],
            properties={"condition": condition},
            regions=[then_region, else_region or Region()],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        condition = parser.parse_attribute()
        if not isinstance(condition, AffineSetAttr):
            parser.raise_error("expected an affine set", start)
        index = IndexType()
        args = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: parser.parse_operand(index))
        args += (
            parser.parse_optional_comma_separated_list(Parser.Delimiter.SQUARE, lambda: parser.parse_operand(index))
            or []
        )
        types = _parse_optional_arrow_types(parser)
        then_region = _parse_region_with_yield(parser)
        else_region = _parse_region_with_yield(parser) if parser.parse_optional_keyword("else") else Region()
        op = cls(condition, args, types, then_region, else_region)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.condition)
        print_application(printer, self.args, self.condition.data.num_dims)
        _print_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        terminators = bool(self.results)
        printer.print_region(self.then_region, print_block_terminators=terminators)
        if self.else_region.blocks:
            printer.print_string(" else ")
            printer.print_region(self.else_region, print_block_terminators=terminators)
        printer.print_op_attributes(self.attributes)


class ParallelOp(affine.ParallelOp):
    """`affine.parallel (%i, %j) = (0, 0) to (10, min(%n, 20)) step (1, 2) { ... }`

    The iterations may run in any order and at the same time.
    """

    traits = OpTraits(lambda: (RecursiveMemoryEffect(),))

    def verify_(self) -> None:
        self.get_irdl_definition().verify(self)
        lower, upper = self.lowerBoundsMap.data, self.upperBoundsMap.data
        expected = lower.num_dims + lower.num_symbols + upper.num_dims + upper.num_symbols
        if len(self.operands) != expected:
            raise VerifyException(f"the bounds take {expected} operands, got {len(self.operands)}")
        for map, groups in ((lower, self.lowerBoundsGroups), (upper, self.upperBoundsGroups)):
            if sum(groups.get_values()) != len(map.results) or len(groups) != len(self.steps):
                raise VerifyException("expected one group of bounds per loop")
        if len(self.body.block.args) != len(self.steps):
            raise VerifyException(f"expected {len(self.steps)} loop variables, got {len(self.body.block.args)}")
        if len(self.reductions) != len(self.results):
            raise VerifyException(f"{len(self.results)} results need as many reductions")

    @classmethod
    def of(
        cls,
        lower: Sequence[int],
        upper: Sequence[int],
        body: Region,
        *,
        steps: Sequence[int] | None = None,
    ) -> Self:
        """A parallel loop nest with constant bounds; `body` has one index argument per bound."""
        return cls.with_maps(
            AffineMap(0, 0, tuple(map(AffineExpr.constant, lower))),
            AffineMap(0, 0, tuple(map(AffineExpr.constant, upper))),
            body,
            steps=steps or [1] * len(lower),
        )

    @classmethod
    def with_maps(
        cls,
        lower: AffineMap,
        upper: AffineMap,
        body: Region,
        *,
        steps: Sequence[int],
        operands: Sequence[SSAValue] = (),
        lower_groups: Sequence[int] | None = None,
        upper_groups: Sequence[int] | None = None,
        reductions: Sequence[Attribute] = (),
        result_types: Sequence[Attribute] = (),
    ) -> Self:
        """The general form; a group is the number of map results whose max or min makes one bound."""
        return cls.create(
            operands=list(operands),
            result_types=list(result_types),
            properties={
                "reductions": ArrayAttr(reductions),
                "lowerBoundsMap": AffineMapAttr(lower),
                "lowerBoundsGroups": _groups(lower_groups or [1] * len(steps)),
                "upperBoundsMap": AffineMapAttr(upper),
                "upperBoundsGroups": _groups(upper_groups or [1] * len(steps)),
                "steps": ArrayAttr([IntegerAttr(step, i64) for step in steps]),
            },
            regions=[body],
        )

    def constant_bounds(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Lower and upper bounds when all are constants."""
        maps = (self.lowerBoundsMap.data, self.upperBoundsMap.data)
        if len(self.operands) or any(len(m.results) != len(self.steps) for m in maps):
            return None
        lower, upper = (m.eval((), ()) for m in maps)
        return lower, upper

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables = parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        lower, lower_groups, lower_operands = parse_bounds(parser, "max")
        parser.parse_keyword("to")
        upper, upper_groups, upper_operands = parse_bounds(parser, "min")
        steps = [1] * len(variables)
        if parser.parse_optional_keyword("step"):
            steps = parser.parse_comma_separated_list(
                Parser.Delimiter.PAREN, lambda: parser.parse_integer(allow_boolean=False)
            )
        reductions: list[Attribute] = []
        if parser.parse_optional_keyword("reduce"):
            reductions = list(
                parser.parse_comma_separated_list(
                    Parser.Delimiter.PAREN, lambda: StringAttr(parser.parse_str_literal())
                )
            )
        types = _parse_optional_arrow_types(parser)
        body = _parse_region_with_yield(parser, [v.resolve(IndexType()) for v in variables])
        op = cls.with_maps(
            lower,
            upper,
            body,
            steps=steps,
            operands=[*lower_operands, *upper_operands],
            lower_groups=lower_groups,
            upper_groups=upper_groups,
            reductions=reductions,
            result_types=types,
        )
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        lower, upper = self.lowerBoundsMap.data, self.upperBoundsMap.data
        split = lower.num_dims + lower.num_symbols
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, lambda a: printer.print_block_argument(a, print_type=False))
        printer.print_string(" = ")
        print_bounds(printer, lower, self.lowerBoundsGroups, self.operands[:split], "max")
        printer.print_string(" to ")
        print_bounds(printer, upper, self.upperBoundsGroups, self.operands[split:], "min")
        steps = [step.value.data for step in self.steps]
        if any(step != 1 for step in steps):
            printer.print_string(" step ")
            with printer.in_parens():
                printer.print_list(steps, printer.print_int)
        if self.reductions.data:
            printer.print_string(" reduce ")
            with printer.in_parens():
                printer.print_list(self.reductions, printer.print_attribute)
        _print_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=bool(self.results))
        printer.print_op_attributes(self.attributes)


def _bound(bound: int | AffineMapAttr) -> AffineMapAttr:
    return AffineMapAttr(AffineMap.constant_map(bound)) if isinstance(bound, int) else bound


def _groups(sizes: Sequence[int]) -> DenseIntElementsAttr:
    return DenseIntElementsAttr.from_list(TensorType(i32, [len(sizes)]), list(sizes))


def _with(attributes: Mapping[str, Attribute], op: _Access) -> _Access:
    op.attributes |= attributes
    return op


def _parse_access(
    parser: Parser,
) -> tuple[SSAValue[MemRefType], AffineMapAttr, list[SSAValue[IndexType]], Mapping[str, Attribute], MemRefType]:
    memref = parser.parse_unresolved_operand()
    map, operands = parse_map_of_ssa_names(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    type = parser.parse_type()
    if not isinstance(type, MemRefType):
        parser.raise_error("expected a memref type", start)
    return parser.resolve_operand(memref, type), AffineMapAttr(map), operands, attributes, type


def _print_access(printer: Printer, op: LoadOp | StoreOp | VectorLoadOp | VectorStoreOp) -> None:
    printer.print_ssa_value(op.memref)
    print_map_of_ssa_names(printer, op.map.data, op.indices)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.memref.type)


def _parse_optional_arrow_types(parser: Parser) -> list[Attribute]:
    if not parser.parse_optional_punctuation("->"):
        return []
    types = parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
    return list(types) if types is not None else [parser.parse_type()]


def _print_arrow_types(printer: Printer, types: Sequence[Attribute]) -> None:
    if types:
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(types, printer.print_attribute)


def _parse_region_with_yield(parser: Parser, arguments: Sequence[Parser.Argument] | None = None) -> Region:
    region = parser.parse_region(arguments)
    if region.blocks.last is None:
        region.add_block(Block())
    if not isinstance(region.block.last_op, affine.YieldOp):
        region.block.add_op(affine.YieldOp.get())
    return region
