"""How the dimensions of a convolution are named: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class ConvDimensions:
    """Which dimension of input, kernel and output is batch, feature or spatial."""

    input_batch_dimension: int
    input_feature_dimension: int
    input_spatial_dimensions: tuple[int, ...]
    kernel_input_feature_dimension: int
    kernel_output_feature_dimension: int
    kernel_spatial_dimensions: tuple[int, ...]
    output_batch_dimension: int
    output_feature_dimension: int
    output_spatial_dimensions: tuple[int, ...]

    def input_dimensions(self) -> tuple[int, ...]:
        """Batch, feature, then spatial: the permutation that brings the input to `[b, f, 0, 1, ...]`."""
        return (self.input_batch_dimension, self.input_feature_dimension, *self.input_spatial_dimensions)

    def kernel_dimensions(self) -> tuple[int, ...]:
        """Output feature, input feature, then spatial: the permutation to `[o, i, 0, 1, ...]`."""
        return (
            self.kernel_output_feature_dimension,
            self.kernel_input_feature_dimension,
            *self.kernel_spatial_dimensions,
        )

    def output_dimensions(self) -> tuple[int, ...]:
        """Batch, feature, then spatial: the permutation that brings the output to `[b, f, 0, 1, ...]`."""
        return (self.output_batch_dimension, self.output_feature_dimension, *self.output_spatial_dimensions)

    def __str__(self) -> str:
        input_ = _layout("bf", self.input_dimensions())
        kernel = _layout("oi", self.kernel_dimensions())
        return f"{input_}x{kernel}->{_layout('bf', self.output_dimensions())}"

    @staticmethod
    @lru_cache(maxsize=256)
    def from_text(text: str) -> ConvDimensions:
        """Reads the form that `str` writes.

        >>> ConvDimensions.from_text("[b, 0, f]x[0, i, o]->[b, 0, f]").kernel_dimensions()
        (2, 1, 0)
        """
        match = re.fullmatch(r"\s*\[(.*)\]\s*x\s*\[(.*)\]\s*->\s*\[(.*)\]\s*", text)
        if match is None:
            raise ValueError(f"expected '[...]x[...]->[...]', got '{text}'")
        return _from_layouts(*([entry.strip() for entry in group.split(",")] for group in match.groups()))


@lru_cache
def with_channels_last(space: int) -> ConvDimensions:
    """Images and filters of so many spatial dimensions with their channels last.

    >>> str(with_channels_last(2))
    '[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]'
    """
    inside, last = tuple(range(1, space + 1)), space + 1
    return ConvDimensions(0, last, inside, space, last, tuple(range(space)), 0, last, inside)


def _layout(features: str, dimensions: tuple[int, ...]) -> str:
    names = ["?"] * max(len(dimensions), *(d + 1 for d in dimensions))
    for dimension, name in zip(dimensions, [*features, *map(str, range(len(dimensions)))], strict=False):
        names[dimension] = name
    return f"[{', '.join(names)}]"


def _positions(layout: list[str], features: str) -> tuple[int, int, tuple[int, ...]]:
    expected = [*features, *map(str, range(len(layout) - 2))]
    if sorted(layout) != sorted(expected):
        raise ValueError(f"expected each of {', '.join(expected)} once, got [{', '.join(layout)}]")
    first, second, *spatial = (layout.index(name) for name in expected)
    return first, second, tuple(spatial)


def _from_layouts(input_: list[str], kernel: list[str], output: list[str]) -> ConvDimensions:
    batch, feature, spatial = _positions(input_, "bf")
    k_out, k_in, k_spatial = _positions(kernel, "oi")
    return ConvDimensions(batch, feature, spatial, k_in, k_out, k_spatial, *_positions(output, "bf"))


def parse_layouts(parser: AttrParser) -> ConvDimensions:
    """`[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`."""

    def entry() -> str:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_identifier() if number is None else str(number)

    def layout() -> list[str]:
        return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, entry)

    position = parser.pos
    input_ = layout()
    parser.parse_keyword("x")
    kernel = layout()
    parser.parse_punctuation("->")
    output = layout()
    try:
        return _from_layouts(input_, kernel, output)
    except ValueError as error:
        parser.raise_error(f"dimension numbers of a convolution: {error}", position)


@irdl_attr_definition
class ConvDimensionNumbersAttr(Data[ConvDimensions]):
    """`#stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>`, or with `raw` and named fields."""

    name = "stablehlo.conv"

    def verify(self) -> None:
        for places in (self.data.input_dimensions(), self.data.kernel_dimensions(), self.data.output_dimensions()):
            if any(not 0 <= place < len(places) for place in places):
                raise VerifyException(f"dimension numbers {list(places)} are not places among {len(places)} dimensions")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConvDimensions:
        with parser.in_angle_brackets():
            if not parser.parse_optional_keyword("raw"):
                return parse_layouts(parser)
            values: dict[str, int | tuple[int, ...]] = {}

            def entry() -> None:
                key = parser.parse_identifier()
                parser.parse_punctuation("=")
                items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
                values[key] = parser.parse_integer() if items is None else tuple(items)

            parser.parse_comma_separated_list(parser.Delimiter.NONE, entry)
            names = {field.name for field in fields(ConvDimensions)}
            if wrong := names ^ values.keys():
                parser.raise_error(f"raw dimension numbers need each field once; wrong: {sorted(wrong)}")
            return ConvDimensions(**values)  # pyright: ignore[reportArgumentType]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @staticmethod
    def of(value: str | ConvDimensions | ConvDimensionNumbersAttr) -> ConvDimensionNumbersAttr:
        """From text, data or an attribute."""
        if isinstance(value, ConvDimensionNumbersAttr):
            return value
        return ConvDimensionNumbersAttr(ConvDimensions.from_text(value) if isinstance(value, str) else value)
