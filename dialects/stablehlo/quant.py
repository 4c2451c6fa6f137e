"""The quantised element types of MLIR's `quant` dialect, which StableHLO's tensors may have.

!quant.uniform<i8:f32, 2.000000e+00:15>                      one scale and zero point for the tensor
!quant.uniform<i8<-127:127>:f32:1, {1.000000e+00, 0.5:3}>     one of each per index of dimension 1
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, f64
from xdsl.ir import Attribute, Data, Dialect, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@dataclass(frozen=True)
class Quantization:
    """A real number is (stored integer - zero point) * scale."""

    storage_type: IntegerType
    expressed_type: Attribute
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    quantization_dimension: int | None = None
    storage_min: int | None = None
    """None stands for the smallest value of the storage type."""
    storage_max: int | None = None


@irdl_attr_definition
class UniformQuantizedType(Data[Quantization], TypeAttribute):
    """Integers that stand for equally spaced real numbers."""

    name = "quant.uniform"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Quantization:
        with parser.in_angle_brackets():
            position = parser.pos
            unsigned = parser.parse_optional_keyword_in(("u4", "u8", "u16", "u32"))
            storage = IntegerType(int(unsigned[1:]), Signedness.UNSIGNED) if unsigned else parser.parse_type()
            if not isinstance(storage, IntegerType):
                parser.raise_error(f"storage must be an integer type, got {storage}", position)
            low = high = None
            if parser.parse_optional_punctuation("<"):
                low = parser.parse_integer()
                parser.parse_punctuation(":")
                high = parser.parse_integer()
                parser.parse_punctuation(">")
            parser.parse_punctuation(":")
            expressed = parser.parse_type()
            if not isinstance(expressed, AnyFloat):
                parser.raise_error(f"expressed type must be a float type, got {expressed}", position)
            axis = parser.parse_integer() if parser.parse_optional_punctuation(":") else None
            parser.parse_punctuation(",")

            def scale() -> tuple[float, int]:
                value = float(parser.parse_number())
                return value, parser.parse_integer() if parser.parse_optional_punctuation(":") else 0

            pairs = [scale()] if axis is None else parser.parse_comma_separated_list(parser.Delimiter.BRACES, scale)
            scales, zeros = tuple(s for s, _ in pairs), tuple(z for _, z in pairs)
            return Quantization(storage, expressed, scales, zeros, axis, low, high)

    def print_parameter(self, printer: Printer) -> None:
        q = self.data
        with printer.in_angle_brackets():
            if q.storage_type.signedness.data is Signedness.UNSIGNED:
                printer.print_string(f"u{q.storage_type.width.data}")
            else:
                printer.print_attribute(q.storage_type)
            if q.storage_min is not None:
                printer.print_string(f"<{q.storage_min}:{q.storage_max}>")
            printer.print_string(":")
            printer.print_attribute(q.expressed_type)
            if q.quantization_dimension is not None:
                printer.print_string(f":{q.quantization_dimension}, {{")
            else:
                printer.print_string(", ")
            for i, (scale, zero) in enumerate(zip(q.scales, q.zero_points, strict=True)):
                printer.print_string(", " if i else "")
                printer.print_float(scale, f64)
                printer.print_string(f":{zero}" if zero else "")
            printer.print_string("}" if q.quantization_dimension is not None else "")


Quant = Dialect("quant", [], [UniformQuantizedType])
