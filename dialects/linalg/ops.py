"""The ops of linalg that differ from xDSL's or that it lacks; names and syntax are MLIR's (LLVM 22)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    I64,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    ShapedType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation, NamedOperation
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, Pure
from xdsl.utils.exceptions import VerifyException

from .effects import DestinationEffects, StructuredOpEffects

Iterator = IteratorTypeAttr | str


@irdl_op_definition
class GenericOp(LinalgStructuredOperation):
    """A perfect loop nest over its indexing maps: the one structured op everything else is written as.

        %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
            ins(%x : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
        ^bb0(%a: f32, %out: f32):
          %e = math.exp %a : f32
          linalg.yield %e : f32
        } -> tensor<2x3xf32>

    Takes the place of xDSL's op, which cannot parse several results and says nothing of its effects.
    """

    name = "linalg.generic"

    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    iterator_types = prop_def(ArrayAttr[IteratorTypeAttr])
    doc = opt_prop_def(StringAttr)
    library_call = opt_prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(StructuredOpEffects())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        body: Region,
        indexing_maps: Sequence[AffineMapAttr] | ArrayAttr[AffineMapAttr],
        iterator_types: Sequence[Attribute] | ArrayAttr[Attribute],
        result_types: Sequence[Attribute] = (),
        doc: StringAttr | None = None,
        library_call: StringAttr | None = None,
    ):
        super().__init__(
            operands=[inputs, outputs],
            result_types=[result_types],
            properties={
                "indexing_maps": ArrayAttr(indexing_maps),
                "iterator_types": ArrayAttr(iterator_types),
                "doc": doc,
                "library_call": library_call,
            },
            regions=[body],
        )

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        return self.indexing_maps

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        return self.iterator_types

    @staticmethod
    def of(
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        maps: Sequence[AffineMap],
        iterators: Sequence[Iterator],
        body: Region,
    ) -> GenericOp:
        """The op on tensors or buffers; iterators may be the words "parallel" and "reduction"."""
        return GenericOp(
            inputs,
            outputs,
            body,
            [AffineMapAttr(m) for m in maps],
            [IteratorTypeAttr(IteratorType(i)) if isinstance(i, str) else i for i in iterators],
            [out.type for out in outputs if isinstance(out.type, TensorType)],
        )

    @property
    def maps(self) -> tuple[AffineMap, ...]:
        """The indexing maps: of the inputs, then of the outputs."""
        return tuple(attr.data for attr in self.indexing_maps)

    @property
    def iterators(self) -> tuple[str, ...]:
        """ "parallel" or "reduction", per loop."""
        return tuple(str(attr.data) for attr in self.iterator_types)

    def print(self, printer: Printer) -> None:
        printer.print_string(" {indexing_maps = ")
        printer.print_attribute(self.indexing_maps)
        printer.print_string(", iterator_types = [" + ", ".join(f'"{i}"' for i in self.iterators) + "]")
        for name in ("doc", "library_call"):
            if name in self.properties:
                printer.print_string(f", {name} = ")
                printer.print_attribute(self.properties[name])
        printer.print_string("}")
        for word, operands in (("ins", self.inputs), ("outs", self.outputs)):
            if operands:
                printer.print_string(f" {word}(")
                printer.print_list(operands, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list([o.type for o in operands], printer.print_attribute)
                printer.print_string(")")
        if self.attributes:
            printer.print_string(" attrs =")
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body)
        if self.res:
            printer.print_string(" -> ")
            types = [r.type for r in self.res]
            if len(types) == 1:
                printer.print_attribute(types[0])
            else:
                with printer.in_parens():
                    printer.print_list(types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        attrs = parser.parse_optional_attr_dict()
        maps, iterators = attrs.pop("indexing_maps", None), attrs.pop("iterator_types", None)
        if not isinstance(maps, ArrayAttr) or not isinstance(iterators, ArrayAttr):
            parser.raise_error("linalg.generic needs indexing_maps and iterator_types", start, parser.pos)
        inputs = _parse_operand_list(parser, "ins")
        outputs = _parse_operand_list(parser, "outs")
        extra = parser.parse_optional_dictionary_attr_dict() if _parse_attrs_word(parser) else {}
        body = parser.parse_region()
        results: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->"):
            results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type) or [
                parser.parse_type()
            ]
        op = cls(
            inputs,
            outputs,
            body,
            cast(ArrayAttr[AffineMapAttr], maps),
            [_iterator(parser, it) for it in cast(ArrayAttr[Attribute], iterators)],
            results,
            cast(StringAttr | None, attrs.pop("doc", None)),
            cast(StringAttr | None, attrs.pop("library_call", None)),
        )
        op.attributes |= attrs | extra
        return op


def _parse_attrs_word(parser: Parser) -> bool:
    if not parser.parse_optional_keyword("attrs"):
        return False
    parser.parse_punctuation("=")
    return True


def _parse_operand_list(parser: Parser, word: str) -> Sequence[SSAValue]:
    """`word(%a, %b : type, type)`, or nothing."""
    start = parser.pos
    if not parser.parse_optional_characters(word):
        return ()
    parser.parse_punctuation("(")
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return parser.resolve_operands(names, types, start)


def _iterator(parser: Parser, attr: Attribute) -> IteratorTypeAttr:
    if isinstance(attr, IteratorTypeAttr):
        return attr
    if isinstance(attr, StringAttr) and attr.data in ("parallel", "reduction", "window"):
        return IteratorTypeAttr(IteratorType(attr.data))
    parser.raise_error(f"unknown iterator type {attr}")


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The index of one loop of the enclosing linalg.generic: `%i = linalg.index 0 : index`."""

    name = "linalg.index"

    dim = prop_def(IntegerAttr[I64])
    result = result_def(IndexType)

    traits = traits_def(Pure(), HasParent(GenericOp))
    assembly_format = "$dim attr-dict `:` type($result)"

    def __init__(self, dim: int):
        super().__init__(properties={"dim": IntegerAttr(dim, i64)}, result_types=[IndexType()])


@irdl_op_definition
class FillOp(NamedOperation):
    """Every element of the output becomes the scalar.

        %y = linalg.fill ins(%zero : f32) outs(%init : tensor<4xf32>) -> tensor<4xf32>

    C1: one scalar, one output, of one element type.
    """

    name = "linalg.fill"

    PRINT_ATTRS_IN_FRONT: ClassVar[bool] = True
    traits = traits_def(StructuredOpEffects())

    def __init__(self, value: SSAValue, output: SSAValue):
        super().__init__(
            ins=[value],
            outs=[output],
            result_types=[[output.type] if isinstance(output.type, TensorType) else []],
            hidden_region=self.get_hidden_region([value], [output]),
        )

    @property
    def value(self) -> SSAValue:
        """The scalar."""
        return self.inputs[0]

    @property
    def output(self) -> SSAValue:
        """What is filled."""
        return self.outputs[0]

    def verify_(self) -> None:
        if len(self.inputs) != 1 or len(self.outputs) != 1:
            raise VerifyException("expected one scalar and one output (C1)")
        element = cast(ShapedType, self.output.type).get_element_type()  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue]
        if self.value.type != element:
            raise VerifyException(f"expected a scalar of type {element}, got {self.value.type} (C1)")

    @classmethod
    def get_hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        block = Block(arg_types=cls.body_arg_types((*inputs, *outputs)))
        block.add_op(YieldOp(block.args[0]))
        return Region(block)

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        rank = len(_shape(self.output))
        return (AffineMap(rank, 0, ()), AffineMap.identity(rank))

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        return ArrayAttr((IteratorTypeAttr.parallel(),) * len(_shape(self.output)))


@irdl_op_definition
class PackOp(IRDLOperation):
    """Tiles a tensor: dimension `inner_dims_pos[i]` is split by `inner_tiles[i]`, the tile becomes a last dimension.

        %p = linalg.pack %w padding_value(%zero : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1]
            inner_tiles = [16] into %dest : tensor<64x100xf32> -> tensor<7x64x16xf32>

    C1: ranks agree. C2: the destination's shape is that of the tiles. C3: a ragged dimension needs padding_value.
    """

    name = "linalg.pack"

    source = operand_def(TensorType | MemRefType)
    dest = operand_def(TensorType | MemRefType)
    padding_value = opt_operand_def()
    inner_tiles = var_operand_def(IndexType)
    outer_dims_perm = opt_prop_def(DenseArrayBase.constr(i64))
    inner_dims_pos = prop_def(DenseArrayBase.constr(i64))
    static_inner_tiles = prop_def(DenseArrayBase.constr(i64))
    result = opt_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(DestinationEffects())

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        inner_dims_pos: Sequence[int],
        inner_tiles: Sequence[int],
        *,
        padding_value: SSAValue | None = None,
        outer_dims_perm: Sequence[int] = (),
    ):
        super().__init__(
            operands=[source, dest, padding_value, []],
            result_types=[dest.type if isinstance(dest.type, TensorType) else None],
            properties={
                "outer_dims_perm": DenseArrayBase.from_list(i64, outer_dims_perm) if outer_dims_perm else None,
                "inner_dims_pos": DenseArrayBase.from_list(i64, inner_dims_pos),
                "static_inner_tiles": DenseArrayBase.from_list(i64, inner_tiles),
            },
        )

    @property
    def positions(self) -> tuple[int, ...]:
        """The dimensions of the source that are tiled."""
        return tuple(self.inner_dims_pos.get_values())

    @property
    def tiles(self) -> tuple[int, ...]:
        """The sizes of the tiles."""
        return tuple(self.static_inner_tiles.get_values())

    @property
    def permutation(self) -> tuple[int, ...]:
        """Outer dimension i of the result is dimension `permutation[i]` of the source."""
        if self.outer_dims_perm is not None and len(self.outer_dims_perm):
            return tuple(self.outer_dims_perm.get_values())
        return tuple(range(len(_shape(self.source))))

    def packed_shape(self) -> tuple[int, ...]:
        """The shape the destination must have."""
        outer = list(_shape(self.source))
        for position, tile in zip(self.positions, self.tiles, strict=True):
            outer[position] = -(-outer[position] // tile)
        return (*(outer[p] for p in self.permutation), *self.tiles)

    def verify_(self) -> None:
        rank = len(_shape(self.source))
        if self.inner_tiles:
            raise VerifyException("dynamic inner tiles are not supported")
        if len(self.positions) != len(self.tiles) or sorted(self.permutation) != list(range(rank)):
            raise VerifyException("inner_dims_pos, inner_tiles or outer_dims_perm do not fit the source's rank (C1)")
        if any(not 0 <= p < rank for p in self.positions) or any(t <= 0 for t in self.tiles):
            raise VerifyException("inner_dims_pos must be dimensions of the source, inner_tiles positive (C1)")
        if self.packed_shape() != _shape(self.dest):
            raise VerifyException(
                f"expected the destination's shape to be {self.packed_shape()}, got {_shape(self.dest)} (C2)"
            )
        shape = _shape(self.source)
        ragged = any(shape[p] % t for p, t in zip(self.positions, self.tiles, strict=True))
        if ragged and self.padding_value is None:
            raise VerifyException("a tile does not divide its dimension: padding_value is needed (C3)")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        if self.padding_value is not None:
            printer.print_string(" padding_value(")
            printer.print_ssa_value(self.padding_value)
            printer.print_string(" : ")
            printer.print_attribute(self.padding_value.type)
            printer.print_string(")")
        if self.outer_dims_perm is not None and len(self.outer_dims_perm):
            printer.print_string(f" outer_dims_perm = {list(self.permutation)}")
        printer.print_string(f" inner_dims_pos = {list(self.positions)} inner_tiles = {list(self.tiles)} into ")
        printer.print_ssa_value(self.dest)
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        if self.result is not None:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)
        else:
            printer.print_string(", ")
            printer.print_attribute(self.dest.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        source = parser.parse_unresolved_operand()
        padding: SSAValue | None = None
        if parser.parse_optional_keyword("padding_value"):
            parser.parse_punctuation("(")
            name = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            padding = parser.resolve_operand(name, parser.parse_type())
            parser.parse_punctuation(")")
        outer: Sequence[int] = ()
        if parser.parse_optional_keyword("outer_dims_perm"):
            outer = _parse_integers(parser)
        parser.parse_keyword("inner_dims_pos")
        positions = _parse_integers(parser)
        parser.parse_keyword("inner_tiles")
        tiles = _parse_integers(parser)
        parser.parse_keyword("into")
        dest = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        if not parser.parse_optional_punctuation("->"):
            parser.parse_punctuation(",")
        dest_type = parser.parse_type()
        operands = parser.resolve_operands([source, dest], [source_type, dest_type], start)
        op = cls(operands[0], operands[1], positions, tiles, padding_value=padding, outer_dims_perm=outer)
        op.attributes |= attributes
        return op


def _parse_integers(parser: Parser) -> list[int]:
    parser.parse_punctuation("=")
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)


def _shape(value: SSAValue) -> tuple[int, ...]:
    type_ = value.type
    return type_.get_shape() if isinstance(type_, ShapedType) else ()
