"""The quantised element types of MLIR's `quant` dialect, which StableHLO's tensors may have.

!quant.uniform<i8:f32, 2.000000e+00:15>                      one scale and zero point for the tensor
!quant.uniform<i8<-127:127>:f32:1, {1.000000e+00,0.5:3}>      one of each per index of dimension 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isfinite
from typing import NoReturn, cast

import ml_dtypes
from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, Data, Dialect, Operation, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...compiler.dtypes import StoredType, dtype_of

MAX_STORAGE_BITS = 32
_UNSIGNED = {f"u{bits}": bits for bits in range(1, MAX_STORAGE_BITS + 1)}


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

    def __post_init__(self) -> None:
        """Limits that are those of the storage type are left out: equal types are equal."""
        if (self.storage_min, self.storage_max) == self.storage_range():
            object.__setattr__(self, "storage_min", None)
            object.__setattr__(self, "storage_max", None)

    def storage_range(self) -> tuple[int, int]:
        """The least and the greatest number that the storage type holds."""
        bits = self.storage_type.width.data
        unsigned = self.storage_type.signedness.data is Signedness.UNSIGNED
        return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest number that may be stored."""
        low, high = self.storage_range()
        return (
            low if self.storage_min is None else self.storage_min,
            high if self.storage_max is None else self.storage_max,
        )


@irdl_attr_definition
class UniformQuantizedType(Data[Quantization], StoredType, TypeAttribute):
    """Integers that stand for equally spaced real numbers."""

    name = "quant.uniform"

    @property
    def storage_type(self) -> Attribute:
        return self.data.storage_type

    def verify(self) -> None:
        """The constraints of quantised element types; those of tensors of them are `check_tensor`'s."""
        q = self.data
        if not isinstance(q.expressed_type, AnyFloat):
            _refuse(f"expressed type must be a float type, got {q.expressed_type}", "C4")
        if not 1 <= q.storage_type.width.data <= MAX_STORAGE_BITS:
            _refuse(f"storage type must have 1 to {MAX_STORAGE_BITS} bits, got {q.storage_type}", "C1")
        if q.storage_type.signedness.data is Signedness.SIGNED:
            _refuse(f"a storage type with a sign is written i{q.storage_type.width.data}", "C1")
        (least, greatest), (low, high) = q.storage_range(), q.limits
        if not least <= low < high <= greatest:
            _refuse(f"storage range {low}:{high} must be in {least}:{greatest} and not empty", "C3")
        if len(q.scales) != len(q.zero_points):
            _refuse(f"{len(q.scales)} scales, but {len(q.zero_points)} zero points", "C9")
        tiny, huge = _positive_range(q.expressed_type)
        for scale in q.scales:
            if not (isfinite(scale) and scale > 0):
                _refuse(f"scale {scale} must be positive and finite", "C5, C6")
            if not tiny <= scale <= huge:
                _refuse(f"scale {scale} is out of the range of {q.expressed_type}", "C4")
        for zero in q.zero_points:
            if not low <= zero <= high:
                _refuse(f"zero point {zero} must be in the storage range {low}:{high}", "C7")
        if q.quantization_dimension is None and len(q.scales) != 1:
            _refuse(f"needs one scale for the tensor, got {len(q.scales)}", "C10")
        if q.quantization_dimension is not None and q.quantization_dimension < 0:
            _refuse(f"quantization dimension {q.quantization_dimension} must not be negative", "C11")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Quantization:
        with parser.in_angle_brackets():
            position = parser.pos
            unsigned = parser.parse_optional_keyword_in(_UNSIGNED)
            storage = IntegerType(_UNSIGNED[unsigned], Signedness.UNSIGNED) if unsigned else parser.parse_type()
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
            pairs = zip(q.scales, q.zero_points, strict=True)
            shown = ",".join(scale_text(scale) + (f":{zero}" if zero else "") for scale, zero in pairs)
            axis = q.quantization_dimension
            printer.print_string(f", {shown}" if axis is None else f":{axis}, {{{shown}}}")


Quant = Dialect("quant", [], [UniformQuantizedType])


def _refuse(message: str, constraint: str) -> NoReturn:
    raise VerifyException(f"quantised element type: {message} ({constraint})")


@lru_cache
def _positive_range(expressed: AnyFloat) -> tuple[float, float]:
    """The least and greatest positive number of full precision."""
    if expressed.bitwidth > 64:
        return 0.0, inf
    info = ml_dtypes.finfo(dtype_of(expressed))
    return float(info.smallest_normal), float(info.max)


def scale_text(scale: float) -> str:
    """A double as MLIR prints it.

    >>> scale_text(0.5), scale_text(0.0039188104517319626), scale_text(1.5350925350904778e-05)
    ('5.000000e-01', '0.0039188104517319626', '1.5350925350904778E-5')
    """
    short = f"{scale:.6e}"
    if float(short) == scale:
        return short
    digits, _, exponent = f"{scale:.16e}".partition("e")
    digits, power = digits.replace(".", "").rstrip("0"), int(exponent)
    if power >= 0 and power < len(digits) - 1:
        return f"{digits[: power + 1]}.{digits[power + 1 :]}"
    if -3 <= power < 0:
        return f"0.{'0' * (-power - 1)}{digits}"
    return f"{digits[0]}.{digits[1:] or '0'}E{'+' if power > 0 else ''}{power}"


def quantization(kind: Attribute) -> Quantization | None:
    """How the elements of a tensor type, or of an element type, are quantised; None where they are not."""
    element = kind.element_type if isinstance(kind, TensorType) else kind
    return element.data if isinstance(element, UniformQuantizedType) else None


def quantized_values(op: Operation) -> bool:
    """Whether an operand or result of `op` is quantised."""
    for values in (op.results, op.operands):
        for value in values:
            kind = value.type  # asked of every op: `isinstance` takes five times as long
            if type(kind) is TensorType and type(kind.element_type) is UniformQuantizedType:
                return True
    return False


def expressed_type(kind: TensorType[Attribute]) -> TensorType[Attribute]:
    """The tensor type of the numbers that those of `kind` stand for: itself where it is not quantised."""
    q = quantization(kind)
    return kind if q is None else TensorType(q.expressed_type, kind.get_shape())


def stored_type(kind: Attribute) -> Attribute:
    """The type of the integers that lie in memory for a quantised tensor; itself for all else."""
    q = quantization(kind)
    return kind if q is None else TensorType(q.storage_type, cast("TensorType[Attribute]", kind).get_shape())


@lru_cache(maxsize=1024)
def baseline_element(element: Attribute) -> Attribute:
    """An element type without its scales and zero points: what operands of an op must agree in."""
    q = quantization(element)
    if q is None:
        return element
    count = len(q.scales)
    return UniformQuantizedType(replace(q, scales=(1.0,) * count, zero_points=(q.limits[0],) * count))


def check_tensor(kind: TensorType[Attribute]) -> None:
    """A tensor has as many scales as indices of the dimension that they are for (C12, C13 of quantised types)."""
    q = quantization(kind)
    if q is None or q.quantization_dimension is None:
        return
    shape: Sequence[int] = kind.get_shape()
    if q.quantization_dimension >= len(shape):
        _refuse(f"quantization dimension {q.quantization_dimension} must be a dimension of {kind}", "C12")
    size = shape[q.quantization_dimension]
    if size >= 0 and size != len(q.scales):
        _refuse(f"{kind} must have {size} scales, one per index of dimension {q.quantization_dimension}", "C13")
