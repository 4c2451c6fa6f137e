"""Layouts as attributes, and the type of a view."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...compiler.diagnostics import LaminaError
from ...compiler.layouts import IntTuple, Layout, Swizzle, size

PLAIN = Swizzle(0, 4, 3)
DIMENSIONS = 3  # of a view: which matrix, row, column


def _parse_numbers(parser: AttrParser) -> IntTuple:
    if parser.parse_optional_punctuation("(") is None:
        return parser.parse_integer(allow_boolean=False)
    found = [_parse_numbers(parser)]
    while parser.parse_optional_punctuation(",") is not None:
        found.append(_parse_numbers(parser))
    parser.parse_punctuation(")")
    return tuple(found)


def parse_layout(parser: AttrParser) -> Layout:
    """`(4,(2,3)):(2,(1,8))`."""
    shape = _parse_numbers(parser)
    parser.parse_punctuation(":")
    try:
        return Layout(shape, _parse_numbers(parser))
    except LaminaError as error:
        parser.raise_error(error.message)


@irdl_attr_definition
class LayoutAttr(Data[Layout]):
    """`#cta.layout<(4,(2,3)):(2,(1,8))>`: a layout of `compiler.layouts`."""

    name = "cta.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        with parser.in_angle_brackets():
            return parse_layout(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


def _parse_first(parser: AttrParser) -> int:
    return parser.parse_integer() if parser.parse_optional_keyword("from") is not None else 0


@irdl_attr_definition
class BorderAttr(ParametrizedAttribute):
    """`#cta.border<(1,(9,9),(48,3)):(0,(0,1),(0,1)) from -1 below 9>`: a dimension that windows reach beyond.

    The layout, of a view's coordinates, tells the subscript in that dimension of the buffer, from the first one on;
    what is not from 0 to below its size is 0.
    """

    name = "cta.border"
    layout: LayoutAttr
    first: IntAttr
    size: IntAttr

    @staticmethod
    def of(layout: Layout, first: int, size: int) -> BorderAttr:
        """The border from plain numbers."""
        return BorderAttr(LayoutAttr(layout), IntAttr(first), IntAttr(size))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            layout, first = parse_layout(parser), _parse_first(parser)
            parser.parse_keyword("below")
            return [LayoutAttr(layout), IntAttr(first), IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.layout.data} from {self.first.data} below {self.size.data}")


@irdl_attr_definition
class ViewType(ParametrizedAttribute, TypeAttribute):
    """`!cta.view<bf16, (2,128,64):(8192,64,1)>`: two matrices of 128 rows and 64 columns in a buffer.

    Modes nest: the rows of `(1,(10,10),(16,3,3)):(0,(16,192),(1,16,192))` are the places of a window on an image of
    channels last, its columns what is seen there. Where windows reach beyond the image there are zeros: a view begins
    in front of its buffer then, and has borders, `!cta.view<bf16, ... from -160, #cta.border<...>>`.
    """

    name = "cta.view"
    element_type: Attribute
    layout: LayoutAttr
    first: IntAttr
    borders: ArrayAttr[BorderAttr]

    @staticmethod
    def of(element: Attribute, layout: Layout, first: int = 0, borders: Sequence[BorderAttr] = ()) -> ViewType:
        """The type of a view by its layout, where it begins, and its borders."""
        return ViewType(element, LayoutAttr(layout), IntAttr(first), ArrayAttr(borders))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many matrices, of how many rows and columns."""
        return tuple(size(mode.shape) for mode in self.layout.data.modes)

    def width(self, mode: int, most: int) -> int:
        """How many neighbours along a dimension, up to `most`, follow each other in memory and begin at a multiple.

        They are all inside, or none is.
        """
        modes = self.layout.data.modes
        pairs = modes[mode].pairs
        if pairs[0][1] != 1:
            return 1
        others = [stride for i, other in enumerate(modes) if i != mode for _, stride in other.pairs]
        counts = [pairs[0][0], *(stride for _, stride in pairs[1:]), *others, self.first.data]
        for border in self.borders:
            still = 1  # neighbours with the same subscript
            for extent, stride in border.layout.data[mode].pairs:
                if stride:
                    counts.append(still)
                still *= extent
        while most > 1 and any(count % most for count in counts):
            most //= 2
        return most

    def verify(self) -> None:
        if len(self.layout.data) != DIMENSIONS:
            raise VerifyException(f"a view has {DIMENSIONS} dimensions, got {self.layout.data}")
        for border in self.borders:
            found = [mode.size for mode in border.layout.data.modes]
            if found != list(self.sizes):
                raise VerifyException(f"a border of {found} for a view of {list(self.sizes)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            layout, first = parse_layout(parser), _parse_first(parser)
            borders: list[BorderAttr] = []
            while parser.parse_optional_punctuation(",") is not None:
                border = parser.parse_attribute()
                if not isinstance(border, BorderAttr):
                    parser.raise_error(f"expected a border, got {border}")
                borders.append(border)
            return [element, LayoutAttr(layout), IntAttr(first), ArrayAttr(borders)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.layout.data}")
            if self.first.data:
                printer.print_string(f" from {self.first.data}")
            for border in self.borders:
                printer.print_string(", ")
                printer.print_attribute(border)


@irdl_attr_definition
class SwizzleData(Data[Swizzle]):
    """A swizzle of `compiler.layouts`, part of `SharedAttr`."""

    name = "cta.swizzle"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Swizzle:
        bits, base, shift = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_integer)
        return Swizzle(bits, base, shift)

    def print_parameter(self, printer: Printer) -> None:
        swizzle = self.data
        printer.print_string(f"<{swizzle.bits},{swizzle.base},{swizzle.shift}>")


@irdl_attr_definition
class SharedAttr(ParametrizedAttribute):
    """`#cta.shared<(64,64):(64,1), swizzle<3,4,3>>`: how a tile lies in shared memory, as the encoding of its type.

    The layout counts elements, the swizzle is one of bytes.
    """

    name = "cta.shared"
    layout: LayoutAttr
    swizzle: SwizzleData

    @staticmethod
    def of(layout: Layout, swizzle: Swizzle = PLAIN) -> SharedAttr:
        """The encoding by its parts."""
        return SharedAttr(LayoutAttr(layout), SwizzleData(swizzle))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            layout = parse_layout(parser)
            swizzle = PLAIN
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("swizzle")
                numbers = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_integer)
                if len(numbers) != 3:
                    parser.raise_error("a swizzle has three numbers")
                swizzle = Swizzle(*numbers)
            return [LayoutAttr(layout), SwizzleData(swizzle)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.layout.data))
            swizzle = self.swizzle.data
            if swizzle.bits:
                printer.print_string(f", swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>")
