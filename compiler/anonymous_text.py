"""What a function does as text, by which equal ones are found.

Each op in one plain form, which takes a fifth of the time of printing it for people: by its name, the numbers of its
operands, and types and attributes, whose text is remembered.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute

_NAMES = ("sym_name", "sym_visibility")
_REMEMBERED = 1 << 13
_WITHOUT_FLOATS = (
    TypeAttribute,
    AffineMapAttr,
    DenseArrayBase,
    FastMathFlagsAttr,
    IntegerAttr,
    IntegerOverflowAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)


def anonymous_text(function: FuncOp) -> str:
    """A function without its name and those of its values; functions of one text compute the same."""
    writer = _Writer()
    writer.attributes({key: value for key, value in function.properties.items() if key not in _NAMES})
    writer.attributes(function.attributes)
    writer.region(function.body)
    return "".join(writer.parts)


class _Writer:
    """Values and blocks are the numbers of their places."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._values: dict[SSAValue, str] = {}
        self._blocks: dict[Block, str] = {}

    def op(self, op: Operation) -> None:
        parts = self.parts
        parts.append(op.name)
        for operand in op._operands:  # pyright: ignore[reportPrivateUsage]
            parts.append(self.name(operand))
        for successor in op._successors:  # pyright: ignore[reportPrivateUsage]
            parts.append(self._blocks[successor])
        self.attributes(op.properties)
        self.attributes(op.attributes)
        for region in op.regions:
            self.region(region)
        if op.results:
            self.define(op.results)
        parts.append("\n")

    def attributes(self, attributes: Mapping[str, Attribute]) -> None:
        self.parts.append("{")
        for key in sorted(attributes):
            self.parts += key, "=", _text(attributes[key]), ","
        self.parts.append("}")

    def region(self, region: Region) -> None:
        blocks = list(region.blocks)
        for block in blocks:
            self._blocks[block] = f"^{len(self._blocks)}"
        self.parts.append("({\n")
        for block in blocks:
            self.parts.append(self._blocks[block])
            self.define(block.args)
            self.parts.append("\n")
            for op in block.ops:
                self.op(op)
        self.parts.append("})")

    def define(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self.parts += self.name(value), ":", _text(value.type)

    def name(self, value: SSAValue) -> str:
        """The number of a value, which a block that stands before its own may use, too."""
        name = self._values.get(value)
        if name is None:
            name = self._values[value] = f"%{len(self._values)}"
        return name


def _text(attribute: Attribute) -> str:
    if _is_remembered(type(attribute)):
        return _remembered(attribute)
    match attribute:
        case FloatAttr():
            return f"{struct.pack('<d', attribute.value.data).hex()} : {_remembered(attribute.type)}"
        case ArrayAttr():
            return f"[{', '.join([_text(each) for each in attribute.data])}]"
        case _:
            return str(attribute)


@cache
def _is_remembered(cls: type[Attribute]) -> bool:
    """Whether equal attributes of this class are the same; those that hold 0.0 and -0.0 are equal."""
    return issubclass(cls, _WITHOUT_FLOATS)


@lru_cache(_REMEMBERED)
def _remembered(attribute: Attribute) -> str:
    return str(attribute)
