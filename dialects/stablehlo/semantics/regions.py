"""What a region's body is: one known op, a chain of elementwise ops, or anything."""

from __future__ import annotations

from xdsl.ir import Operation, Region

from ....compiler.semantics import holds_stored

_NAMES = """
abs add and atan2 cbrt ceil clamp compare complex constant convert cosine count_leading_zeros divide exponential
exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not or popcnt
power real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left
shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor
"""
ELEMENTWISE = frozenset(f"stablehlo.{name}" for name in _NAMES.split())


def body_op(region: Region) -> Operation | None:
    """The op of a body that applies one op to all its arguments, in order, and returns the result.

    None where the arguments are quantised: an op on the integers that are stored is another.
    """
    block = region.first_block
    assert block is not None
    op, end = block.first_op, block.last_op
    if op is None or op.next_op is not end or end is None or len(op.results) != 1 or holds_stored(op):
        return None
    whole = list(op.operands) == list(block.args) and list(end.operands) == list(op.results)
    return op if whole else None


def single_op(region: Region) -> str | None:
    """The name of `body_op`, if there is one."""
    op = body_op(region)
    return op.name if op else None


def is_elementwise(region: Region) -> bool:
    """Whether the body, written for scalars, means the same on arrays: only elementwise ops, none captured."""
    block = region.first_block
    assert block is not None
    return all(op.name in ELEMENTWISE or op.dialect_name() == "chlo" or op is block.last_op for op in block.ops)
