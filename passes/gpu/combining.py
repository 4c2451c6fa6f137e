"""How values are combined, by the kind of a reduction: the op, and the number that changes nothing."""

from __future__ import annotations

from math import inf

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.arith import Arith

_OPS = {op.name: op for op in Arith.operations}
_NAMES = {
    "add": ("addf", "addi"),
    "mul": ("mulf", "muli"),
    "maximumf": ("maximumf", ""),
    "minimumf": ("minimumf", ""),
    "maxsi": ("", "maxsi"),
    "minsi": ("", "minsi"),
    "maxui": ("", "maxui"),
    "minui": ("", "minui"),
    "and": ("", "andi"),
    "or": ("", "ori"),
    "xor": ("", "xori"),
}
COMBINERS = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.maximumf": "maximumf",
    "arith.minimumf": "minimumf",
    "arith.maxsi": "maxsi",
    "arith.minsi": "minsi",
    "arith.maxui": "maxui",
    "arith.minui": "minui",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
}
"""Ops that combine numbers in any order, and what that is called."""
_FLOATS = {"add": 0.0, "mul": 1.0, "maximumf": -inf, "minimumf": inf}


def element_of(type_: Attribute) -> Attribute:
    """The element type of a vector, any other type itself."""
    return type_.element_type if isinstance(type_, VectorType) else type_


def combine(b: Builder, kind: str, left: SSAValue, right: SSAValue, flags: Attribute | None = None) -> SSAValue:
    """Two numbers or vectors combined; `flags` are those of fast math."""
    name = _NAMES[kind][not isinstance(element_of(left.type), AnyFloat)]
    properties = {"fastmath": flags} if flags is not None and isinstance(element_of(left.type), AnyFloat) else {}
    made: Operation = _OPS[f"arith.{name}"].create(
        operands=[left, right], result_types=[left.type], properties=dict(properties)
    )
    return b.insert(made).results[0]


def neutral(b: Builder, kind: str, type_: Attribute) -> SSAValue:
    """What changes nothing when it is combined, as a number or in all lanes."""
    return number(b, _neutral(kind, element_of(type_)), type_)


def number(b: Builder, value: float, type_: Attribute) -> SSAValue:
    """A constant, in all lanes of a vector type."""
    element = element_of(type_)
    if isinstance(type_, VectorType):
        attribute: Attribute = DenseIntOrFPElementsAttr.from_list(type_, [value] * type_.get_shape()[0])  # pyright: ignore
    elif isinstance(element, IntegerType):
        attribute = IntegerAttr(int(value), element)
    else:
        assert isinstance(element, AnyFloat)
        attribute = FloatAttr(value, element)
    return b.insert(arith.ConstantOp(attribute, type_)).result  # pyright: ignore[reportArgumentType]


def _neutral(kind: str, element: Attribute) -> float:
    if isinstance(element, AnyFloat):
        return _FLOATS[kind]
    assert isinstance(element, IntegerType)
    highest = (1 << (element.width.data - 1)) - 1
    return {"mul": 1, "maxsi": -highest - 1, "minsi": highest, "minui": -1, "and": -1}.get(kind, 0)
