"""Sizes that no machine can address are refused where programs come in, before anything is computed with them."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType
from xdsl.ir import Attribute, Operation

from .diagnostics import LaminaError

ADDRESSABLE = 1 << 47  # bytes: the address space of a process
_WIDEST = 16  # bytes of an element
MOST_DIMENSIONS = 64  # NumPy's


def excess(kind: Attribute) -> str:
    """What a type has too much of to be computed with, in words; empty where it has not, or is dynamic."""
    if not isinstance(kind, ShapedType):
        return ""
    sizes = kind.get_shape()
    if len(sizes) > MOST_DIMENSIONS:
        return f"{len(sizes)} dimensions are too many, at most {MOST_DIMENSIONS}"
    if DYNAMIC_INDEX in sizes or prod(max(size, 1) for size in sizes) * _WIDEST <= ADDRESSABLE:
        return ""
    return f"a value of type {kind} is larger than any memory"


def check_sizes(module: Operation) -> None:
    """Raises LaminaError at the first value in `module` that no memory could hold."""
    for op in module.walk():
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*op.results, *arguments):
            if reason := excess(value.type):
                raise LaminaError(reason, where=op)
