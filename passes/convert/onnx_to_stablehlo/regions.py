"""The small regions that sorts, scatters and reductions of pairs need."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects import stablehlo as hlo


def replace_region(element: Attribute) -> Region:
    """(old, new) -> new."""
    block = Block(arg_types=[TensorType(element, [])] * 2)
    block.add_op(hlo.ReturnOp([block.args[1]]))
    return Region(block)


def compare_region(elements: list[Attribute], direction: str) -> Region:
    """Orders tuples by their first component: (a0, b0, a1, b1, ...) -> a0 `direction` b0.

    NaN is more than anything else, and all NaN are equal.
    """
    block = Block(arg_types=[TensorType(element, []) for element in elements for _ in range(2)])
    a, b = block.args[:2]
    compared = hlo.CompareOp(a, b, comparison_direction=direction)
    block.add_op(compared)
    result = compared.results[0]
    if isinstance(elements[0], AnyFloat):
        more, less = (a, b) if direction == "GT" else (b, a)
        nan = hlo.CompareOp(more, more, comparison_direction="NE")
        number = hlo.CompareOp(less, less, comparison_direction="EQ")
        alone = hlo.AndOp(nan.results[0], number.results[0])
        either = hlo.OrOp(result, alone.results[0])
        block.add_ops([nan, number, alone, either])
        result = either.results[0]
    block.add_op(hlo.ReturnOp([result]))
    return Region(block)


def best_of_pairs(
    element: Attribute, index: Attribute, direction: str, *, last: bool = False, nan_first: bool = True
) -> Region:
    """((a, i), (b, j)) -> the pair whose value is first under `direction`; of equals the lower index, or the higher.

    NaN comes first, or last, and all NaN are equal.
    """
    types = [TensorType(element, []), TensorType(index, [])]
    block = Block(arg_types=[*types, *types])
    a, i, b, j = block.args

    def emit(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    first = is_first(emit, (a, i), (b, j), direction, last=last, nan_first=nan_first)
    block.add_op(hlo.ReturnOp([emit(hlo.SelectOp(first, a, b)), emit(hlo.SelectOp(first, i, j))]))
    return Region(block)


def is_first(
    emit: Callable[[Operation], SSAValue],
    one: tuple[SSAValue, SSAValue],
    other: tuple[SSAValue, SSAValue],
    direction: str,
    *,
    last: bool = False,
    nan_first: bool = True,
) -> SSAValue:
    """Whether the pair (value, index) `one` comes before `other`; elementwise."""

    def compare(x: SSAValue, y: SSAValue, how: str) -> SSAValue:
        return emit(hlo.CompareOp(x, y, comparison_direction=how))

    (a, i), (b, j) = one, other
    earlier = compare(i, j, "GT" if last else "LT")
    tie = emit(hlo.AndOp(compare(a, b, "EQ"), earlier))
    found = emit(hlo.OrOp(compare(a, b, direction), tie))
    if isinstance(cast("TensorType[Attribute]", a.type).element_type, AnyFloat):
        nan, number = (a, b) if nan_first else (b, a)
        wins = emit(hlo.OrOp(compare(number, number, "EQ"), earlier))
        found = emit(hlo.OrOp(found, emit(hlo.AndOp(compare(nan, nan, "NE"), wins))))
    return found
