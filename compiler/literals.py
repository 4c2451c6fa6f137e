"""Numbers in `dense<...>`: a hexadecimal one in place of a float is its bit pattern, as MLIR prints inf and NaN."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType
from xdsl.parser import Parser
from xdsl.parser.attribute_parser import AttrParser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

MOST_ELEMENTS = 1 << 24  # of a literal
_Number = bool | int | float


@dataclass
class TensorElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """One element of a literal, converted when the element type is known."""

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
        if isinstance(type, AnyFloat) and not isinstance(self.value, tuple):
            return _to_float(self.value, self.span, type)
        if isinstance(type, ComplexType) and isinstance(type.element_type, AnyFloat):
            if not isinstance(self.value, tuple):
                raise ParseError(self.span, f"expected a pair (re, im) for {type}")
            parts = self.span.text.strip("()").split(",")
            start = self.span.start + 1
            spans = [
                Span(start, start + len(parts[0]), self.span.input),
                Span(start + len(parts[0]) + 1, self.span.end - 1, self.span.input),
            ]
            return tuple(_to_float(v, s, type.element_type) for v, s in zip(self.value, spans, strict=True))
        return super().to_type(parser, type)


def _to_float(value: _Number, span: Span[Any], type: AnyFloat) -> float:
    text = span.text.strip()
    if isinstance(value, float | bool) or not text.lower().startswith("0x"):
        return _in_range(float(value), span, type)
    try:
        return type.unpack(value.to_bytes(type.compile_time_size, "little"), 1)[0]
    except OverflowError:
        raise ParseError(span, f"{text} has more bits than {type}") from None


def _in_range(value: float, span: Span[Any], type: AnyFloat) -> float:
    try:
        type.pack((value,))
    except OverflowError:
        raise ParseError(span, f"{span.text} is too large for {type}") from None
    return value


class LiteralParser(Parser):
    """xDSL's parser with literals of tensors read as MLIR reads them."""

    _TensorLiteralElement = TensorElement

    def _parse_dense_literal_type(self) -> Any:
        start = self.pos
        kind = super()._parse_dense_literal_type()
        if (count := prod(kind.get_shape())) > MOST_ELEMENTS:  # of a splat every element is written out
            message = f"a literal of {count} elements is too large, at most {MOST_ELEMENTS}: broadcast a scalar instead"
            self.raise_error(message, start, self.pos)
        return kind

    def _parse_optional_complex(self) -> Any:
        start = self.pos
        if self.parse_optional_punctuation("(") is None:
            return None
        real, _ = self._parse_bool_int_or_float()
        self.parse_punctuation(",")
        imaginary, _ = self._parse_bool_int_or_float()
        end = self._current_token.span.end
        self.parse_punctuation(")")
        return (real, imaginary), Span(start, end, self.lexer.input)
