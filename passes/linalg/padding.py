"""What a tensor is without zeros around it."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from ...dialects.tensor import PadOp


def zeros_before(pad: PadOp, dims: tuple[int, ...]) -> tuple[int, ...] | None:
    """How many zeros come first in each of `dims`, where `pad` puts zeros around those and around no others."""
    low, high = (list(a.get_values()) for a in (pad.static_low, pad.static_high))
    if DYNAMIC_INDEX in (*low, *high) or min(*low, *high) < 0:
        return None
    if any(low[d] or high[d] for d in range(len(low)) if d not in dims):
        return None
    value = cast(Operation, pad.region.block.last_op).operands[0].owner
    if not isinstance(value, arith.ConstantOp) or not isinstance(value.value, FloatAttr | IntegerAttr):
        return None
    if value.value.value.data:
        return None
    return tuple(int(low[d]) for d in dims)
