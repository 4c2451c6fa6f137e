"""Where reductions start: what changes nothing, the ends of a type's range."""

from __future__ import annotations

import math

import ml_dtypes
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ....compiler.dtypes import dtype_of


def identity(kind: str, element: Attribute) -> int | float | bool:
    """What changes nothing under a reduction: 0 for add, -inf or the smallest integer for maximum, ..."""
    match kind:
        case "add" | "or":
            return 0
        case "multiply" | "and":
            return 1
        case "maximum" | "minimum":
            return extreme(element, largest=kind == "minimum")
        case _:
            raise ValueError(f"no reduction '{kind}'")


def extreme(element: Attribute, *, largest: bool) -> int | float | bool:
    """The largest or smallest value of an element type; infinities where there are."""
    if isinstance(element, IntegerType):
        if element.width.data == 1:
            return largest
        dtype = dtype_of(element)
        limits = ml_dtypes.iinfo(dtype)
        return int(limits.max if largest else limits.min)
    return math.inf if largest else -math.inf
