"""StableHLO's own attributes and types, and short ways to make the builtin ones its ops carry.

Dimension numbers are plain Python data: `op.dimension_numbers.data.input_spatial_dimensions` is a tuple of ints.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

Ints: TypeAlias = "Sequence[int] | DenseArrayBase"
Pads: TypeAlias = "Sequence[Sequence[int]] | DenseIntOrFPElementsAttr"


# Enumerations, written `#stablehlo<comparison_direction LT>`.


class Precision(StrEnum):
    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


class FftType(StrEnum):
    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


class ComparisonDirection(StrEnum):
    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(StrEnum):
    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


class Transpose(StrEnum):
    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


class RngDistribution(StrEnum):
    UNIFORM = "UNIFORM"
    NORMAL = "NORMAL"


class RngAlgorithm(StrEnum):
    DEFAULT = "DEFAULT"
    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


class ResultAccuracyMode(StrEnum):
    DEFAULT = "DEFAULT"
    HIGHEST = "HIGHEST"
    TOLERANCE = "TOLERANCE"


@irdl_attr_definition
class PrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.precision"


@irdl_attr_definition
class FftTypeAttr(EnumAttribute[FftType], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.fft_type"


@irdl_attr_definition
class ComparisonDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.comparison_direction"


@irdl_attr_definition
class ComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.comparison_type"


@irdl_attr_definition
class TransposeAttr(EnumAttribute[Transpose], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.transpose"


@irdl_attr_definition
class RngDistributionAttr(EnumAttribute[RngDistribution], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.rng_distribution"


@irdl_attr_definition
class RngAlgorithmAttr(EnumAttribute[RngAlgorithm], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.rng_algorithm"


@irdl_attr_definition
class ResultAccuracyModeAttr(EnumAttribute[ResultAccuracyMode]):
    """Written `#stablehlo.result_accuracy_mode<HIGHEST>`, unlike the other enumerations."""

    name = "stablehlo.result_accuracy_mode"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResultAccuracyMode:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(ResultAccuracyMode)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.token`: orders side effects, holds no data."""

    name = "stablehlo.token"


# Records of dimension numbers, written `#stablehlo.dot<lhs_contracting_dimensions = [1], ...>`.


@dataclass(frozen=True)
class DotDimensions:
    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    lhs_contracting_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = ()


@dataclass(frozen=True)
class GatherDimensions:
    offset_dims: tuple[int, ...] = ()
    collapsed_slice_dims: tuple[int, ...] = ()
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()
    start_index_map: tuple[int, ...] = ()
    index_vector_dim: int = 0


@dataclass(frozen=True)
class ScatterDimensions:
    update_window_dims: tuple[int, ...] = ()
    inserted_window_dims: tuple[int, ...] = ()
    input_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    scatter_dims_to_operand_dims: tuple[int, ...] = ()
    index_vector_dim: int = 0


@dataclass(frozen=True)
class OperandAlias:
    output_tuple_indices: tuple[int, ...] = ()
    operand_index: int = 0
    operand_tuple_indices: tuple[int, ...] = ()


_Record = TypeVar("_Record")


def parse_record(parser: AttrParser, record: type[_Record]) -> _Record:
    """`<key = [ints], key = int, ...>` in any order; absent keys keep the record's defaults."""
    names = {field.name for field in fields(cast(Any, record))}
    values: dict[str, int | tuple[int, ...]] = {}

    def entry() -> None:
        key = parser.parse_optional_identifier()
        if key is None:  # after a trailing comma
            return
        if key not in names or key in values:
            what = "given twice" if key in values else f"not one of {', '.join(sorted(names))}"
            parser.raise_error(f"'{key}' is {what}")
        parser.parse_punctuation("=")
        items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        values[key] = parser.parse_integer() if items is None else tuple(items)

    parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
    return record(**values)


def print_record(printer: Printer, record: Any, keep_empty: bool = False) -> None:
    """`<key = [ints], key = int>`; lists that are empty and zeros are left out, unless they are to be kept."""
    shown = [(f.name, value) for f in fields(record) if (value := getattr(record, f.name)) or keep_empty]
    with printer.in_angle_brackets():
        printer.print_string(
            ", ".join(
                f"{name} = [{', '.join(map(str, value))}]" if isinstance(value, tuple) else f"{name} = {value}"
                for name, value in shown
            )
        )


@irdl_attr_definition
class DotDimensionNumbersAttr(Data[DotDimensions]):
    name = "stablehlo.dot"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DotDimensions:
        return parse_record(parser, DotDimensions)

    def print_parameter(self, printer: Printer) -> None:
        print_record(printer, self.data)


@irdl_attr_definition
class GatherDimensionNumbersAttr(Data[GatherDimensions]):
    name = "stablehlo.gather"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> GatherDimensions:
        return parse_record(parser, GatherDimensions)

    def print_parameter(self, printer: Printer) -> None:
        print_record(printer, self.data)


@irdl_attr_definition
class ScatterDimensionNumbersAttr(Data[ScatterDimensions]):
    name = "stablehlo.scatter"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ScatterDimensions:
        return parse_record(parser, ScatterDimensions)

    def print_parameter(self, printer: Printer) -> None:
        print_record(printer, self.data)


@irdl_attr_definition
class OutputOperandAliasAttr(Data[OperandAlias]):
    name = "stablehlo.output_operand_alias"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> OperandAlias:
        return parse_record(parser, OperandAlias)

    def print_parameter(self, printer: Printer) -> None:
        print_record(printer, self.data, keep_empty=True)


@dataclass(frozen=True)
class DotAlgorithm:
    """How `dot_general` may compute: the element types it rounds to and accumulates in."""

    lhs_precision_type: Attribute
    rhs_precision_type: Attribute
    accumulation_type: Attribute
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


@irdl_attr_definition
class DotAlgorithmAttr(Data[DotAlgorithm]):
    name = "stablehlo.dot_algorithm"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DotAlgorithm:
        values: dict[str, Any] = {}

        def entry() -> None:
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            if key.endswith("_type"):
                values[key] = parser.parse_type()
            elif key == "allow_imprecise_accumulation":
                values[key] = parser.parse_boolean()
            else:
                values[key] = parser.parse_integer()

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        names = {field.name for field in fields(DotAlgorithm)}
        if wrong := names ^ values.keys():
            parser.raise_error(f"dot_algorithm needs exactly {', '.join(sorted(names))}; wrong: {sorted(wrong)}")
        return DotAlgorithm(**values)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for i, field in enumerate(fields(DotAlgorithm)):
                value = getattr(self.data, field.name)
                printer.print_string(f"{', ' if i else ''}{field.name} = ")
                if isinstance(value, Attribute):
                    printer.print_attribute(value)
                else:
                    printer.print_string(str(value).lower())


@dataclass(frozen=True)
class ResultAccuracy:
    """The error a transcendental op may make; the default leaves it to the target."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0
    mode: ResultAccuracyMode = ResultAccuracyMode.DEFAULT


@irdl_attr_definition
class ResultAccuracyAttr(Data[ResultAccuracy]):
    name = "stablehlo.result_accuracy"

    def verify(self) -> None:
        accuracy = self.data
        if accuracy.mode != ResultAccuracyMode.TOLERANCE and (accuracy.atol or accuracy.rtol or accuracy.ulps):
            raise VerifyException(f"tolerances must be zero in mode {accuracy.mode}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResultAccuracy:
        values: dict[str, Any] = {}

        def entry() -> None:
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            match key:
                case "atol" | "rtol":
                    values[key] = float(parser.parse_number())
                case "ulps":
                    values[key] = parser.parse_integer()
                case "mode":
                    mode = parser.parse_attribute()
                    if not isinstance(mode, ResultAccuracyModeAttr):
                        parser.raise_error("expected #stablehlo.result_accuracy_mode<...>")
                    values[key] = mode.data
                case _:
                    parser.raise_error(f"'{key}' is not one of atol, rtol, ulps, mode")

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        return ResultAccuracy(**values)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for name in ("atol", "rtol"):
                if value := getattr(self.data, name):
                    printer.print_string(f"{name} = ")
                    printer.print_float(value, f64)
                    printer.print_string(", ")
            if self.data.ulps:
                printer.print_string(f"ulps = {self.data.ulps}, ")
            printer.print_string("mode = ")
            printer.print_attribute(ResultAccuracyModeAttr(self.data.mode))


# Builtin attributes, made from plain Python values.


@lru_cache(maxsize=4096)
def _i64_array(values: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, values)


def int_array(values: Ints) -> DenseArrayBase:
    """`array<i64: ...>`; an attribute is returned as it is."""
    if isinstance(values, DenseArrayBase):
        return values
    return _i64_array(tuple(int(v) for v in values))


def bool_array(values: Sequence[bool] | DenseArrayBase) -> DenseArrayBase:
    """`array<i1: ...>`."""
    if isinstance(values, DenseArrayBase):
        return values
    return DenseArrayBase.from_list(i1, [int(v) for v in values])


def ints(attr: DenseArrayBase | None, default: Sequence[int] = ()) -> tuple[int, ...]:
    """The values of an integer array attribute, `default` where it is absent."""
    if attr is None:
        return tuple(default)
    if attr.elt_type == i64:
        return _i64_values(attr.data.data)
    return cast("tuple[int, ...]", cast(Any, attr).get_values())


@lru_cache(maxsize=4096)
def _i64_values(raw: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(raw) // 8}q", raw)


def int_attr(value: int | IntegerAttr, width: int = 64) -> IntegerAttr:
    """`value : i64` (or i32)."""
    return value if isinstance(value, IntegerAttr) else _int_attr(int(value), width)


@lru_cache(maxsize=1024)
def _int_attr(value: int, width: int) -> IntegerAttr:
    return IntegerAttr(value, i64 if width == 64 else i32)


def bool_attr(value: bool | BoolAttr) -> BoolAttr:
    """`true` or `false`."""
    return value if isinstance(value, IntegerAttr) else _BOOLS[bool(value)]


_BOOLS = (BoolAttr.from_bool(False), BoolAttr.from_bool(True))


def string_attr(value: str | StringAttr) -> StringAttr:
    return StringAttr(value) if isinstance(value, str) else value


def pads_attr(pads: Pads) -> DenseIntOrFPElementsAttr:
    """`dense<[[low, high], ...]> : tensor<Nx2xi64>`."""
    if isinstance(pads, DenseIntOrFPElementsAttr):
        return pads
    return _pads_attr(tuple((int(low), int(high)) for low, high in pads))


@lru_cache(maxsize=1024)
def _pads_attr(pads: tuple[tuple[int, int], ...]) -> DenseIntOrFPElementsAttr:
    flat = [v for pair in pads for v in pair]
    return DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(pads), 2]), flat)


def pads(attr: DenseIntOrFPElementsAttr | None, rank: int) -> tuple[tuple[int, int], ...]:
    """The (low, high) pairs of a padding attribute, zeros where it is absent."""
    if attr is None:
        return ((0, 0),) * rank
    if attr.get_shape()[1:] != (2,) or attr.get_element_type() != i64:
        raise VerifyException(f"padding must be a tensor of shape [N, 2] and i64, got {attr.type}")
    flat = _i64_values(attr.data.data)
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def precision_config(values: Iterable[str] | ArrayAttr[PrecisionAttr]) -> ArrayAttr[PrecisionAttr]:
    """`[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]`."""
    if isinstance(values, ArrayAttr):
        return values
    return ArrayAttr(PrecisionAttr(Precision(v)) for v in values)


def epsilon_attr(value: float | FloatAttr) -> FloatAttr:
    """`value : f32`."""
    return value if isinstance(value, FloatAttr) else FloatAttr(value, 32)
