"""Builds hub ops the way PyTorch computes: its promotion of element types on top of the builder that ONNX has."""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float16Type,
    Float32Type,
    IntegerType,
    LocationAttr,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.weights import WeightStore
from ....dialects import stablehlo as hlo
from ....dialects.onnx import OnnxOp
from ..onnx_to_stablehlo.builder import (
    GraphBuilder,
    Number,
    Operand,
    Value,
    element_of,
    is_bool,
    is_float,
    is_unsigned,
    rank_of,
    shape_of,
)

__all__ = [
    "AtenBuilder",
    "Number",
    "Operand",
    "Value",
    "element_of",
    "element_of_number",
    "is_bool",
    "is_complex",
    "is_float",
    "is_unsigned",
    "rank_of",
    "shape_of",
]

_BOOL, _INTEGER, _FLOAT, _COMPLEX = range(4)


def _no_onnx(b: GraphBuilder, op: OnnxOp) -> NoReturn:
    raise LaminaError("an ATen graph has no ONNX operators", where=op)


class AtenBuilder(GraphBuilder):
    """Appends hub ops to a block. `operator`, `place` and `result` are those of the node at hand."""

    def __init__(self, block: Block, weights: WeightStore):
        super().__init__(block, weights, _no_onnx)
        self.operator = ""
        self.place: LocationAttr | None = None
        self.result: str | None = None

    @property
    def location(self) -> LocationAttr | None:
        return self.place

    @property
    def result_name(self) -> str | None:
        return self.result

    @property
    def wanted(self) -> list[bool]:
        """The first output of the operator at hand, as if it were read: what nothing reads is left out later."""
        return [True]

    def fail(self, message: str, hint: str | None = None) -> LaminaError:
        """The error to raise when the operator at hand cannot be lowered for the reason given."""
        return LaminaError(f"{self.operator}: {message}" if self.operator else message, where=self.place, hint=hint)

    # element types, by the rules of torch.result_type

    def promoted(self, *operands: Operand) -> Attribute:
        """The element type that operands are computed in.

        Tensors with dimensions come first, then those without, then plain numbers; a later kind counts only where it
        is of a higher category (truth values, integers, floats, complex numbers).
        """
        result: Attribute | None = None
        for kind in (True, False):
            found = [element_of(x) for x in operands if isinstance(x, SSAValue) and (rank_of(x) > 0) is kind]
            for element in self._common(found):
                result = _raised(result, element)
        for x in operands:
            if not isinstance(x, SSAValue):
                result = _raised(result, element_of_number(x))
        assert result is not None
        return result

    def _common(self, elements: list[Attribute]) -> list[Attribute]:
        """The one element type of tensors of equal standing; none for no tensors."""
        if not elements:
            return []
        result = elements[0]
        for element in elements[1:]:
            result = _both(result, element)
        return [result]

    def typed(self, x: Operand, element: Attribute) -> Value:
        """An operand with this element type."""
        return self.convert(x, element) if isinstance(x, SSAValue) else self.scalar(_fitting(x, element), element)

    def promote(self, *operands: Operand) -> list[Value]:
        """The operands with their common element type."""
        element = self.promoted(*operands)
        return [self.typed(x, element) for x in operands]

    def floating(self, x: Value) -> Value:
        """`x` itself where it is floating-point or complex, else as f32."""
        return self.convert(x, f32) if isinstance(element_of(x), IntegerType) else x

    def truth(self, x: Operand) -> Value:
        """Whether each element differs from zero."""
        if not isinstance(x, SSAValue):
            return self.scalar(bool(x), i1)
        return x if is_bool(x) else self.compare(x, 0, "NE")

    def either(self, x: Value, y: Value) -> Value:
        """Logical or, or that of the bits."""
        return self.binary(hlo.OrOp, x, y)

    def zeros(self, shape: tuple[int, ...] | list[int], element: Attribute) -> Value:
        """Nothing but zeros."""
        return self.broadcast_to(self.scalar(0, element), shape)

    def wide(self, x: Value) -> Value:
        """f16 and bf16 as f32, which PyTorch accumulates them in."""
        return self.convert(x, f32) if isinstance(element_of(x), Float16Type | BFloat16Type) else x


def is_complex(x: Value) -> bool:
    """Whether the elements are complex numbers."""
    return isinstance(element_of(x), ComplexType)


def _category(element: Attribute) -> int:
    if isinstance(element, ComplexType):
        return _COMPLEX
    if isinstance(element, IntegerType):
        return _BOOL if element == i1 else _INTEGER
    return _FLOAT


def _raised(result: Attribute | None, element: Attribute) -> Attribute:
    """`result` unless `element` is of a higher category."""
    if result is None or _category(element) > _category(result):
        if result is not None and _category(element) == _COMPLEX and result == f64:
            return ComplexType(f64)
        return element
    return result


def _both(x: Attribute, y: Attribute) -> Attribute:
    """The element type that holds two, as torch.promote_types has it."""
    if x == y:
        return x
    low, high = sorted((x, y), key=_category)
    if _category(low) < _category(high):
        return ComplexType(f64) if _category(high) == _COMPLEX and low == f64 else high
    if isinstance(low, ComplexType) or isinstance(high, ComplexType):
        return ComplexType(f64)
    if isinstance(low, IntegerType) and isinstance(high, IntegerType):
        small, large = sorted((low, high), key=lambda t: t.width.data)
        if small.signedness == large.signedness:
            return large
        unsigned_is_large = "ui" in str(large)
        wanted = large.width.data * 2 if unsigned_is_large else max(large.width.data, small.width.data)
        if small.width.data == large.width.data:
            wanted = 2 * large.width.data
        return IntegerType(min(wanted, 64))
    order = [Float16Type, BFloat16Type, Float32Type]
    ranks = sorted(next((i for i, t in enumerate(order) if isinstance(e, t)), len(order)) for e in (low, high))
    return f32 if ranks == [0, 1] else f64 if ranks[1] == 3 else f32


def element_of_number(x: Number | complex) -> Attribute:
    """The element type of a plain number of Python."""
    if isinstance(x, complex):
        return ComplexType(f32)
    return i1 if isinstance(x, bool) else i64 if isinstance(x, int) else f32


def _fitting(x: Number | complex, element: Attribute) -> Number | complex:
    """A plain number as one of the element type's kind."""
    if element == i1:
        return bool(x)
    if isinstance(x, complex):
        return x if isinstance(element, ComplexType) else _fitting(x.real, element)
    return int(x) if isinstance(element, IntegerType) else float(x)
