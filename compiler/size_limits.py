"""Sizes that no machine can address are refused where programs come in, before anything is computed with them."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType
from xdsl.ir import Attribute, Operation

from .diagnostics import LaminaError

ADDRESSABLE = 1 << 47  # bytes: the address space of a process
_WIDEST = 16  # bytes of an element
MOST_DIMENSIONS = 64  # NumPy's


def is_addressable(kind: Attribute) -> bool:
    """Whether the elements of a type have room in the address space, and it has no more dimensions than arrays have."""
    if not isinstance(kind, ShapedType):
        return True
    sizes = kind.get_shape()
    if len(sizes) > MOST_DIMENSIONS:
        return False
    return DYNAMIC_INDEX in sizes or prod(max(size, 1) for size in sizes) * _WIDEST <= ADDRESSABLE


def check_sizes(module: Operation) -> None:
    """Raises LaminaError at the first value in `module` that no memory could hold."""
    for op in module.walk():
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*op.results, *arguments):
            if not is_addressable(value.type):
                raise LaminaError(f"a value of type {value.type} is larger than any memory", where=op)
